"""What can be counted of lists without a reader: shares over all lists, or all suggestions."""

from typing import Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set

from .systems import Lists, Systems
from .training_counts import TrainingCounts

SCHEMA = 1  # counts up when an entry changes its meaning or goes
GENERIC = 100  # queries
HEAD = 3  # suggestions, in which a generic query counts
TOP = 5  # suggestions, of which the others are shares


class _Known(NamedTuple):
    """What lists are held against."""

    counts: TrainingCounts
    generic: FrozenSet[str]


class _Seen(NamedTuple):
    """What a pair shows of its person."""

    queries: List[str]  # of the session
    words: Set[str]
    own: Set[str]  # suggestions that this person asked, in this session or an earlier one


def list_shares(
    systems: Systems,
    train: str,
    histories: Iterable[Sequence[Sequence[str]]],
    generic: int = GENERIC,
) -> dict:
    """Args:
    histories: the earlier sessions of each pair's person, as far as they are known
    generic: how many of the most asked queries count as generic
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
    """Asked by everybody at any time, and nothing in this session leads to it."""
    return (
        query in known.generic
        and not pair.words & set(query.split())
        and not known.counts.follows_for_several(pair.queries[-1], query)
    )


def _is_unrelated(query: str, pair: _Seen, known: _Known) -> bool:
    """No word of the session, and never asked after its last query."""
    return not pair.words & set(query.split()) and not known.counts.follows(pair.queries[-1], query)


def _is_shortened(first: str, last: str) -> bool:
    """The last query with words removed; the others stand in their order."""
    left: Iterator[str] = iter(last.split())
    return first != last and all(word in left for word in first.split())


def _percent(found: Iterable[bool], total: int) -> float:
    return 100 * sum(found) / total if total else 0.0
