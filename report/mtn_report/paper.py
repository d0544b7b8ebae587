"""The paper's results on the AOL log.

Garg, Dhillon, Yu: *Multiresolution Transformer Networks*.
"""

from typing import Dict, NamedTuple, Optional


class Split(NamedTuple):
    sessions: int
    pairs: int


class PaperRow(NamedTuple):
    """One model of the paper; None where the paper gives no value."""

    label: str
    scores: Dict[str, float]
    megabytes: Optional[int] = None
    parameters: Optional[int] = None
    encoder_layers: Optional[str] = None
    decoder_layers: Optional[str] = None


# Table 1, "Details of Datasets", the AOL columns. The shares are 90 / 5 / 5, but Section 5.1 says
# 95 / 2.5 / 2.5.
SPLITS = {
    "train": Split(1628433, 4285507),
    "valid": Split(90932, 238890),
    "test": Split(90507, 238289),
}

# Section 5.1, second-to-last paragraph: words seen at least 8 times in training.
VOCABULARY = 76604


def _scores(precisions: str, bleu: float) -> Dict[str, float]:
    found = {f"{n}-gram": float(value) for n, value in enumerate(precisions.split("/"), 1)}
    return {**found, "bleu": bleu}


# Precisions and sizes: Table 2, "n-gram precision scores", the AOL columns. BLEU: the bar chart
# "BLEU scores on AOL test data"; its values are in the LaTeX source, below the commented-out
# figure. Parameters: a commented-out version of Table 2.
MAIN = {
    "seq2seq_attn": PaperRow("Seq2Seq Attn.", _scores("28.9/13.9/9.7/8.3", 11.51), 421, 105358732),
    "hlstm": PaperRow("H-LSTM", _scores("26.5/10.6/6.3/4.5", 7.26), 475, 118662540),
    "mnsrf": PaperRow("M-NSRF", _scores("27.0/11.0/6.7/4.9", 7.68), 475, 118662540),
    "transformer": PaperRow(
        "Transformer", _scores("34.2/19.6/13.1/8.9", 13.89), 419, 104814396, "5Q", "5"
    ),
    "mtn": PaperRow("MTN", _scores("35.7/21.5/14.9/10.2", 14.62), 407, 101684540, "3Q, 2S", "3"),
}

# The table beside the bar chart, "Effect of different types of layers": BLEU only.
ABLATION = {
    "transformer_4": PaperRow("Transformer", {"bleu": 13.90}, None, None, "4Q", "4"),
    "transformer": PaperRow("Transformer", {"bleu": 13.89}, None, None, "5Q", "5"),
    "mtn": PaperRow("MTN", {"bleu": 14.62}, None, None, "3Q, 2S", "3"),
}

NAMES = tuple(dict.fromkeys([*MAIN, *ABLATION]))
