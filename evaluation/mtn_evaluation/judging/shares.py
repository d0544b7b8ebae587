"""Automatic counts: shares of all lists, or of all suggestions."""

from typing import Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set

from .systems import Lists, Systems
from .training_counts import TrainingCounts

SCHEMA = 1  # increased when an entry changes its meaning or is removed
GENERIC = 100  # number of generic queries
HEAD = 3  # top suggestions checked for a generic query
TOP = 5  # top suggestions that the other shares count


class _Known(NamedTuple):
    """What suggestions are compared with."""

    counts: TrainingCounts
    generic: FrozenSet[str]


class _Seen(NamedTuple):
    """What is known about the person of a pair."""

    queries: List[str]  # of the session
    words: Set[str]
    own: Set[str]  # suggestions that this person asked, now or in an earlier session


def list_shares(
    systems: Systems,
    train: str,
    histories: Iterable[Sequence[Sequence[str]]],
    generic: int = GENERIC,
) -> dict:
    """Args:
    histories: the earlier sessions of each pair's person, where known
    generic: how many of the most frequent queries count as generic
    """
    sessions = [pair.queries() for pair in systems.pairs]
    counts = TrainingCounts(train, {queries[-1] for queries in sessions})
    known = _Known(counts, counts.most_asked(generic))
    seen = [
        _seen(queries, history, [lists[number] for lists in systems.lists.values()])
        for number, (queries, history) in enumerate(zip(sessions, histories))
    ]
    return {
        "schema": SCHEMA,
        "test": systems.prefix,
        "train": train,
        "pairs": len(sessions),
        "generic": generic,
        "unit": "people" if counts.knows_people else "times",
        "systems": [
            {"name": name, **_shares(lists, seen, known)} for name, lists in systems.lists.items()
        ],
    }


def _seen(queries: List[str], history: Sequence[Sequence[str]], lists: Lists) -> _Seen:
    suggested = {query for ranked in lists for query in ranked[:TOP]}
    asked = {*queries, *(query for session in history for query in session)}
    return _Seen(queries, set(" ".join(queries).split()), suggested & asked)


def _shares(lists: Lists, seen: Sequence[_Seen], known: _Known) -> Dict[str, Optional[float]]:
    both = list(zip(lists, seen))
    firsts = [(ranked[0], pair.queries[-1]) for ranked, pair in both if ranked]
    top = [(query, pair) for ranked, pair in both for query in ranked[:TOP]]
    has_generic = [
        any(_is_generic(query, pair, known) for query in ranked[:HEAD]) for ranked, pair in both
    ]
    one_person = None
    if known.counts.knows_people:
        one_person = _percent(
            (query not in pair.own and known.counts.asked_by_one(query) for query, pair in top),
            len(top),
        )
    return {
        "generic": _percent(has_generic, len(lists)),
        "made_up": _percent(
            (query not in pair.own and query not in known.counts.asked for query, pair in top),
            len(top),
        ),
        "one_person": one_person,
        "unrelated": _percent((_is_unrelated(query, pair, known) for query, pair in top), len(top)),
        "last_query": _percent((first == last for first, last in firsts), len(lists)),
        "shortened": _percent((_is_shortened(first, last) for first, last in firsts), len(lists)),
        "mean_length": sum(map(len, lists)) / len(lists),
        "empty": sum(not ranked for ranked in lists),
    }


def _is_generic(query: str, pair: _Seen, known: _Known) -> bool:
    """Whether the query is frequent and nothing in this session leads to it."""
    return (
        query in known.generic
        and not pair.words & set(query.split())
        and not known.counts.follows_for_several(pair.queries[-1], query)
    )


def _is_unrelated(query: str, pair: _Seen, known: _Known) -> bool:
    """Whether the query shares no word with the session and never followed its last query."""
    return not pair.words & set(query.split()) and not known.counts.follows(pair.queries[-1], query)


def _is_shortened(first: str, last: str) -> bool:
    """Whether `first` is the last query with words removed and the order kept."""
    left: Iterator[str] = iter(last.split())
    return first != last and all(word in left for word in first.split())


def _percent(found: Iterable[bool], total: int) -> float:
    return 100 * sum(found) / total if total else 0.0
