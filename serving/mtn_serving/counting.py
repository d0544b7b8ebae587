"""Count the table of next queries in one pass over the training pairs.

Only numbers are kept for each pair; a text is kept once, however often it was asked.
"""

from array import array
from itertools import repeat, zip_longest
from typing import Dict, Iterable, List, Mapping, Optional, Tuple

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import Pair
from mtn_preprocess.text.text_settings import TextSettings

from .fingerprints import fingerprints
from .next_queries import Followers, NextQueries, context_key
from .ranked_lists import RankedLists
from .text_pool import TextPool
from .typed_words import count_typed_words
from .word_changes import change_between

MAX_CONTEXT = 3  # queries
MAX_QUERIES_OF_WORD = 100
MIN_CHANGES = 2  # pairs of queries that a change was seen in; most are seen in one only

_NONE = -1


def count_next_queries(
    pairs: Iterable[Pair],
    users: Optional[Iterable[int]] = None,
    min_users: int = 1,
    longest: int = MAX_CONTEXT,
    text: Optional[TextSettings] = None,
    forms: Optional[Mapping[str, str]] = None,
) -> NextQueries:
    """Each pair counts once for each context that *ends* its prefix, as in `mtn-yardstick`.

    Args:
        pairs: of the training split, in words
        users: who asked, one number per pair
        min_users: queries that fewer people asked are not in the table, in no role; nor are words
            and word pairs that fewer people typed
        longest: most queries of a context
        text: with which the text was prepared, if known
        forms: how queries are shown, where that is not how the text has them
    """
    tally = _Tally(longest, users is not None)
    for pair, user in zip_longest(pairs, repeat(None, 0) if users is None else users):
        if pair is None or (user is None and users is not None):
            raise InputError(
                f"users and pairs are not of the same number: one of them ends after {tally.pairs}",
                "line n of all files must belong together; prepare the text again",
            )
        tally.add(pair, user)
    return tally.table(min_users, text, forms or {})


def count_followers(pairs: Iterable[Pair], longest: int) -> Followers:
    """The part of the table that baselines need."""
    tally = _Tally(longest)
    for pair in pairs:
        tally.add(pair)
    return tally.followers(np.arange(len(tally.numbers)))[0]


class _Tally:
    """Queries and contexts are numbered as they come in."""

    def __init__(self, longest: int, has_users: bool = False) -> None:
        self.longest, self.has_users = longest, has_users
        self.pairs = 0
        self.numbers: Dict[str, int] = {}  # of queries
        self.contexts: Dict[int, int] = {}  # numbers by `context_key`
        self.lengths = array("I")  # of contexts
        self.followed = array("I")  # an event: this context …
        self.following = array("I")  # … and this query …
        self.by_user = array("I")  # … which this user asked, where that is known
        self.opening = array("I")  # first queries of sessions
        self.askers = array("Q")  # a query and who asked it

    def add(self, pair: Pair, user: Optional[int] = None) -> None:
        session = pair.queries()
        query = self._number(pair.next_query)
        context = None
        for length, earlier in enumerate(reversed(session[-self.longest :]), 1):
            context = self._context(context, self._number(earlier), length)
            self.followed.append(context)
            self.following.append(query)
            if user is not None:
                self.by_user.append(user)
        self.pairs += 1
        asked = [query]
        if len(session) == 1:  # else it was the next query of a pair before
            self.opening.append(self._number(session[0]))
            asked.append(self.opening[-1])
        if user is not None:
            self.askers.extend(each << 32 | user for each in asked)

    def _number(self, query: str) -> int:
        return self.numbers.setdefault(query, len(self.numbers))

    def _context(self, shorter: Optional[int], query: int, length: int) -> int:
        number = self.contexts.setdefault(context_key(shorter, query), len(self.contexts))
        if number == len(self.lengths):
            self.lengths.append(length)
        return number

    def followers(self, kept: np.ndarray) -> Tuple[Followers, np.ndarray]:
        """Of the kept queries, and the new number of each: their order is that of the texts."""
        texts = list(self.numbers)
        order = sorted(kept.tolist(), key=texts.__getitem__)
        new = np.full(len(texts), _NONE, dtype=np.int64)
        new[order] = np.arange(len(order))
        followed, following = np.asarray(self.followed), new[np.asarray(self.following)]
        keys, renumbered = self._renumber_contexts(new, followed[following != _NONE])
        both = (renumbered[followed] != _NONE) & (following != _NONE)
        contexts, queries = renumbered[followed[both]], following[both]
        lists = RankedLists.count(contexts, queries, len(keys))
        users = None
        if self.has_users:
            users = _follower_users(lists, contexts, queries, np.asarray(self.by_user)[both])
        return Followers(TextPool.of(texts[old] for old in order), keys, lists, users), new

    def table(
        self, min_users: int, text: Optional[TextSettings], forms: Mapping[str, str]
    ) -> NextQueries:
        askers = np.unique(np.asarray(self.askers))
        users = _frequencies(askers >> np.uint64(32), len(self.numbers))
        counted, new = self.followers(np.flatnonzero((users >= min_users) | (min_users <= 1)))
        pool, keys, followers = counted.queries, counted.context_keys, counted.followers
        single = np.asarray(self.lengths)[np.asarray(self.followed)] == 1
        asked_next = _frequencies(np.asarray(self.following)[single], len(self.numbers))
        asked = asked_next + _frequencies(np.asarray(self.opening), len(self.numbers))
        popularity = _renumbered(asked, new)
        changes = _changes(pool, keys, followers)
        typed = count_typed_words(
            list(self.numbers), asked, askers if self.has_users else None, min_users
        ).with_texts(
            [word for query in pool for word in query.split()]
            + [text for change in changes for text in change]
        )
        shown = [number for number, query in enumerate(pool) if query in forms]
        facts = {
            "text": text and text._asdict(),
            "pairs": self.pairs,
            "queries": len(pool),
            "contexts": len(keys),
            "shown_in_another_form": len(shown),
            "longest_context": self.longest,
            "users": len(np.unique(np.asarray(self.by_user))) if self.has_users else None,
            "min_users": min_users,
            "queries_of_too_few_users": len(self.numbers) - len(pool),
        }
        arrays = {
            "context_keys": keys,
            "asked": popularity,
            "asked_next": _renumbered(asked_next, new),
            **_people(counted, _renumbered(users, new)),
            "left_out": fingerprints(
                query for query, number in zip(self.numbers, new.tolist()) if number == _NONE
            ),
            **{name: getattr(typed, name) for name in typed.types()},
            "shown": np.asarray(shown, dtype=np.uint32),
            **TextPool.in_order(forms[pool[number]] for number in shown).arrays("forms"),
            **pool.arrays("queries"),
            **typed.words.arrays("words"),
            **followers.arrays("followers"),
            **_queries_of_word(pool, typed.words, popularity).arrays("queries_of_word"),
            **_rank_changes(changes, typed.words).arrays("changes"),
        }
        return NextQueries(facts, arrays)

    def _renumber_contexts(
        self, queries: np.ndarray, followed: np.ndarray
    ) -> Tuple[np.ndarray, np.ndarray]:
        """(sorted keys, new number of each old one): shorter contexts first, then by their keys.

        A key holds the number of a shorter context, so each length is numbered before the next;
        and longer contexts then have larger keys, so all of them are in one sorted array.
        """
        old_keys = np.fromiter(self.contexts, np.uint64, len(self.contexts))
        shorter = (old_keys >> np.uint64(32)).astype(np.int64) - 1
        query = queries[(old_keys & np.uint64(0xFFFFFFFF)).astype(np.int64)]
        useful = np.zeros(len(old_keys), dtype=bool)
        useful[followed] = True
        useful &= query != _NONE
        lengths = np.asarray(self.lengths)
        new = np.full(len(old_keys), _NONE, dtype=np.int64)
        keys: List[np.ndarray] = [np.empty(0, np.uint64)]
        for length in range(1, int(lengths.max(initial=0)) + 1):
            here = np.flatnonzero(useful & (lengths == length))
            above = np.full(len(here), _NONE) if length == 1 else new[shorter[here]]
            if length > 1:
                here, above = here[above != _NONE], above[above != _NONE]
            found = (above + 1) << 32 | query[here]
            order = np.argsort(found)
            new[here[order]] = sum(map(len, keys)) + np.arange(len(here))
            keys.append(found[order].astype(np.uint64))
        return np.concatenate(keys), new


