"""What the experiment compares, with which flags, and what is searched on validation data."""

from typing import Dict, List, NamedTuple, Tuple

# As many parameters outside the words' tables for all: 0.28 million. On so few pairs a model of 64
# channels learns more in a given time than one of 96.
_TRANSFORMER = (
    "--encoder-embed-dim 64 --encoder-attention-heads 2 --share-decoder-input-output-embed"
)
_PRE_NORM = "--encoder-normalize-before --decoder-normalize-before"
_MTN = f"--arch mtn {_TRANSFORMER} {_PRE_NORM}"
_MTN_VECTOR = f"{_MTN} --encoder-ffn-embed-dim 256 --query-projection vector"
_MTN_LINEAR = f"{_MTN} --encoder-ffn-embed-dim 180 --query-projection linear"
_FLAT = f"--arch transformer_session {_TRANSFORMER}"
_LSTM = "--encoder-embed-dim 64 --encoder-hidden-size"

_SMOOTHED = "--criterion label_smoothed_cross_entropy --label-smoothing 0.05"
_ENTROPY = "--criterion entropy_regularized_cross_entropy"
_SESSIONS = f"{_SMOOTHED} --batch-size 32"  # of 2.6 pairs on average
_PAIRS = f"{_SMOOTHED} --batch-size 82"
_FLAT_3_2 = f"{_FLAT} --encoder-layers 3 --decoder-layers 2 --encoder-ffn-embed-dim 256 {_PAIRS}"
_FLAT_4_3 = f"{_FLAT} --encoder-layers 4 --decoder-layers 3 --encoder-ffn-embed-dim 127 {_PAIRS}"

BEAM = 10

RATES = (0.004, 0.008)  # and on, halved or doubled, as long as the last one is the best
SMALLEST_RATE, LARGEST_RATE = 0.0005, 0.064
DROPOUTS = (0.0, 0.1)


class System(NamedTuple):
    """One row of the tables.

    Args:
        label: as shown
        flags: of fairseq-train
        group: where the report shows it
        paper: which of the paper's rows stands beside it
        cost: of an update beside one of the flat Transformer, in time; costs.py measures it
        settings_of: whose learning rate and dropout it takes; its own are searched by default
        pieces: trained on word pieces
    """

    label: str
    flags: str
    group: Tuple[str, ...]
    paper: str = ""
    cost: float = 1.0
    settings_of: str = ""
    pieces: bool = False


SYSTEMS: Dict[str, System] = {
    "seq2seq": System(
        "Seq2Seq with attention",
        f"--arch seq2seq_attn {_LSTM} 72 {_PAIRS}",
        ("main",),
        paper="seq2seq_attn",
        cost=1.7,
    ),
    "hlstm": System(
        "Hierarchical LSTM",
        f"--arch hlstm {_LSTM} 62 {_SESSIONS}",
        ("main",),
        paper="hlstm",
        cost=0.8,
    ),
    "mnsrf": System(
        "M-NSRF",
        f"--arch mnsrf {_LSTM} 62 --batch-size 32 {_ENTROPY}",
        ("main",),
        paper="mnsrf",
        cost=1.0,
    ),
    "transformer": System(
        "Transformer 3 + 2",
        _FLAT_3_2,
        ("main", "ablation"),
        paper="transformer",
    ),
    "mtn": System(
        "MTN 2Q 1S + 2",
        f"{_MTN_VECTOR} --level-layers 2,1 {_SESSIONS}",
        ("main", "ablation", "variant"),
        paper="mtn",
        cost=0.75,
    ),
    "transformer-deeper": System(
        "Transformer 4 + 3",
        _FLAT_4_3,
        ("ablation",),
        cost=1.15,
        settings_of="transformer",
    ),
    "mtn-no-session-level": System(
        "MTN 3Q + 3, no session level",
        f"{_MTN} --encoder-ffn-embed-dim 170 --level-layers 3 {_SESSIONS}",
        ("ablation",),
        cost=0.8,
        settings_of="mtn",
    ),
    "mtn-query": System(
        "MTN, decoder context query",
        f"{_MTN_VECTOR} --level-layers 2,1 --decoder-context query {_SESSIONS}",
        ("variant",),
        cost=0.7,
        settings_of="mtn",
    ),
    "mtn-linear": System(
        "MTN, linear projection",
        f"{_MTN_LINEAR} --level-layers 2,1 {_SESSIONS}",
        ("variant",),
        cost=0.75,
        settings_of="mtn",
    ),
    "mtn-pieces": System(
        "MTN, word pieces",
        f"{_MTN_VECTOR} --level-layers 2,1 {_SESSIONS}",
        ("variant", "beyond"),
        cost=0.8,
        settings_of="mtn",
        pieces=True,
    ),
    "seq2seq-copying": System(
        "Seq2Seq with attention, copying",
        f"--arch seq2seq_attn {_LSTM} 72 {_PAIRS} --copy-attention",
        ("beyond",),
        cost=1.85,
        settings_of="seq2seq",
    ),
    "transformer-copying": System(
        "Transformer 3 + 2, copying",
        f"{_FLAT_3_2} --copy-attention",
        ("beyond",),
        cost=1.1,
        settings_of="transformer",
    ),
    "mtn-copying": System(
        "MTN 2Q 1S + 2, copying",
        f"{_MTN_VECTOR} --level-layers 2,1 {_SESSIONS} --copy-attention",
        ("beyond",),
        cost=0.9,
        settings_of="mtn",
    ),
}


YARDSTICKS = {
    "echo": "Echo the last query",
    "last": "Count what followed the last query, else echo",
    "session": "Count what followed the session, else echo",
}


class ListMaker(NamedTuple):
    """A row of `mtn-suggest`.

    Args:
        label: as shown
        flags: of mtn-fit-ranker and mtn-suggest
        ranked: by a ranker that is fitted on validation data
        every_seed: made from the model of each seed; else from that of the first alone, since a
            list takes as long as a training
    """

    label: str
    flags: str = "--repeats"
    ranked: bool = True
    every_seed: bool = False


SUGGESTERS: Dict[str, ListMaker] = {
    "suggest": ListMaker("All sources, ranked", every_seed=True),
    "suggest-no-repeats": ListMaker("… without repeats of the session", ""),
    "suggest-no-counts": ListMaker("… without counts", "--repeats --without counts"),
    "suggest-no-beam": ListMaker("… without the beam", "--repeats --without beam"),
    "suggest-no-edits": ListMaker("… without edits", "--repeats --without edits"),
    "suggest-unranked": ListMaker("… without the ranker", ranked=False),
}


class Settings(NamedTuple):
    """What is chosen on validation data."""

    rate: float
    dropout: float

    @property
    def flags(self) -> str:
        return f"--lr {self.rate} --dropout {self.dropout}"

    @property
    def name(self) -> str:
        return f"lr{self.rate}-dropout{self.dropout}"


def next_rates(losses: Dict[Settings, float]) -> List[Settings]:
    """What is to be tried after these, at the highest dropout; nothing when the best is known."""
    if not losses:
        return [Settings(rate, DROPOUTS[-1]) for rate in RATES]
    best = min(losses, key=lambda settings: losses[settings])
    tried = [settings.rate for settings in losses]
    if best.rate == max(tried) < LARGEST_RATE:
        return [best._replace(rate=2 * best.rate)]
    if best.rate == min(tried) > SMALLEST_RATE:
        return [best._replace(rate=best.rate / 2)]
    return []


def dropouts(best: Settings) -> List[Settings]:
    return [best._replace(dropout=dropout) for dropout in DROPOUTS]
