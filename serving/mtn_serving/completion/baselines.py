"""Completions by counting alone, which anything better should beat.

A method is a row of sources; a later one goes on where the earlier ones have too few. All count in
the whole training text, also what one person asked: nothing is held back. What is typed already and
the last query are left out, as everywhere.
"""

from collections import Counter
from typing import Callable, Dict, Iterable, List, NamedTuple, Sequence, Tuple

from ..next_queries import NextQueries


class Typed(NamedTuple):
    """What a method may look at."""

    prefix: str
    queries: Sequence[str]  # of the session so far
    history: Sequence[Sequence[str]]  # this person's earlier sessions, oldest first
    table: NextQueries  # of all training queries


Source = Callable[[Typed, int], Iterable[str]]


def popular(typed: Typed, most: int) -> Iterable[str]:
    """What is asked most of all that starts so."""
    queries = typed.table.queries
    return (
        queries[number]
        for number in typed.table.most_asked.of(queries.starting_with(typed.prefix), most)
    )


def after_last(typed: Typed, most: int) -> Iterable[str]:
    """What followed the last query most often, of all that starts so."""
    table = typed.table
    numbers = table.queries.starting_with(typed.prefix)
    for context in table.contexts(typed.queries[-1:]):
        items = table.followers[context][0]
        wanted = items[(items >= numbers.start) & (items < numbers.stop)]
        yield from (table.queries[number] for number in wanted[:most].tolist())


def own(typed: Typed, most: int) -> Iterable[str]:
    """What this person asked most often before; of equals, the latest."""
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
