"""The models of `same_answers.py`: each kind that can be exported, tiny."""

from typing import List, NamedTuple

SMALL = (
    "--encoder-embed-dim 64 --encoder-ffn-embed-dim 128 --encoder-attention-heads 4"
    " --decoder-layers 2"
)
MTN = f"--arch mtn {SMALL}"
FLAT = f"--arch transformer_session --encoder-layers 2 {SMALL}"
PRE_NORM = "--encoder-normalize-before --decoder-normalize-before"
TIED = "--share-decoder-input-output-embed"

# Every number of levels with and without copying, both projections, both contexts of the decoder.
KINDS = {
    "mtn, 1 level": f"{MTN} --level-layers 2",
    "mtn, 1 level, copying": f"{MTN} --level-layers 2 --copy-attention {PRE_NORM}",
    "mtn, 2 levels, vector": f"{MTN} --level-layers 2,1 {TIED} {PRE_NORM}",
    "mtn, 2 levels, linear, query context": (
        f"{MTN} --level-layers 2,1 --query-projection linear --decoder-context query"
    ),
    "mtn, 2 levels, linear, copying": (
        f"{MTN} --level-layers 2,1 --query-projection linear --copy-attention {TIED}"
    ),
    "mtn, 2 levels, vector, copying, query context": (
        f"{MTN} --level-layers 2,1 --copy-attention --decoder-context query {PRE_NORM}"
    ),
    "mtn, 3 levels, vector": f"{MTN} --level-layers 2,1,1 {PRE_NORM}",
    "mtn, 3 levels, linear, copying": (
        f"{MTN} --level-layers 2,1,1 --query-projection linear --copy-attention {TIED}"
        " --add-back top"
    ),
    "transformer_session": f"{FLAT} {TIED}",
    "transformer_session, copying": f"{FLAT} --copy-attention --post-norm",
    "transformer_session, last query, copying": (
        f"{FLAT} --copy-attention --source-context last {TIED}"
    ),
}


class Model(NamedTuple):
    name: str
    flags: str
    pieces: bool  # whether its text is in word pieces

    @property
    def history(self) -> bool:
        """Whether its text has earlier sessions."""
        return "3 levels" in self.name

    @property
    def folder(self) -> str:
        return self.name.replace(",", "").replace(" ", "-")

    @property
    def data(self) -> str:
        """Name of the folder of its text."""
        return f"data-{'pieces' if self.pieces else 'words'}{'-history' if self.history else ''}"

    @property
    def level_sizes(self) -> str:
        return "24,10,5" if self.pieces else "12,10,5"


MODELS: List[Model] = [
    Model(f"{name}, {'pieces' if pieces else 'words'}", flags, pieces)
    for pieces in (False, True)
    for name, flags in KINDS.items()
]
