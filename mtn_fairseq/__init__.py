"""The plugin: session text -> trained model. Importing it registers everything with fairseq.

tasks         session_to_query
data          dictionary, data sets and batches of sessions
models        mtn and the baselines, with their options
modules       building blocks of the models
copying       copying words of the session into the next query
criterions    M-NSRF's loss
optim         fused Adam
generation    beam search
scoring       --scoring ngram_precision
checkpoints   written in one step, checked before they are loaded
description   what the task needs to know about a model
flags         flags with one number per level
__main__      what is registered: python -m mtn_fairseq
compat        work-arounds for versions of torch and fairseq
"""

import sys
from importlib.util import find_spec
from pathlib import Path

# In a checkout that is not installed, --user-dir finds only this package. The packages that it
# imports are in sibling folders.
for _room in ("preprocess", "evaluation"):
    if find_spec(f"mtn_{_room}") is None:
        sys.path.append(str(Path(__file__).absolute().parents[1] / _room))

from . import compat  # noqa: E402

compat.allow_plain_types_in_checkpoints()
compat.import_fairseq_quietly()
compat.resume_more_than_one_process()
compat.write_checkpoints_in_one_step()
compat.resume_from_whole_checkpoints()
compat.load_whole_checkpoints()
compat.stop_reading_ahead_at_the_end()
compat.use_standard_streams_as_our_commands_do()
compat.read_any_bytes_interactively()
compat.resume_with_the_same_dictionary()
compat.check_text_before_binarising()

from .criterions import entropy_regularized_cross_entropy  # noqa: E402, F401
from .data import session_sentencepiece  # noqa: E402, F401
from .models import hlstm, mtn, seq2seq_attn, transformer_session  # noqa: E402, F401
from .optim import fused_adam  # noqa: E402, F401
from .scoring import ngram_precision  # noqa: E402, F401
from .tasks import session_to_query  # noqa: E402, F401
