"""Why a text is suggested for a session, or why it is not.

    sources         which sources have it, and at which place
    counts          how often and after what people asked it, and how many people
    queries         which query of the session mattered: lists with each query left out, and the
                    attention of the model's session level
    contributions   which features moved the ranker most

Works with any engine: only beams and scores are needed. For a text that may not be shown, the
explanation says so and nothing else: neither the rule nor whether anybody asked it.
"""

from itertools import chain, takewhile
from typing import (
    Any,
    Container,
    Dict,
    Iterator,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.typed_queries import in_lower_case

from .candidates import BEAM, COUNTS, EDITS, FIELD_OF, HISTORY, SESSION, Candidate
from .contributions import Contribution, contributions_of
from .display_rules import DisplayFilter, OwnText
from .edits import KINDS
from .features import NAMES
from .list_rules import UNRELATED, arrange
from .next_queries import NextQueries
from .pipeline import Described, Pipeline, Suggestion
from .request import Request
from .session_checks import History, Session, check_session
from .shown_candidates import Gathered, gather_shown
from .without_queries import (
    WithoutQuery,
    attention,
    log_probabilities,
    place_in_list,
    shortened,
    without_queries,
)

# Why a text is missing, besides `list_rules.UNRELATED`.
HELD_BACK = "the display rules"  # the same for all rules, and for what nobody asked
LAST_QUERY = "the last query"  # nobody asks it next
MISSPELT = "misspelt"  # people take it back; see `misspellings`
NO_CANDIDATE = "no candidate"  # no source has it
MADE_UP = "made up"  # nobody asked it; see `list_rules`


class InSource(NamedTuple):
    source: str  # of `candidates.SOURCES`
    place: Optional[int]  # among the source's candidates, from 1; None for edits
    how: str  # a description


class AfterContext(NamedTuple):
    """How often the text was asked right after one context: the last query, the last two, …"""

    context: Tuple[str, ...]
    times: int
    of: int  # how often any query was asked after this context
    people: Optional[int]  # how many asked the text there; None if people are not known


class Counted(NamedTuple):
    """Counts in the training text, where a query of too few people counts as never asked."""

    asked: int  # how often, anywhere in a session
    people: Optional[int]  # how many asked it; None if people are not known
    after: Tuple[AfterContext, ...]  # contexts seen in training, the last query first


class Scored(NamedTuple):
    """The score of the model."""

    log_probability: float
    place: Optional[int]  # among the candidates that may be shown, from 1; None if not one


class Explanation(NamedTuple):
    text: str  # as it is shown
    query: str  # as in prepared text
    place: Optional[int]  # in the list, from 1; None if it is not in the list
    score: Optional[float]
    rule: Optional[str]  # the rule that gave it its place
    missing: Optional[str]  # why it is not in the list; None if it is
    sources: Tuple[InSource, ...]
    counts: Optional[Counted]  # None without a table
    model: Optional[Scored]  # None without a model
    queries: Tuple[WithoutQuery, ...]  # the last 10, in order; empty for a single query
    most_important: Optional[str]  # the query without which it drops most; None if it never drops
    contributions: Optional[Tuple[Contribution, ...]]  # to the ranker's score, largest first
    no_contributions: Optional[str]  # why there are none

    def as_dict(self) -> Dict[str, Any]:
        """A dictionary for JSON."""
        return _plain(self)


def explain(
    pipeline: Pipeline,
    session: Session,
    suggestion: Union[str, Suggestion],
    history: Optional[History] = None,
) -> Explanation:
    """Args:
    session, history: as for `Suggester.suggest`
    suggestion: one of the list, or any text that is missing there
    """
    check_session(session)
    (request,) = pipeline.requests([session], [history])
    candidates = {each.text: each for each in _gathered(pipeline, request).candidates}
    query = _read(pipeline, suggestion, candidates)
    requests = [request, *shortened(request)]
    described = pipeline.described(requests)
    whole, row = described[0], _row(described[0], query)
    places = [place_in_list(pipeline, each, query) for each in described]
    here = places[0]
    if here is None and not _may_be_told(pipeline, request, query):
        return held_back(suggestion)
    likely = log_probabilities(pipeline, requests, query)
    queries = without_queries(request, places, likely, attention(pipeline, request))
    most = max(queries, key=lambda each: each.share, default=None)
    candidate = candidates.get(query)
    features = None if row is None else whole.features[row]
    contributions, no_contributions = contributions_of(pipeline.ranker, features)
    return Explanation(
        pipeline.shown(Suggestion(query, 0.0, "", "", query), session).text,
        query,
        here and here.place,
        here and here.score,
        here and here.rule,
        None if here else _missing(pipeline.table, request, query, candidate, whole),
        () if candidate is None else tuple(_sources(candidate, pipeline.sources)),
        _counted(pipeline.table, pipeline.display, request.session, query),
        None if likely[0] is None else Scored(likely[0], _place_by_model(whole, row)),
        queries,
        most.query if most is not None and most.share > 0 else None,
        contributions,
        no_contributions,
    )


def held_back(suggestion: Union[str, Suggestion]) -> Explanation:
    """The same answer for every text that may not be shown: it only repeats the text."""
    asked = suggestion.query if isinstance(suggestion, Suggestion) else suggestion
    text = in_lower_case(asked)
    return Explanation(
        text, text, None, None, None, HELD_BACK, (), None, None, (), None, None, None
    )


def _may_be_told(pipeline: Pipeline, request: Request, query: str) -> bool:
    """Whether a missing text may be shown and people are known to have asked it."""
    own = OwnText(request.session, chain.from_iterable(request.history))
    display = pipeline.display
    return bool(display.shown([Candidate(query, COUNTS)], own)) and (
        display.min_users == 0 or display.number_of_known(query) is not None
    )


def _read(
    pipeline: Pipeline, suggestion: Union[str, Suggestion], candidates: Container[str]
) -> str:
    """The suggestion as in prepared text. Text that is prepared already (a mask, say) is not read
    again: the reader would change it.

    Args:
        candidates: texts known to be prepared
    """
    if isinstance(suggestion, Suggestion):
        return suggestion.query
    if not isinstance(suggestion, str):
        raise TypeError(f"a suggestion is text, not {type(suggestion).__name__}")
    as_it_is, table = in_lower_case(suggestion), pipeline.table
    if as_it_is in candidates or (table is not None and table.queries.find(as_it_is) is not None):
        return as_it_is
    query = in_lower_case(pipeline.reader.query(suggestion))
    if not query:
        raise InputError("a suggestion without a word", "give what was suggested, or might be")
    return query


def _gathered(pipeline: Pipeline, request: Request) -> Gathered:
    """All candidates, including those that may not be shown."""
    beam: Sequence[str] = ()
    if pipeline.beam is not None and pipeline.trained is not None:
        line = request.fitted(pipeline.model_reads).line
        ((beam, _),) = pipeline.beam(pipeline.trained.sources([line]))
    parts = pipeline.table, pipeline.sources, pipeline.display
    return gather_shown(request, pipeline.past(request), beam, *parts)


def _row(described: Described, query: str) -> Optional[int]:
    texts = [each.text for each in described.candidates]
    return texts.index(query) if query in texts else None


def _place_by_model(described: Described, row: Optional[int]) -> Optional[int]:
    if row is None:
        return None
    return int(described.features[row, NAMES.index("model_place")]) + 1


def _missing(
    table: Optional[NextQueries],
    request: Request,
    query: str,
    candidate: Optional[Candidate],
    described: Described,
) -> str:
    """Why a text that may be shown is not in the list."""
    if query == in_lower_case(request.session[-1]):
        return LAST_QUERY
    if table is not None and query in table.misspelt:
        return MISSPELT
    row = _row(described, query)
    if candidate is None or row is None:
        return NO_CANDIDATE
    return UNRELATED if arrange(described.features, [row], unrelated=True) else MADE_UP


def _sources(candidate: Candidate, sources: Sequence[str]) -> Iterator[InSource]:
    for source in sources:
        place = getattr(candidate, FIELD_OF[source])
        if place is None:
            continue
        if source == EDITS:
            yield InSource(source, None, _EDITS[KINDS[place]])
        elif source == SESSION:
            yield InSource(source, place - 1, f"asked in this session, {place} queries ago")
        else:
            yield InSource(source, place + 1, _HOW[source])


_HOW = {
    HISTORY: "this person asked it in earlier sessions",
    COUNTS: "people asked it next",
    BEAM: "a hypothesis of the model",
}
_EDITS = {
    "drop": "the last query with a word dropped",
    "change": "the last query, changed as people change others",
    "earlier words": "the last query with words of the query before",
    "asked": "a query that people ask, with words of the session",
    "part": "the start or the end of the last query",
}


def _counted(
    table: Optional[NextQueries], display: DisplayFilter, session: Sequence[str], query: str
) -> Optional[Counted]:
    if table is None:
        return None
    number = display.number_of_known(query)
    known = takewhile(lambda each: display.number_of_known(each) is not None, reversed(session))
    after = tuple(
        _after(table, context, tuple(session[-length:]), number)
        for length, (context, _) in enumerate(zip(table.contexts(session), known), 1)
    )
    asked = 0 if number is None else int(table.asked[number])
    people = None
    if table.has_users:
        people = 0 if number is None else table.users_of(number)
    return Counted(asked, people, after)


def _after(
    table: NextQueries, context: int, queries: Tuple[str, ...], number: Optional[int]
) -> AfterContext:
    items, counts = table.followers[context]
    here = np.flatnonzero(items == number) if number is not None else np.empty(0, np.int64)
    people = None
    if table.follower_users is not None:
        people = int(table.follower_users[context][1][here].sum())
    return AfterContext(queries, int(counts[here].sum()), int(counts.sum()), people)


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
