"""The compared systems with their flags, and the settings searched on validation data."""

import math
from typing import Dict, List, NamedTuple, Tuple

_PRE_NORM = "--encoder-normalize-before --decoder-normalize-before"
_SMOOTHED = "--criterion label_smoothed_cross_entropy --label-smoothing 0.05"
_ENTROPY = "--criterion entropy_regularized_cross_entropy"
_SESSIONS = f"{_SMOOTHED} --batch-size 32"  # of 2.6 pairs on average
_PAIRS = f"{_SMOOTHED} --batch-size 82"

# Training flags of all models.
TRAINING = (
    "--optimizer fused_adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0"
    " --lr-scheduler polynomial_decay --train-batches random --cpu"
    " --no-epoch-checkpoints --log-format simple --log-interval 100"
)
BEAM = 10
HISTORY = 5  # earlier sessions, for systems that read them

RATES = (0.004, 0.008)  # then halved or doubled as long as the last one is the best
MIN_RATE, MAX_RATE = 0.0005, 0.064
_SEARCH_DROPOUT = 0.1  # dropout during the search


class Size(NamedTuple):
    """Sizes chosen so that all models have the same number of parameters outside the embeddings.

    Args:
        width: channels of words and Transformers
        heads: of attention
        linear: feed-forward channels of MTN with `--query-projection linear`; 256 with `vector`
        deeper: the same for the Transformer of 4 + 3 layers; 256 with 3 + 2
        no_session: the same for MTN without the session level
        seq2seq: channels per direction of its LSTM
        hierarchical: channels of the other recurrent models
        updates: of the flat Transformer
        dropouts: candidates
        checkpoint: the checkpoint that is used
        mtn_norm: flags for pre-norm; none for post-norm
        feed_forward: feed-forward channels where no other field has them
    """

    width: int
    heads: int
    linear: int
    deeper: int
    no_session: int
    seq2seq: int
    hierarchical: int
    updates: int
    dropouts: Tuple[float, ...]
    checkpoint: str
    mtn_norm: str
    feed_forward: int = 256


# 0.28 and 0.80 million parameters. In the shorter time, 64 channels learn more than 96. After the
# longer time, the last checkpoint has better BLEU on validation data, though not always lower loss,
# and MTN is better with post-norm; in the shorter time post-norm and pre-norm are equal.
SIZES = {
    64: Size(64, 2, 180, 127, 170, 72, 62, 2600, (0.0, 0.1), "checkpoint_best.pt", _PRE_NORM),
    128: Size(128, 4, 102, 72, 127, 117, 102, 4800, (0.0, 0.1, 0.2), "checkpoint_last.pt", ""),
}


class System(NamedTuple):
    """One row of the tables.

    Args:
        label: as shown
        flags: of fairseq-train
        group: its section in the report
        paper: the row of the paper to show beside it
        cost: time of an update relative to the flat Transformer, at 64 channels, as measured by
            costs.py
        settings_of: the system whose learning rate and dropout it uses; by default its own
        pieces: trained on word pieces
        history: number of the person's earlier sessions in front of each source
    """

    label: str
    flags: str
    group: Tuple[str, ...]
    paper: str = ""
    cost: float = 1.0
    settings_of: str = ""
    pieces: bool = False
    history: int = 0

    @property
    def data(self) -> str:
        """The folder of its text and binarised text."""
        return "pieces" if self.pieces else "history" if self.history else "words"


