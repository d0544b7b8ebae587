"""Scores of a bundle's lists on a text, and the loss of accuracy from int8 or a shortlist."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np

from mtn_evaluation.people import people_of

from ..candidates import BEAM, SOURCES
from ..display_rules import DisplayRules
from ..engine import Engine
from ..optional_imports import needed_for
from ..suggester import Suggester
from .personal_pairs import PersonalPairs

AT = (1, 3, 10)
FIGURES = ("exact", "hit@10", "mrr@10", "bleu")
COMPARED = ("exact", "mrr@10", "bleu")
MAX_LOSS = 2.0  # percent of a figure: warn if the loss is larger
_BEAM = 10

Say = Callable[[str], None]
Figures = Dict[str, float]


class ScoredText(NamedTuple):
    """The lists of one suggester on a text."""

    rows: np.ndarray  # contribution of each pair to the figures, see `pair_rows`
    people: Optional[List[int]]  # the person of each pair, if known

    def figures(self) -> Figures:
        from mtn_evaluation.suggestion_scores import figures

        found = figures(self.rows.sum(axis=0), len(self.rows), AT)
        return {name: found[name] for name in FIGURES}

    def facts(self) -> Dict[str, Any]:
        """Facts for the manifest."""
        rounded = {name: round(value, 4) for name, value in self.figures().items()}
        return {"pairs": len(self.rows), "lists": rounded}


def score_text(suggester: Suggester, prefix: str, say: Say) -> ScoredText:
    """Args:
    prefix: of prepared text: `PREFIX.session`, `PREFIX.next`, and `PREFIX.history` if there is one
    """
    with needed_for("scoring", "pip install 'sacrebleu>=2.0'"):
        from mtn_evaluation.suggestion_scores import pair_rows
    suggester.check_text(prefix)
    personal = PersonalPairs(prefix, True, suggester.model_reads, say)
    lists: List[List[str]] = []
    for batch in personal.batches():
        found = suggester.suggest_many([each.line for each in batch], max(AT))
        # An empty list is an answer, too.
        lists += [[each.query for each in suggestions] or [""] for suggestions in found]
    next_queries = [pair.next_query for pair in personal.pairs]
    return ScoredText(pair_rows(lists, next_queries, AT), people_of(prefix, len(next_queries)))


def model_alone(trained: Engine) -> Suggester:
    """A suggester that lists the model's hypotheses as they are."""
    without = [source for source in SOURCES if source != BEAM]
    rules = DisplayRules(min_users=0, explicit=(), personal_data=True)
    return Suggester(trained=trained, without=without, beam=_BEAM, rules=rules)


def losses(exact: Figures, faster: Figures) -> Dict[str, float]:
    """The relative loss of each of COMPARED, in percent; negative for a gain."""
    return {
        name: 100 * (exact[name] - faster[name]) / exact[name] if exact[name] else 0.0
        for name in COMPARED
    }


def losses_of(
    what: str, suggester: Suggester, exact: Engine, prefix: str, say: Say
) -> Dict[str, Figures]:
    """Losses of the model alone and of the lists, compared with all words in float32.

    Args:
        what: the reason for the loss, for messages
        suggester: with the faster model
        exact: the same model in float32 with all words
    """
    pipeline = suggester.pipeline
    assert pipeline.trained is not None
    with_exact = Suggester(pipeline.table, exact, pipeline.ranker, rules=pipeline.display.rules)
    compared = {
        "model alone": (model_alone(exact), model_alone(pipeline.trained)),
        "lists": (with_exact, suggester),
    }
    found = {}
    for name, systems in compared.items():
        say(f"{what} against the whole model in float32, {name}: {prefix}")
        found[name] = losses(*(score_text(each, prefix, say).figures() for each in systems))
    return found
