"""Candidates made from the session itself, by changing its last query.

    a word dropped                          cheap flights paris > flights paris
    a change that people make               cheap flights > cheap tickets
    words of the query before, added        paris hotels <q> london > london hotels
    a query of other people that starts     london > london weather
    with the last query, or has a rare
    word of it or of an earlier query
    its start or its end                    cheap flights paris in may > flights paris in may
                                            > cheap flights

Queries and changes of other people come from the table, so enough people asked them. Edits are
deterministic, and the number of each kind is bounded.
"""

from itertools import chain, islice
from typing import Dict, Iterator, List, NamedTuple, Sequence

import numpy as np

from .next_queries import NextQueries

MAX_CHANGES = 3  # per span of words
MAX_SIMILAR = 10  # queries of other people with words of the last query
MAX_SIMILAR_TO_EARLIER = 5  # … of each earlier query
MAX_EARLIER = 2  # number of earlier queries to use, the latest ones
MAX_WORDS = 12  # longer queries are not edited: pasted text may have hundreds of words


class Edit(NamedTuple):
    text: str
    kind: str  # one of KINDS


KINDS = ("drop", "change", "earlier words", "asked", "part")


def edits(session: Sequence[str], table: NextQueries) -> List[Edit]:
    """All edits of the last query, each text once, with the first kind that makes it."""
    found: Dict[str, Edit] = {}
    if len(session[-1].split()) > MAX_WORDS:
        return []
    makers = {
        "drop": _drops(session[-1]),
        "change": _changes(session[-1], table),
        "earlier words": _earlier_words(session),
        "asked": _similar_queries(session, table),
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
    """The starts and ends of a query; single words are too vague."""
    words = last.split()
    for length in range(len(words) - 1, 1, -1):
        yield " ".join(words[:length])
        yield " ".join(words[-length:])


def _changes(last: str, table: NextQueries) -> Iterator[str]:
    """Spans of one or two words replaced as people replace them, and words added at the ends."""
    words = last.split()
    count = len(words)
    places = [(count, count), (0, 0)]
    places += [(i, i + length) for length in (1, 2) for i in range(count - length + 1)]
    for start, end in places:
        removed = table.words.find(" ".join(words[start:end]))
        if removed is None or end - start == count:
            continue  # nobody changed it, or nothing of the query would be left
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
    # `paris hotels`, `london`: the last query replaces one word of the query before.
    for i in range(len(before)):
        yield " ".join([*before[:i], *last, *before[i + 1 :]])


def _similar_queries(session: Sequence[str], table: NextQueries) -> Iterator[str]:
    """Queries of other people with words of the last query, then of earlier queries, but no query
    of the session itself."""
    found = {table.queries.find(query) for query in session}
    words: List[str] = []
    for ago, query in enumerate(session[::-1][: 1 + MAX_EARLIER]):
        new = [word for word in dict.fromkeys(query.split()) if word not in words]
        words += new
        if len(query.split()) > MAX_WORDS:
            continue
        numbers = chain([] if ago else _longer_queries(query, table), _with_rare_words(new, table))
        unseen = (number for number in numbers if number not in found)
        for number in islice(unseen, MAX_SIMILAR_TO_EARLIER if ago else MAX_SIMILAR):
            found.add(number)
            yield table.queries[number]


def _longer_queries(query: str, table: NextQueries) -> List[int]:
    """Longer queries that start with a query, most frequent first."""
    longer = table.queries.starting_with(query + " ")
    asked = table.asked[longer.start : longer.stop].astype(np.int64)
    return (longer.start + np.argsort(-asked, kind="stable")[: MAX_SIMILAR // 2]).tolist()


def _with_rare_words(words: Sequence[str], table: NextQueries) -> Iterator[int]:
    """Queries with the rarest word, then with the next rarest word, and so on."""
    places = [table.words.find(word) for word in words]
    lists = [table.queries_of_word[place] for place in places if place is not None]
    # Of words with truncated lists, the word whose last query is less frequent is rarer.
    rare_first = sorted(lists, key=lambda each: (len(each[0]), each[1][-1:].tolist()))
    return chain.from_iterable(items.tolist() for items, _ in rare_first)