def systems(size: Size) -> Dict[str, System]:
    """All systems, by name."""
    transformer = f"--encoder-embed-dim {size.width} --encoder-attention-heads {size.heads}"
    transformer += " --share-decoder-input-output-embed"
    flat = f"--arch transformer_session {transformer}"
    flat_3_2 = f"{flat} --encoder-layers 3 --decoder-layers 2"
    flat_3_2 += f" --encoder-ffn-embed-dim {size.feed_forward} {_PAIRS}"
    flat_4_3 = f"{flat} --encoder-layers 4 --decoder-layers 3"
    flat_4_3 += f" --encoder-ffn-embed-dim {size.deeper} {_PAIRS}"
    mtn = f"--arch mtn {transformer} {size.mtn_norm}"
    vector = f"{mtn} --encoder-ffn-embed-dim {size.feed_forward} --query-projection vector"
    vector += " --level-layers 2,1"
    linear = f"{mtn} --encoder-ffn-embed-dim {size.linear} --query-projection linear"
    linear += " --level-layers 2,1"
    no_session = f"{mtn} --encoder-ffn-embed-dim {size.no_session} --level-layers 3"
    lstm = f"--encoder-embed-dim {size.width} --encoder-hidden-size"
    seq2seq = f"--arch seq2seq_attn {lstm} {size.seq2seq} {_PAIRS}"
    hierarchical = f"{lstm} {size.hierarchical}"
    return {
        "seq2seq": System(
            "Seq2Seq with attention",
            seq2seq,
            ("main",),
            paper="seq2seq_attn",
            cost=1.7,
        ),
        "hlstm": System(
            "Hierarchical LSTM",
            f"--arch hlstm {hierarchical} {_SESSIONS}",
            ("main",),
            paper="hlstm",
            cost=0.8,
        ),
        "mnsrf": System(
            "M-NSRF",
            f"--arch mnsrf {hierarchical} --batch-size 32 {_ENTROPY}",
            ("main",),
            paper="mnsrf",
            cost=1.0,
        ),
        "transformer": System(
            "Transformer 3 + 2",
            flat_3_2,
            ("main", "ablation"),
            paper="transformer",
        ),
        "mtn": System(
            "MTN 2Q 1S + 2",
            f"{vector} {_SESSIONS}",
            ("main", "ablation", "variant"),
            paper="mtn",
            cost=0.75,
        ),
        "transformer-deeper": System(
            "Transformer 4 + 3",
            flat_4_3,
            ("ablation",),
            cost=1.15,
            settings_of="transformer",
        ),
        "mtn-no-session-level": System(
            "MTN 3Q + 3, no session level",
            f"{no_session} {_SESSIONS}",
            ("ablation",),
            cost=0.8,
            settings_of="mtn",
        ),
        "mtn-query": System(
            "MTN, decoder context query",
            f"{vector} --decoder-context query {_SESSIONS}",
            ("variant",),
            cost=0.7,
            settings_of="mtn",
        ),
        "mtn-linear": System(
            "MTN, linear projection",
            f"{linear} {_SESSIONS}",
            ("variant",),
            cost=0.75,
            settings_of="mtn",
        ),
        "mtn-pieces": System(
            "MTN, word pieces",
            f"{vector} {_SESSIONS}",
            ("variant", "beyond"),
            cost=0.8,
            settings_of="mtn",
            pieces=True,
        ),
        "seq2seq-copying": System(
            "Seq2Seq with attention, copying",
            f"{seq2seq} --copy-attention",
            ("beyond",),
            cost=1.85,
            settings_of="seq2seq",
        ),
        "transformer-copying": System(
            "Transformer 3 + 2, copying",
            f"{flat_3_2} --copy-attention",
            ("beyond",),
            cost=1.1,
            settings_of="transformer",
        ),
        "mtn-copying": System(
            "MTN 2Q 1S + 2, copying",
            f"{vector} {_SESSIONS} --copy-attention",
            ("beyond",),
            cost=0.9,
            settings_of="mtn",
        ),
    }


def history_systems(size: Size) -> Dict[str, System]:
    """MTN that reads the person's earlier sessions: on a third level, or as one long session.

    Both also with as many updates as without history, which takes them nearly three times as long.
    """
    copying = systems(size)["mtn-copying"]._replace(settings_of="mtn", history=HISTORY)
    sizes = f"--level-sizes 12,10,{HISTORY + 1}"
    in_same_time = {
        "mtn-3level-copying": copying._replace(
            label="MTN 2Q 1S 1H + 2, three levels, copying",
            flags=f"{copying.flags} {sizes} --level-layers 2,1,1",
            cost=2.6,
        ),
        "mtn-history-copying": copying._replace(
            label="MTN 2Q 1S + 2, history as one long session, copying",
            flags=f"{copying.flags} {sizes}",
            cost=2.45,
        ),
    }
    longer = {
        f"{name}-longer": system._replace(label=f"{system.label}, equal updates", cost=copying.cost)
        for name, system in in_same_time.items()
    }
    return {**in_same_time, **longer}


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
        ranked: by a ranker fitted on validation data
        every_seed: made with the model of each seed; otherwise only with the first, because a list
            takes as long as a training
    """

    label: str
    flags: str = ""
    ranked: bool = True
    every_seed: bool = False


SUGGESTERS: Dict[str, ListMaker] = {
    "suggest": ListMaker("All sources, ranked", every_seed=True),
    "suggest-no-counts": ListMaker("… without counts", "--without counts"),
    "suggest-no-beam": ListMaker("… without the beam", "--without beam"),
    "suggest-no-edits": ListMaker("… without edits", "--without edits"),
    "suggest-no-session": ListMaker(
        "… without earlier queries of the session", "--without session"
    ),
    "suggest-unranked": ListMaker("… without the ranker", ranked=False),
}


class Settings(NamedTuple):
    """The settings chosen on validation data."""

    rate: float
    dropout: float

    @property
    def flags(self) -> str:
        return f"--lr {self.rate} --dropout {self.dropout}"

    @property
    def name(self) -> str:
        return f"lr{self.rate}-dropout{self.dropout}"


def next_rates(losses: Dict[Settings, float]) -> List[Settings]:
    """The next settings to try; empty when the best is known."""
    if not losses:
        return [Settings(rate, _SEARCH_DROPOUT) for rate in RATES]
    best = min(losses, key=lambda settings: losses[settings])
    if math.isinf(losses[best]):  # only a lower rate may converge
        best = min(losses)
    tried = [settings.rate for settings in losses]
    if best.rate == max(tried) < MAX_RATE:
        return [best._replace(rate=2 * best.rate)]
    if best.rate == min(tried) > MIN_RATE:
        return [best._replace(rate=best.rate / 2)]
    return []
