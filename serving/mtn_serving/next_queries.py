"""What people asked next: a table counted on the training split, opened by memory map.

A context is the last query of a session, its last two, … Contexts are numbered: `b <q> c` is found
by the number of `c` and the query `b`, so a context is its queries themselves, and no two can be
taken for each other. The table knows as well how often each query was asked, which queries have
which word, and how people change a query.
"""

from functools import partial
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import settings_of

from .array_folder import file_of, open_arrays, save_arrays
from .kept_folder import HEADER, Kind
from .ranked_lists import RankedLists
from .text_pool import TextPool

_POOLS = ("queries", "words")
_LISTS = {"followers": "queries", "queries_of_word": "queries", "changes": "words"}  # of what
_PLAIN = {"context_keys": "<u8", "asked": "<u4", "asked_next": "<u4"}
# Queries that are shown in another form: their numbers, sorted, and the forms in the same order.
_SHOWN = {"shown": "<u4", **TextPool.types("forms")}
_TYPES = {**_PLAIN, **_SHOWN}
for _name in _POOLS:
    _TYPES.update(TextPool.types(_name))
for _name in _LISTS:
    _TYPES.update(RankedLists.types(_name))
# What there is one of for each of others: arrays of the same length.
_ALIKE = {
    "asked": "queries_ends",
    "asked_next": "queries_ends",
    "followers_ends": "context_keys",
    "queries_of_word_ends": "words_ends",
    "changes_ends": "words_ends",
    **{f"{name}_counts": name for name in _LISTS},
    "shown": "forms_ends",
}

KIND = Kind("next queries", 2, "mtn-count-next", frozenset(map(file_of, _TYPES)))


class Followers:
    """What followed the last query, the last two, …, and how often.

    Args:
        queries: in the order of code points, by which they are numbered
        context_keys: sorted; see `context_key`
        followers: for each context, numbers of queries
    """

    def __init__(self, queries: TextPool, context_keys: np.ndarray, followers: RankedLists) -> None:
        self.queries, self.context_keys, self.followers = queries, context_keys, followers

    def contexts(self, session: Sequence[str]) -> List[int]:
        """Numbers of the last query, the last two, … as far as they were seen in training."""
        found: List[int] = []
        for query in reversed(session):
            number = self.queries.find(query)
            context = None if number is None else self._context(found, number)
            if context is None:
                break  # nor was any longer one
            found.append(context)
        return found

    def _context(self, shorter: Sequence[int], query: int) -> Optional[int]:
        key = context_key(shorter[-1] if shorter else None, query)
        place = int(np.searchsorted(self.context_keys, np.uint64(key)))
        found = place < len(self.context_keys) and int(self.context_keys[place]) == key
        return place if found else None

    def suggest(self, session: Sequence[str], most: int) -> List[Tuple[str, float]]:
        """What followed, with its relative frequency: by the longest context, then by shorter ones.

        A frequency is that of the longest context a query followed, so a shorter one may go on
        with higher ones: the order counts.
        """
        ranked: Dict[int, float] = {}
        for context in reversed(self.contexts(session)):
            items, counts = self.followers[context]
            total = int(counts.sum())
            for item, count in zip(items[:most].tolist(), counts[:most].tolist()):
                ranked.setdefault(item, count / total)
        return [(self.queries[item], share) for item, share in list(ranked.items())[:most]]


class NextQueries(Followers):
    """The table.

    Queries, and words or short stretches of words, are numbered in the order of code points.

    Args:
        facts: how it was made
        arrays: all of the table
        folder: where it is kept, for messages
    """

    def __init__(
        self, facts: Dict[str, Any], arrays: Dict[str, np.ndarray], folder: Optional[Path] = None
    ) -> None:
        self.facts = facts
        self.header = Path(folder or "") / HEADER
        self.text_settings = settings_of(facts.get("text"), self.header)  # None for tables without
        damaged = partial(InputError, "damaged", KIND.again, folder)
        pools = {name: TextPool.from_arrays(arrays, name, damaged) for name in _POOLS}
        followers, self.queries_of_word, self.changes = (
            RankedLists.from_arrays(arrays, name, len(pools[of]), damaged)
            for name, of in _LISTS.items()
        )
        super().__init__(pools["queries"], arrays["context_keys"], followers)
        self.words = pools["words"]
        self.asked = arrays["asked"]  # how often each query was asked
        self.asked_next = arrays["asked_next"]  # ... but as the first of its session
        self.shown = arrays["shown"]
        self.forms = TextPool.from_arrays(arrays, "forms", damaged)  # not sorted

    def form(self, query: str) -> Optional[str]:
        """How most people typed a query, where that is not how the text has it."""
        number = self.queries.find(query) if len(self.shown) else None
        if number is None:
            return None
        place = int(np.searchsorted(self.shown, np.uint32(number)))
        found = place < len(self.shown) and int(self.shown[place]) == number
        return self.forms[place] if found else None

    def save(self, folder: Path) -> None:
        arrays = {name: getattr(self, name) for name in (*_PLAIN, "shown")}
        for name in (*_POOLS, *_LISTS, "forms"):
            arrays.update(getattr(self, name).arrays(name))
        save_arrays(folder, KIND, self.facts, arrays, _TYPES)

    @classmethod
    def open(cls, folder: Path, verify: bool = False) -> "NextQueries":
        """At once, whatever its size: what is asked of it is checked then.

        Args:
            verify: read all of it first, and compare it with what was written
        """
        header, arrays = open_arrays(Path(folder), KIND, _TYPES, verify, tuple(_SHOWN))
        for name, other in _ALIKE.items():
            if len(arrays[name]) != len(arrays[other]):
                raise InputError(f"not of the length of {other}", KIND.again, folder)
        return cls(header, arrays, folder)


def context_key(shorter: Optional[int], query: int) -> int:
    """By which the context `query <q> shorter` is found; `shorter` is the number of a context."""
    return (0 if shorter is None else shorter + 1) << 32 | query
