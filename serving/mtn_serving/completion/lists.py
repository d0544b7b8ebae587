"""Lists of completions: what `Suggester.complete` returns."""

from typing import Counter, List, Optional, Sequence

from mtn_preprocess.errors import InputError

from ..engine import Sources
from ..pipeline import IN_TURN, Pipeline, Suggestion, batches
from ..request import read_request
from ..session_checks import Histories, Session, check_histories, check_sessions
from .candidates import CORRECTED, Completion
from .completer import Asked, Completer
from .typed_prefix import read_prefix


def completion_lists(
    pipeline: Pipeline,
    sessions: Sequence[Session],
    prefixes: Sequence[str],
    n: int,
    histories: Histories = None,
    held_back: Optional[Counter[str]] = None,
) -> List[List[Suggestion]]:
    """The best `n` for each session and its prefix. Arguments as for `Suggester`."""
    if len(prefixes) != len(sessions):
        raise InputError(
            f"{len(prefixes)} prefixes for {len(sessions)} sessions", "give one for each session"
        )
    found: List[List[Suggestion]] = []
    for batch in batches(requests_of(pipeline, sessions, prefixes, histories)):
        found += _lists(pipeline, batch, n, held_back)
    return [
        [pipeline.shown(each, session) for each in suggestions]
        for suggestions, session in zip(found, sessions)
    ]


def requests_of(
    pipeline: Pipeline,
    sessions: Sequence[Session],
    prefixes: Sequence[str],
    histories: Histories = None,
) -> List[Asked]:
    check_sessions(sessions)
    check_histories(histories, sessions)
    known = histories or [None] * len(sessions)
    return [
        Asked(
            read_request(session, history, pipeline.reader, may_be_empty=True),
            read_prefix(prefix, pipeline.reader),
        )
        for session, prefix, history in zip(sessions, prefixes, known)
    ]


def completer_of(pipeline: Pipeline) -> Completer:
    return Completer(
        pipeline.table, pipeline.trained, pipeline.display, pipeline.sources, pipeline.model_reads
    )


def _lists(
    pipeline: Pipeline, asked: Sequence[Asked], n: int, held_back: Optional[Counter[str]]
) -> List[List[Suggestion]]:
    """Completions; for an empty prefix, suggestions; for an empty session too, nothing; nothing for
    a prefix that is too long."""
    typed = [each for each in asked if each.prefix.text]
    of_typed = iter(completed(pipeline, typed, held_back))
    found: List[List[Suggestion]] = []
    for each in asked:
        if each.prefix.text:
            found.append(next(of_typed)[:n])
        elif each.is_for_suggestions:
            found += pipeline.lists([each.request.line], n, held_back=held_back)
        else:
            found.append([])
    return found


def completed(
    pipeline: Pipeline,
    asked: Sequence[Asked],
    held_back: Optional[Counter[str]] = None,
    sources: Optional[Sources] = None,
) -> List[List[Suggestion]]:
    """All completions for each request of one batch, best first, as in prepared text.

    Args:
        asked: requests with a prefix
        sources: see `Completer.completions`
    """
    completer, ranker = completer_of(pipeline), pipeline.completion_ranker
    if ranker is None:
        return [_in_turn(each) for each in completer.completions(asked, held_back, sources)]
    described = completer.described(asked, held_back, sources)
    ranked = ranker.order_many([each.features for each in described])
    return [
        [_suggestion(each.completions[one.row], one.probability, one.rule) for one in rows]
        for each, rows in zip(described, ranked)
    ]


def _in_turn(completions: Sequence[Completion]) -> List[Suggestion]:
    return [_suggestion(each, float(-place), IN_TURN) for place, each in enumerate(completions)]


def _suggestion(completion: Completion, score: float, rule: str) -> Suggestion:
    """A suggestion; if it does not start with the prefix, its rule is `CORRECTED`."""
    rule = CORRECTED if completion.source == CORRECTED else rule
    return Suggestion(completion.text, score, completion.source, rule, completion.text)
