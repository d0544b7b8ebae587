"""Candidates that may be shown, with enough from the counts even if many are held back."""

from collections import Counter
from functools import partial
from itertools import chain
from typing import Counter as CounterOf
from typing import List, NamedTuple, Optional, Sequence

from .candidates import COUNTS, MAX_COUNTED, Candidate, gather
from .display_rules import DisplayFilter, OwnText, Verdict
from .history import Past
from .next_queries import NextQueries
from .once import Once
from .request import Request

MAX_LOOKED_AT = 200  # candidates from the counts


class Gathered(NamedTuple):
    candidates: List[Candidate]
    shown: List[Candidate]  # the candidates that may be shown
    held_back: CounterOf[str]  # how many may not, for each of `display_rules.REASONS`


def gather_shown(
    request: Request,
    past: Past,
    beam: Sequence[str],
    table: Optional[NextQueries],
    sources: Sequence[str],
    display: DisplayFilter,
    verdicts: Optional[Once[str, Verdict]] = None,
) -> Gathered:
    """Arguments as for `gather`; `display` decides what may be shown, with the `verdicts` of the
    batch."""
    if verdicts is None:
        verdicts = display.verdicts()
    own = OwnText(request.session, chain.from_iterable(request.history))
    collect = partial(gather, request.session, table, beam, sources, past)
    found = _filtered(collect(), own, display, verdicts)
    if table is None or _counted(found.candidates) == _counted(found.shown):
        return found
    enough = _enough_counted(request, own, table, display, verdicts)
    return _filtered(collect(max_counted=enough), own, display, verdicts)


def _filtered(
    candidates: List[Candidate], own: OwnText, display: DisplayFilter, verdicts: Once[str, Verdict]
) -> Gathered:
    held_back: CounterOf[str] = Counter()
    return Gathered(candidates, display.shown(candidates, own, held_back, verdicts), held_back)


def _counted(candidates: Sequence[Candidate]) -> int:
    return sum(each.counted is not None for each in candidates)


def _enough_counted(
    request: Request,
    own: OwnText,
    table: NextQueries,
    display: DisplayFilter,
    verdicts: Once[str, Verdict],
) -> int:
    """How many candidates to take from the counts so that MAX_COUNTED may be shown."""
    shown = 0
    texts = [text for text, _ in table.suggest(request.session, MAX_LOOKED_AT)]
    for number, text in enumerate(texts, 1):
        shown += len(display.shown([Candidate(text, COUNTS)], own, verdicts=verdicts))
        if shown == MAX_COUNTED:
            return number
    return len(texts)
