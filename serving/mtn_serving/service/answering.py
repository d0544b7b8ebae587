"""Answer a request: cache, batch, deadline, fallback."""

import time
from collections import defaultdict
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import is_separator, without_unseen
from mtn_preprocess.text.typed_queries import in_lower_case

from ..explanation import held_back
from ..suggester import Suggester, Suggestion
from .batching import Lane, TooLate
from .bundles import ServedBundle
from .errors import log_error
from .held_files import FilesChanged
from .metrics import Metrics
from .schemas import Reason
from .settings import Settings

FOR_MODEL = 0.8  # share of the deadline for the model; the rest is for the list from counts
MIN_FALLBACK_SECONDS = 0.05
EXPLAIN_SECONDS = 10.0
STUCK_SECONDS = 60.0  # far longer than any batch

Queries = Tuple[str, ...]


class Ask(NamedTuple):
    """One request."""

    bundle: ServedBundle
    session: Queries
    history: Optional[Tuple[Queries, ...]]
    n: int
    seconds: float  # the deadline
    prefix: Optional[str] = None  # to complete; None for suggestions


class Found(NamedTuple):
    suggestions: Sequence[Suggestion]
    degraded: Optional[Reason] = None  # why the list is from counts alone


class Failed(NamedTuple):
    error: Exception


class Explain(NamedTuple):
    bundle: ServedBundle
    session: Queries
    history: Optional[Tuple[Queries, ...]]
    suggestion: str


Outcome = Union[Sequence[Suggestion], Failed]


