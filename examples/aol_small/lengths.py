"""The length penalty of a model, chosen on validation data.

fairseq's search keeps as many whole hypotheses as the beam is wide, whatever `--lenpen` is: it only
puts them in order, by log-probability / length ** lenpen. So one search tells for every penalty.
"""

import re
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence

from mtn_fairseq.data.word_pieces import decode_pieces
from mtn_fairseq.scoring.suggestion_scores import score_lists

_LINE = re.compile(r"([DP])-(\d+)\t(.*)")


class Hypothesis(NamedTuple):
    text: str
    log_probability: float
    length: int  # in tokens, its end counted

    def score(self, penalty: float) -> float:
        return self.log_probability / self.length**penalty


class Length(NamedTuple):
    penalty: float
    bleu: float  # raw text


def best_length(log: Path, next_queries: Sequence[str], penalties: Sequence[float]) -> Length:
    """The penalty with the highest BLEU; of equals, the lowest."""
    beams = list(_beams(log))
    assert len(beams) == len(next_queries), f"{log}: {len(beams)} pairs of {len(next_queries)}"
    found = [Length(penalty, _bleu(beams, next_queries, penalty)) for penalty in penalties]
    return max(found, key=lambda each: (each.bleu, -each.penalty))


def _bleu(beams: List[List[Hypothesis]], next_queries: Sequence[str], penalty: float) -> float:
    first = [max(beam, key=lambda each: each.score(penalty)).text for beam in beams]
    return score_lists([[text] for text in first], next_queries, [1])["bleu"]


def _beams(log: Path) -> Iterator[List[Hypothesis]]:
    """Of what fairseq-generate printed, in the order of the text."""
    beams: Dict[int, List[Hypothesis]] = {}
    text = ""
    with open(log, encoding="utf-8") as lines:
        for kind, number, rest in (match.groups() for match in map(_LINE.match, lines) if match):
            if kind == "D":
                text = decode_pieces(rest.partition("\t")[2])
            elif kind == "P":
                scores = [float(score) for score in rest.split()]
                found = Hypothesis(text, sum(scores), len(scores))
                beams.setdefault(int(number), []).append(found)
    yield from (beams[number] for number in sorted(beams))
