"""The table of next queries, counted on the training split and opened by memory map.

A context is the last query of a session, its last two, … Contexts are numbered: the key of
`b <q> c` is the number of `c` and the query `b`. So a key is exact, without collisions. The table
also has how often each query was asked and by how many people, the queries that contain each word,
how people change a query, and which words they typed side by side.
"""

from functools import cached_property, partial
from math import log
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import settings_of

from .array_folder import file_of, open_arrays, save_arrays
from .fingerprints import is_among
from .kept_folder import HEADER, Kind
from .most_frequent import MostFrequent
from .ranked_lists import RankedLists
from .sorted_values import place_of
from .text_pool import TextPool
from .typed_words import TypedWords

_POOLS = ("queries", "words")
_LISTS = {"followers": "queries", "queries_of_word": "queries", "changes": "words"}  # items' pools
_PLAIN = {"context_keys": "<u8", "asked": "<u4", "asked_next": "<u4"}
# Queries that are shown in another form: their sorted numbers, and the forms in the same order.
_SHOWN = {"shown": "<u4", **TextPool.types("forms")}
# How many people asked each query, and each after its context: empty if people are not known.
_USERS = {"users": "<u4", "follower_users": "<u4"}
_PEOPLE = {**_USERS, **TypedWords.types()}
# Queries that too few people asked, as hashes: recognisable, not readable.
_LEFT_OUT = {"left_out": "<u8"}
# Numbers of misspelt queries, sorted.
_MISSPELT = {"misspelt": "<u4"}
_TYPES = {**_PLAIN, **_SHOWN, **_PEOPLE, **_LEFT_OUT, **_MISSPELT}
for _name in _POOLS:
    _TYPES.update(TextPool.types(_name))
for _name in _LISTS:
    _TYPES.update(RankedLists.types(_name))
# Arrays that must have the same length.
_SAME_LENGTH = {
    "asked": "queries_ends",
    "asked_next": "queries_ends",
    "followers_ends": "context_keys",
    "queries_of_word_ends": "words_ends",
    "changes_ends": "words_ends",
    **{f"{name}_counts": name for name in _LISTS},
    "shown": "forms_ends",
}
_SAME_LENGTH_TYPED = {"word_users": "words_ends", "word_pair_users": "word_pairs"}
_SAME_LENGTH_USERS = {"users": "queries_ends", "follower_users": "followers"}

KIND = Kind("next queries", 2, "mtn-count-next", frozenset(map(file_of, _TYPES)))