class Answering:
    """Connects the routes with the bundles."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.metrics, self.deadline = metrics, settings.deadline

        def lane(name: str, run: Callable, size: int, queue: int = settings.max_queue) -> Lane:
            return Lane(run, size, queue, metrics.watch(name))

        self.suggest_lane = lane("suggest", _from_bundles, settings.max_batch)
        self.complete_lane = lane("complete", _from_bundles, settings.max_batch)
        self.counts_lane = lane("counts", _from_counts_of_bundles, settings.max_batch)
        self.explain_lane = lane("explain", _explain_batch, 1, 16)
        self.lanes = (
            self.suggest_lane,
            self.complete_lane,
            self.counts_lane,
            self.explain_lane,
        )

    async def find(self, ask: Ask) -> Found:
        """The list, within the deadline.

        Raises:
            Full, TooLate: even counts cannot answer in time
            FilesChanged: somebody wrote into the bundle
        """
        if not _has_query(ask):
            return Found(())
        key = None if ask.history else (ask.session, ask.prefix, ask.n)
        cached = None if key is None else ask.bundle.cache.get(key)
        self.metrics.cache.labels("miss" if cached is None else "hit").inc()
        if cached is not None:
            return cached
        lane = self.suggest_lane if ask.prefix is None else self.complete_lane
        started = time.monotonic()
        try:
            outcome = await lane.ask(ask, ask.seconds * FOR_MODEL)
        except TooLate:
            return await self._from_counts(ask, "deadline", started)
        if isinstance(outcome, Failed):
            _raise_if_changed(outcome)
            log_error(outcome.error, self.metrics)
            return await self._from_counts(ask, "error", started)
        found = Found(outcome)
        if key is not None:
            ask.bundle.cache.put(key, found)
        return found

    async def _from_counts(self, ask: Ask, reason: Reason, started: float) -> Found:
        """The list from counts, within the remaining time."""
        self.metrics.fallbacks.labels(reason).inc()
        if ask.bundle.counts is None:
            return Found((), reason)
        left = max(started + ask.seconds - time.monotonic(), MIN_FALLBACK_SECONDS)
        outcome = await self.counts_lane.ask(ask, left)
        if isinstance(outcome, Failed):
            _raise_if_changed(outcome)
            log_error(outcome.error, self.metrics)
            return Found((), reason)
        return Found(outcome, reason)

    async def explain(self, explain: Explain) -> Dict[str, Any]:
        """Raises:
        InputError: there is nothing to explain
        Full, TooLate: there is no time to answer
        FilesChanged: somebody wrote into the bundle
        """
        outcome = await self.explain_lane.ask(explain, EXPLAIN_SECONDS)
        if not isinstance(outcome, Failed):
            return outcome
        _raise_if_changed(outcome)
        if isinstance(outcome.error, InputError):
            raise outcome.error
        log_error(outcome.error, self.metrics)
        raise TooLate

    def has_room_by_path(self) -> Dict[str, Callable[[], bool]]:
        """For each route with lists: whether model or counts can answer one more request."""

        def of(lane: Lane) -> Callable[[], bool]:
            def has_room() -> bool:
                return lane.has_room() and (
                    lane.has_time(FOR_MODEL * self.deadline)
                    or self.counts_lane.has_time(self.deadline)
                )

            return has_room

        next_queries, completions = of(self.suggest_lane), of(self.complete_lane)
        return {
            "/v1/suggest": next_queries,
            "/v1/suggest/batch": next_queries,
            "/v1/complete": completions,
            "/opensearch": completions,
        }

    def is_stuck(self) -> bool:
        return any(lane.busy_for() > STUCK_SECONDS for lane in self.lanes)

    async def close(self) -> None:
        for lane in self.lanes:
            await lane.close()


def _raise_if_changed(failed: Failed) -> None:
    if isinstance(failed.error, FilesChanged):
        raise failed.error


def as_text(queries: Sequence[str]) -> Queries:
    """Typed text is never a separator, even if it looks like one."""
    return tuple(
        query.replace("<", " ").replace(">", " ") if _looks_like_separator(query) else query
        for query in queries
    )


def _looks_like_separator(query: str) -> bool:
    return is_separator(in_lower_case(without_unseen(query)))


def places_read(bundle: ServedBundle, session: Queries) -> List[int]:
    """The places of queries that have words after normalisation; `!!!` has none."""
    query = bundle.suggester.reader.query
    return [place for place, text in enumerate(session) if query(text)]


def _has_query(ask: Ask) -> bool:
    """Whether the session has a query after normalisation; completions do not need one."""
    return ask.prefix is not None or bool(places_read(ask.bundle, ask.session))


# --- run in the threads of the lanes -------------------------------------------------------------


def _from_bundles(asks: List[Ask]) -> List[Outcome]:
    return _lists(asks, [ask.bundle.suggester for ask in asks])


def _from_counts_of_bundles(asks: List[Ask]) -> List[Outcome]:
    return _lists(asks, [ask.bundle.counts or ask.bundle.suggester for ask in asks])


def _lists(asks: List[Ask], suggesters: List[Suggester]) -> List[Outcome]:
    """Run requests of the same kind and suggester in one batch."""
    groups: Dict[Tuple[int, bool], List[int]] = defaultdict(list)
    for place, (ask, suggester) in enumerate(zip(asks, suggesters)):
        groups[id(suggester), ask.prefix is None].append(place)
    found: Dict[int, Outcome] = {}
    for places in groups.values():
        group = [asks[place] for place in places]
        found.update(zip(places, _checked_lists(group, suggesters[places[0]])))
    return [found[place] for place in range(len(asks))]


def _checked_lists(asks: List[Ask], suggester: Suggester) -> List[Outcome]:
    """Lists of one bundle, discarded if somebody wrote into its files meanwhile."""
    files = asks[0].bundle.files
    try:
        files.check()
        found = _lists_of_group(asks, suggester)
        files.check()
    except FilesChanged as error:
        return [Failed(error)] * len(asks)
    return found


def _lists_of_group(asks: List[Ask], suggester: Suggester) -> List[Outcome]:
    """Lists of one batch; if one request fails, the others are still answered."""
    sessions, histories = [ask.session for ask in asks], [ask.history for ask in asks]
    prefixes = [ask.prefix for ask in asks if ask.prefix is not None]
    most = max(ask.n for ask in asks)
    try:
        if prefixes:
            lists = suggester.complete_many(sessions, prefixes, most, histories)
        else:
            lists = suggester.suggest_many(sessions, most, histories)
    except Exception as error:
        if len(asks) == 1:
            return [Failed(error)]
        return [outcome for ask in asks for outcome in _lists_of_group([ask], suggester)]
    return [found[: ask.n] for ask, found in zip(asks, lists)]


def _explain_batch(asks: List[Explain]) -> List[Any]:
    return [_explain(ask) for ask in asks]


def _explain(ask: Explain) -> Any:
    bundle = ask.bundle
    try:
        bundle.files.check()
        found = bundle.suggester.explain(ask.session, ask.suggestion, ask.history)
        bundle.files.check()
        # Anybody may ask: why a text is missing is told of none, so that nobody can find out more.
        return (held_back(ask.suggestion) if found.place is None else found).as_dict()
    except Exception as error:
        return Failed(error)