def _frequencies(numbers: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(numbers.astype(np.int64), minlength=size).astype(np.uint32)


def _renumbered(values: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Of the kept queries, in the order of their new numbers."""
    kept = new != _NONE
    return values[kept][np.argsort(new[kept])]


def _people(counted: Followers, users: np.ndarray) -> Dict[str, np.ndarray]:
    """Empty where users are not known."""
    if counted.follower_users is None:
        return {"users": users[:0], "follower_users": users[:0]}
    return {"users": users, "follower_users": counted.follower_users.counts}


def _follower_users(
    lists: RankedLists, contexts: np.ndarray, queries: np.ndarray, users: np.ndarray
) -> RankedLists:
    """The same lists, with people in the place of counts; event i is of `users[i]`."""
    high = np.uint64(32)
    packed = contexts.astype(np.uint64) << high | queries.astype(np.uint64)
    events, number = np.unique(packed, return_inverse=True)
    distinct = np.unique(number.astype(np.uint64) << high | users.astype(np.uint64)) >> high
    people = _frequencies(distinct, len(events))
    return lists.with_counts(people[np.searchsorted(events, lists.keys() << high | lists.items)])


def _changes(queries: TextPool, keys: np.ndarray, followers: RankedLists) -> List[Tuple[str, str]]:
    """From the last query to the next: one for each two queries, however often they were asked."""
    changes = []
    for context in range(int(np.searchsorted(keys, np.uint64(1 << 32)))):  # of one query
        before = queries[int(keys[context])].split()
        for after in followers[context][0].tolist():
            change = change_between(before, queries[after].split())
            if change is not None:
                changes.append((change.removed, change.added))
    return changes


def _rank_changes(changes: List[Tuple[str, str]], words: TextPool) -> RankedLists:
    place = {text: number for number, text in enumerate(words)}
    removed = [place[change[0]] for change in changes]
    added = [place[change[1]] for change in changes]
    packed = (np.asarray(removed, dtype=np.uint64) << np.uint64(32)) | np.asarray(added, np.uint64)
    events, counts = np.unique(packed, return_counts=True)
    often = counts >= MIN_CHANGES
    events, counts = events[often], counts[often]
    halves = events >> np.uint64(32), events & np.uint64(0xFFFFFFFF)
    return RankedLists.rank(*halves, counts, len(words))


def _queries_of_word(queries: TextPool, words: TextPool, asked: np.ndarray) -> RankedLists:
    """For each word the queries that have it, the most asked ones first."""
    place = {text: number for number, text in enumerate(words)}
    keys, items = array("I"), array("I")
    for number, query in enumerate(queries):
        for word in set(query.split()):
            keys.append(place[word])
            items.append(number)
    numbers = np.asarray(items)
    return RankedLists.rank(
        np.asarray(keys), numbers, asked[numbers], len(words), MAX_QUERIES_OF_WORD
    )