class Followers:
    """Which queries followed the last query, the last two, …, and how often.

    Args:
        queries: numbered in code point order
        context_keys: sorted; see `context_key`
        followers: for each context, numbers of queries
        follower_users: the same lists with numbers of people instead of counts, if users are known
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
        """Numbers of the contexts: the last query, the last two, … as far as seen in training."""
        found: List[int] = []
        for query in reversed(session):
            number = self.queries.find(query)
            context = None if number is None else self._context(found, number)
            if context is None:
                break  # no longer context was seen either
            found.append(context)
        return found

    def _context(self, shorter: Sequence[int], query: int) -> Optional[int]:
        return place_of(self.context_keys, context_key(shorter[-1] if shorter else None, query))

    def suggest(self, session: Sequence[str], most: int) -> List[Tuple[str, float]]:
        """Next queries with relative frequencies: by the longest context, then by shorter ones.

        Each frequency is for the longest context that the query followed. So frequencies may rise
        where a shorter context takes over: the order counts, not the frequency.
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

    Queries, and words or short word sequences, are numbered in code point order.

    Args:
        facts: how the table was made
        arrays: all arrays of the table
        folder: of the table, for messages
    """

    def __init__(
        self, facts: Dict[str, Any], arrays: Dict[str, np.ndarray], folder: Optional[Path] = None
    ) -> None:
        self.facts = facts
        self.header = Path(folder or "") / HEADER
        self.text_settings = settings_of(facts.get("text"), self.header)  # None if not recorded
        self.damaged = damaged = partial(InputError, "damaged", KIND.again, folder)
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
        self.asked_next = arrays["asked_next"]  # how often, except as the first of its session
        self.shown = arrays["shown"]
        self.forms = TextPool.from_arrays(arrays, "forms", damaged)  # not sorted
        self.users = arrays["users"]  # how many people asked each query, if users are known
        self.left_out = arrays["left_out"]
        self._misspelt = arrays["misspelt"]
        # None for tables of earlier versions: their headers do not mention users.
        self.typed_words: Optional[TypedWords] = None
        if "users" in facts:
            typed = (arrays[name] for name in TypedWords.types())
            self.typed_words = TypedWords(self.words, *typed)

    def form(self, query: str) -> Optional[str]:
        """How most people typed a query, if not as in the text."""
        number = self.queries.find(query) if len(self.shown) else None
        return None if number is None else self.form_of(number)

    def form_of(self, number: int) -> Optional[str]:
        """The same as `form`, by the number of the query."""
        place = place_of(self.shown, number)
        return None if place is None else self.forms[place]

    @cached_property
    def most_asked(self) -> MostFrequent:
        """Finds the most frequent queries of a range."""
        return MostFrequent(self.asked)

    @cached_property
    def misspelt(self) -> FrozenSet[str]:
        """Queries that people correct (see `misspellings`); none in tables of earlier versions."""
        numbers = self._misspelt.tolist()
        if any(number >= len(self.queries) for number in numbers):
            raise self.damaged()
        return frozenset(self.queries[number] for number in numbers)

    @cached_property
    def words_of_misspelt(self) -> FrozenSet[str]:
        return frozenset(word for query in self.misspelt for word in query.split())

    @cached_property
    def seldom_first(self) -> FrozenSet[str]:
        """Words that hardly anybody starts a query with, where that is known."""
        return self._seldom_at_edge(last=False)

    @cached_property
    def seldom_last(self) -> FrozenSet[str]:
        """Words that hardly anybody ends a query with."""
        return self._seldom_at_edge(last=True)

    def _seldom_at_edge(self, last: bool) -> FrozenSet[str]:
        if self.typed_words is None:
            return frozenset()
        return self.typed_words.seldom_at_edge(last, self.facts.get("min_users", 1))

    @cached_property
    def total_asked(self) -> int:
        """The total count of all queries of the table."""
        return int(self.asked.sum(dtype=np.int64))

    @cached_property
    def total_asked_next(self) -> int:
        return int(self.asked_next.sum(dtype=np.int64))

    def users_of(self, number: int) -> int:
        """How many people asked a query in training; 0 if users are not known."""
        return int(self.users[number]) if self.has_users else 0

    def was_left_out(self, query: str) -> bool:
        """Whether a query was asked in training, but by too few people."""
        return is_among(query, self.left_out)

    def word_weight(self, word: str) -> float:
        """Inverse frequency: higher if fewer people typed the word; always 1 if not known."""
        typed = self.typed_words
        if typed is None:
            return 1.0
        everybody = self.facts["users"] or self.total_asked
        return 0.1 + log((everybody + 1) / (min(typed.users_of_word(word), everybody) + 1))

    def knows_word(self, word: str, min_users: int = 1) -> bool:
        """Whether `min_users` people typed a word in any query; False for tables of old versions.

        People are counted as in `TypedWords`.
        """
        typed = self.typed_words
        return typed is not None and typed.users_of_word(word) >= min_users

    def knows_word_pair(self, word: str, next_word: str, min_users: int = 1) -> bool:
        """Whether `min_users` people typed one word right after the other."""
        typed = self.typed_words
        return typed is not None and typed.users_of_pair(word, next_word) >= min_users

    def save(self, folder: Path) -> None:
        arrays = {name: np.empty(0) for name in _PEOPLE}
        arrays.update(
            {name: getattr(self, name) for name in (*_PLAIN, "shown", "users", "left_out")}
        )
        arrays["misspelt"] = self._misspelt
        if self.follower_users is not None:
            arrays["follower_users"] = self.follower_users.counts
        if self.typed_words is not None:
            arrays.update({name: getattr(self.typed_words, name) for name in TypedWords.types()})
        for name in (*_POOLS, *_LISTS, "forms"):
            arrays.update(getattr(self, name).arrays(name))
        save_arrays(folder, KIND, self.facts, arrays, _TYPES)

    @classmethod
    def open(cls, folder: Path, verify: bool = False) -> "NextQueries":
        """Open a table at once, whatever its size; each lookup checks what it reads.

        Args:
            verify: read the whole table first and compare its checksums
        """
        header, arrays = open_arrays(
            Path(folder), KIND, _TYPES, verify, (_SHOWN, _PEOPLE, _LEFT_OUT, _MISSPELT)
        )
        same_length = dict(_SAME_LENGTH)
        if "users" in header:
            same_length.update(_SAME_LENGTH_TYPED)
        if header.get("users") is not None:
            same_length.update(_SAME_LENGTH_USERS)
        for name, other in same_length.items():
            if len(arrays[name]) != len(arrays[other]):
                raise InputError(f"not of the length of {other}", KIND.again, folder)
        return cls(header, arrays, folder)


def context_key(shorter: Optional[int], query: int) -> int:
    """The key of the context `query <q> shorter`; `shorter` is the number of a context."""
    return (0 if shorter is None else shorter + 1) << 32 | query
