"""Bundles of wider models for `load.py`: what `make demo` wrote, with another model.

The demo's model has 600 words and 128 channels, so a request costs little more than the code around
the model. These have the dictionaries and layers of `synthetic_models`; fairseq-preprocess fills
the dictionary up with words that nobody types. They are trained for a few updates only: until
their hypotheses are as long as queries.
"""

import subprocess
from pathlib import Path
from typing import List, NamedTuple

from servers import ENVIRONMENT, command_of
from synthetic_models import WIDTHS, mtn_flags

WORDS = (5_000, 20_000)
UPDATES = 300


class WiderModel(NamedTuple):
    words: int
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.words:,} words"

    @property
    def data(self) -> Path:
        return self.folder / "data-bin"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoints/checkpoint_last.pt"

    def bundle(self, int8: bool) -> Path:
        return self.folder / ("bundle-int8" if int8 else "bundle")


def wider_models(demo: Path) -> List[WiderModel]:
    """Made once, in some minutes."""
    found = [WiderModel(words, demo / f"{words}-words") for words in WORDS]
    for model in found:
        if not model.bundle(int8=True).is_dir():
            _make(model, demo)
    return found


def _make(model: WiderModel, demo: Path) -> None:
    task = f"--user-dir {_output('mtn-user-dir')} --task session_to_query"
    texts = " ".join(f"--{name}pref {demo}/text/{name}" for name in ("train", "valid", "test"))
    _run(
        f"fairseq-preprocess {task} --source-lang session --target-lang next --joined-dictionary"
        f" --thresholdsrc 8 --padding-factor {model.words} {texts} --destdir {model.data}"
    )
    _run(
        f"fairseq-train {model.data} {task} {mtn_flags(WIDTHS[model.words], copying=True)}"
        " --share-decoder-input-output-embed --encoder-normalize-before"
        " --decoder-normalize-before --cpu --num-workers 0 --max-tokens 500 --optimizer fused_adam"
        " --clip-norm 1.0 --criterion cross_entropy --lr 0.002 --lr-scheduler polynomial_decay"
        f" --warmup-updates 50 --max-update {UPDATES} --total-num-update {UPDATES} --seed 1"
        f" --disable-validation --no-epoch-checkpoints --save-dir {model.checkpoint.parent}"
    )
    for int8 in (False, True):
        _run(
            f"mtn-export --checkpoint {model.checkpoint} --data {model.data}"
            f" --counts {demo}/next-queries --ranker {demo}/ranker"
            f"{' --int8' if int8 else ''} --output {model.bundle(int8)}"
        )


def _run(line: str) -> None:
    print(f"$ {line}", flush=True)
    name, *words = line.split()
    subprocess.run(
        [command_of(name), *words], check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL
    )


def _output(command: str) -> str:
    return subprocess.check_output([command_of(command)], text=True).strip()
