"""Completions by counting alone, as baselines.

A method is a sequence of sources; later sources fill the list if earlier ones have too few. They
count the whole training text, including queries of one person: nothing is held back. The prefix
itself and the last query are left out, as everywhere.
"""

from collections import Counter
from typing import Callable, Dict, Iterable, List, NamedTuple, Sequence, Tuple

from ..next_queries import NextQueries


class Typed(NamedTuple):
    """The input of a method."""

    prefix: str
    queries: Sequence[str]  # of the session so far
    history: Sequence[Sequence[str]]  # this person's earlier sessions, oldest first
    table: NextQueries  # of all training queries


Source = Callable[[Typed, int], Iterable[str]]


def popular(typed: Typed, most: int) -> Iterable[str]:
    """The most frequent queries with the prefix."""
    queries = typed.table.queries
    return (
        queries[number]
        for number in typed.table.most_asked.of(queries.starting_with(typed.prefix), most)
    )


def after_last(typed: Typed, most: int) -> Iterable[str]:
    """Queries with the prefix that followed the last query, most frequent first."""
    table = typed.table
    numbers = table.queries.starting_with(typed.prefix)
    for context in table.contexts(typed.queries[-1:]):
        items = table.followers[context][0]
        wanted = items[(items >= numbers.start) & (items < numbers.stop)]
        yield from (table.queries[number] for number in wanted[:most].tolist())


def own(typed: Typed, most: int) -> Iterable[str]:
    """This person's most frequent queries with the prefix; ties go to the latest."""
    asked = [query for session in (*typed.history, typed.queries) for query in session]
    counts = Counter(query for query in reversed(asked) if query.startswith(typed.prefix))
    return (query for query, _ in counts.most_common(most))


METHODS: Dict[str, Tuple[Source, ...]] = {
    "popular": (popular,),
    "last": (after_last,),
    "last-popular": (after_last, popular),
    "personal": (own, after_last, popular),
}


def complete(sources: Sequence[Source], typed: Typed, nbest: int) -> List[str]:
    left_out = {typed.prefix, typed.prefix.rstrip(), *typed.queries[-1:]}
    found: Dict[str, None] = {}
    for source in sources:
        if len(found) < nbest:
            texts = source(typed, nbest + len(left_out))
            found.update(dict.fromkeys(text for text in texts if text not in left_out))
    return list(found)[:nbest]
