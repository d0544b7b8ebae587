"""Session-aware query suggestion for fairseq. Importing this registers everything."""

from . import compat

compat.allow_plain_types_in_checkpoints()
compat.import_fairseq_quietly()
compat.resume_more_than_one_process()
compat.write_checkpoints_in_one_step()
compat.resume_from_whole_checkpoints()
compat.load_whole_checkpoints()
compat.read_any_bytes_interactively()
compat.resume_with_the_same_dictionary()
compat.check_text_before_binarising()

from .criterions import entropy_regularized_cross_entropy  # noqa: E402, F401
from .data import session_sentencepiece  # noqa: E402, F401
from .models import hlstm, mtn, seq2seq_attn, transformer_session  # noqa: E402, F401
from .optim import fused_adam  # noqa: E402, F401
from .scoring import ngram_precision  # noqa: E402, F401
from .tasks import session_to_query  # noqa: E402, F401
