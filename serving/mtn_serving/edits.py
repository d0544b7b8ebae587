"""Candidates that are made from the session itself, by changing its last query.

    a word dropped                          cheap flights paris > flights paris
    a change that people make               cheap flights > cheap tickets
    words of the query before, put to it    paris hotels <q> london > london hotels
    a query that people ask and that has    london > london weather
    words of the session: it starts with
    the last query, has its rarest word,
    or has the rarest word of one before
    its start or its end                    cheap flights paris in may > flights paris in may
                                            > cheap flights

What people ask is what the table has: what enough people asked. Always the same ones in the same
order, and a bounded number of each kind.
"""

from itertools import chain
from typing import Dict, Iterator, List, NamedTuple, Sequence

import numpy as np

from .next_queries import NextQueries

MAX_CHANGES = 3  # of each stretch of words
MAX_SIMILAR = 10  # queries that people ask with words of the last query
MAX_SIMILAR_TO_EARLIER = 5  # … of each earlier query
MAX_EARLIER = 2  # queries that are looked at, the latest ones
MAX_WORDS = 12  # of a query that is edited; what is pasted may have hundreds


class Edit(NamedTuple):
    text: str
    kind: str  # one of KINDS


KINDS = ("drop", "change", "earlier words", "asked", "part")


def edits(session: Sequence[str], table: NextQueries) -> List[Edit]:
    """All edits of the last query, each text once, under the first kind that makes it."""
    found: Dict[str, Edit] = {}
    if len(session[-1].split()) > MAX_WORDS:
        return []
    makers = {
        "drop": _drops(session[-1]),
        "change": _changes(session[-1], table),
        "earlier words": _earlier_words(session),
        "asked": _asked(session, table),
        "part": _parts(session[-1]),
    }
    for kind in KINDS:
        for text in makers[kind]:
            if text and text != session[-1]:
                found.setdefault(text, Edit(text, kind))
    return list(found.values())


def _drops(last: str) -> Iterator[str]:
    words = last.split()
    for i in range(len(words)):
        yield " ".join(words[:i] + words[i + 1 :])


def _parts(last: str) -> Iterator[str]:
    """Its starts and ends; one word alone says too little."""
    words = last.split()
    for length in range(len(words) - 1, 1, -1):
        yield " ".join(words[:length])
        yield " ".join(words[-length:])


def _changes(last: str, table: NextQueries) -> Iterator[str]:
    """Each stretch of one or two words, and the ends, replaced as people replaced them."""
    words = last.split()
    count = len(words)
    places = [(count, count), (0, 0)]
    places += [(i, i + length) for length in (1, 2) for i in range(count - length + 1)]
    for start, end in places:
        removed = table.words.find(" ".join(words[start:end]))
        if removed is None or end - start == count:
            continue  # never changed by anybody, or nothing of the query would be left
        for added in table.changes[removed][0][:MAX_CHANGES].tolist():
            yield " ".join([*words[:start], *table.words[added].split(), *words[end:]])


def _earlier_words(session: Sequence[str]) -> Iterator[str]:
    last = session[-1].split()
    if len(session) == 1:
        return
    before = session[-2].split()
    new = [word for word in before if word not in last]
    if not new or len(before) > MAX_WORDS:
        return
    for word in new:
        yield " ".join([*last, word])
        yield " ".join([word, *last])
    # `paris hotels`, `london`: what stood before or behind the word that `london` replaces.
    for i in range(len(before)):
        yield " ".join([*before[:i], *last, *before[i + 1 :]])


def _asked(session: Sequence[str], table: NextQueries) -> Iterator[str]:
    """Queries with words of the last query, then of those before it; none of the session itself."""
    found = {table.queries.find(query) for query in session}
    words: List[str] = []
    for ago, query in enumerate(session[::-1][: 1 + MAX_EARLIER]):
        new = [word for word in dict.fromkeys(query.split()) if word not in words]
        words += new
        if len(query.split()) > MAX_WORDS:
            continue
        numbers = chain([] if ago else _longer(query, table), _with_rare_words(new, table))
        unseen = [number for number in dict.fromkeys(numbers) if number not in found]
        for number in unseen[: MAX_SIMILAR_TO_EARLIER if ago else MAX_SIMILAR]:
            found.add(number)
            yield table.queries[number]


def _longer(query: str, table: NextQueries) -> List[int]:
    """Queries that start with it, the most asked first."""
    longer = table.queries.starting_with(query + " ")
    asked = table.asked[longer.start : longer.stop].astype(np.int64)
    return (longer.start + np.argsort(-asked, kind="stable")[: MAX_SIMILAR // 2]).tolist()


def _with_rare_words(words: Sequence[str], table: NextQueries) -> Iterator[int]:
    """Queries with the word that fewest queries have, then with the next one."""
    places = [table.words.find(word) for word in words]
    lists = [table.queries_of_word[place] for place in places if place is not None]
    # Of words whose lists are cut, the one whose last query is asked less is the rarer.
    rare_first = sorted(lists, key=lambda each: (len(each[0]), each[1].tolist()[-1:]))
    return chain.from_iterable(items.tolist() for items, _ in rare_first)
