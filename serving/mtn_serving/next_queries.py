"""What people asked next: a table counted on the training split, opened by memory map.

A context is the last query of a session, its last two, … Contexts are numbered: `b <q> c` is found
by the number of `c` and the query `b`, so a context is its queries themselves, and no two can be
taken for each other. The table knows as well how often each query was asked and by how many people,
which queries have which word, how people change a query, and which words they typed side by side.
"""

from functools import cached_property, partial
from math import log
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import settings_of

from .array_folder import file_of, open_arrays, save_arrays
from .fingerprints import is_among
from .kept_folder import HEADER, Kind
from .most_frequent import MostFrequent
from .ranked_lists import RankedLists
from .text_pool import TextPool
from .typed_words import TypedWords

_POOLS = ("queries", "words")
_LISTS = {"followers": "queries", "queries_of_word": "queries", "changes": "words"}  # of what
_PLAIN = {"context_keys": "<u8", "asked": "<u4", "asked_next": "<u4"}
# Queries that are shown in another form: their numbers, sorted, and the forms in the same order.
_SHOWN = {"shown": "<u4", **TextPool.types("forms")}
# How many people asked each query, and each after its context: empty where that is not known.
_USERS = {"users": "<u4", "follower_users": "<u4"}
_PEOPLE = {**_USERS, **TypedWords.types()}
# Queries that too few people asked, as hashes: known again, not read.
_LEFT_OUT = {"left_out": "<u8"}
_TYPES = {**_PLAIN, **_SHOWN, **_PEOPLE, **_LEFT_OUT}
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
_TYPED_ALIKE = {"word_users": "words_ends", "word_pair_users": "word_pairs"}
_USERS_ALIKE = {"users": "queries_ends", "follower_users": "followers"}

KIND = Kind("next queries", 2, "mtn-count-next", frozenset(map(file_of, _TYPES)))


class Followers:
    """What followed the last query, the last two, …, and how often.

    Args:
        queries: in the order of code points, by which they are numbered
        context_keys: sorted; see `context_key`
        followers: for each context, numbers of queries
        follower_users: the same lists with the number of people in the place of counts, where users
            are known
    """

    def __init__(
        self,
        queries: TextPool,
        context_keys: np.ndarray,
        followers: RankedLists,
        follower_users: Optional[RankedLists] = None,
    ) -> None:
        self.queries, self.context_keys, self.followers = queries, context_keys, followers
        self.follower_users = follower_users

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
        self.has_users = facts.get("users") is not None
        super().__init__(
            pools["queries"],
            arrays["context_keys"],
            followers,
            followers.with_counts(arrays["follower_users"]) if self.has_users else None,
        )
        self.words = pools["words"]
        self.asked = arrays["asked"]  # how often each query was asked
        self.asked_next = arrays["asked_next"]  # … but as the first of its session
        self.shown = arrays["shown"]
        self.forms = TextPool.from_arrays(arrays, "forms", damaged)  # not sorted
        self.users = arrays["users"]  # how many people asked each query, where users are known
        self.left_out = arrays["left_out"]
        # None for tables that earlier code wrote: their headers say nothing of users.
        self.typed_words: Optional[TypedWords] = None
        if "users" in facts:
            typed = (arrays[name] for name in TypedWords.types())
            self.typed_words = TypedWords(self.words, *typed)

    def form(self, query: str) -> Optional[str]:
        """How most people typed a query, where that is not how the text has it."""
        number = self.queries.find(query) if len(self.shown) else None
        return None if number is None else self.form_of(number)

    def form_of(self, number: int) -> Optional[str]:
        """The same, of a query by its number."""
        place = int(np.searchsorted(self.shown, np.uint32(number)))
        found = place < len(self.shown) and int(self.shown[place]) == number
        return self.forms[place] if found else None

    @cached_property
    def most_asked(self) -> MostFrequent:
        """Finds the most asked queries of any range of them."""
        return MostFrequent(self.asked)

    @cached_property
    def total_asked(self) -> int:
        """How often anything of the table was asked."""
        return int(self.asked.sum(dtype=np.int64))

    @cached_property
    def total_asked_next(self) -> int:
        return int(self.asked_next.sum(dtype=np.int64))

    def users_of(self, number: int) -> int:
        """How many people asked a query in training; 0 where users are not known."""
        return int(self.users[number]) if self.has_users else 0

    def was_left_out(self, query: str) -> bool:
        """Whether somebody asked it in training, but too few people did."""
        return is_among(query, self.left_out)

    def word_weight(self, word: str) -> float:
        """The more, the fewer people typed it (inverse frequency); 1 for all where nobody knows."""
        typed = self.typed_words
        if typed is None:
            return 1.0
        everybody = self.facts["users"] or self.total_asked
        return 0.1 + log((everybody + 1) / (min(typed.users_of_word(word), everybody) + 1))

    def knows_word(self, word: str, min_users: int = 1) -> bool:
        """Whether so many people typed it, in any query; False in tables of earlier code.

        People are counted as `TypedWords` has them.
        """
        typed = self.typed_words
        return typed is not None and typed.users_of_word(word) >= min_users

    def knows_word_pair(self, word: str, next_word: str, min_users: int = 1) -> bool:
        """Whether so many people typed one right behind the other."""
        typed = self.typed_words
        return typed is not None and typed.users_of_pair(word, next_word) >= min_users

    def save(self, folder: Path) -> None:
        arrays = {name: np.empty(0) for name in _PEOPLE}
        arrays.update(
            {name: getattr(self, name) for name in (*_PLAIN, "shown", "users", "left_out")}
        )
        if self.follower_users is not None:
            arrays["follower_users"] = self.follower_users.counts
        if self.typed_words is not None:
            arrays.update({name: getattr(self.typed_words, name) for name in TypedWords.types()})
        for name in (*_POOLS, *_LISTS, "forms"):
            arrays.update(getattr(self, name).arrays(name))
        save_arrays(folder, KIND, self.facts, arrays, _TYPES)

    @classmethod
    def open(cls, folder: Path, verify: bool = False) -> "NextQueries":
        """At once, whatever its size: what is asked of it is checked then.

        Args:
            verify: read all of it first, and compare it with what was written
        """
        header, arrays = open_arrays(
            Path(folder), KIND, _TYPES, verify, (_SHOWN, _PEOPLE, _LEFT_OUT)
        )
        alike = dict(_ALIKE)
        if "users" in header:
            alike.update(_TYPED_ALIKE)
        if header.get("users") is not None:
            alike.update(_USERS_ALIKE)
        for name, other in alike.items():
            if len(arrays[name]) != len(arrays[other]):
                raise InputError(f"not of the length of {other}", KIND.again, folder)
        return cls(header, arrays, folder)


def context_key(shorter: Optional[int], query: int) -> int:
    """By which the context `query <q> shorter` is found; `shorter` is the number of a context."""
    return (0 if shorter is None else shorter + 1) << 32 | query
