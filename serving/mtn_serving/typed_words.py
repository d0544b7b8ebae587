"""How many people typed each word and each pair of neighbouring words.

All training queries count, including those that too few people asked to be in the table: a query
may come from one person, but its words from many. These counts judge text that nobody asked.

The edge of a query counts as a word, before its first and after its last word. So the pairs also
tell how many people started or ended a query with a word: hardly anybody ends one with `of`.
"""

from array import array
from typing import Dict, FrozenSet, Iterable, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .sorted_values import place_of
from .text_pool import TextPool

EDGE = ""  # sorts before all words, so its number is 0
MIN_TYPED = 20  # people who typed a word, to tell where it stands
SELDOM = 0.05  # the share of them who ever put it at an edge

_LOW = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(32)


class TypedWords(NamedTuple):
    """Numbers of people; if people are not known, how often the word or pair was typed."""

    words: TextPool  # may have further texts, with a count of 0
    word_users: np.ndarray  # as long as `words`
    word_pairs: np.ndarray  # (number of a word) << 32 | number of the next word; sorted
    word_pair_users: np.ndarray  # as long as `word_pairs`

    @staticmethod
    def types() -> Dict[str, str]:
        """The types of the arrays to save: all fields but `words`."""
        return {"word_users": "<u4", "word_pairs": "<u8", "word_pair_users": "<u4"}

    def users_of_word(self, word: str) -> int:
        number = self.words.find(word)
        return 0 if number is None else int(self.word_users[number])

    def users_of_pair(self, word: str, next_word: str) -> int:
        numbers = self.words.find(word), self.words.find(next_word)
        if numbers[0] is None or numbers[1] is None:
            return 0
        place = place_of(self.word_pairs, numbers[0] << 32 | numbers[1])
        return 0 if place is None else int(self.word_pair_users[place])

    def seldom_at_edge(self, last: bool, min_users: int) -> FrozenSet[str]:
        """Words that hardly anybody starts, or ends, a query with; none in tables without edges.

        Args:
            last: whether the end of a query is meant
            min_users: pairs that fewer people typed are not in the table
        """
        if self.users_of_word(EDGE) == 0 or not len(self.word_pairs):
            return frozenset()
        often = np.flatnonzero(self.word_users >= MIN_TYPED)
        words = often[often > 0].astype(np.uint64)  # without the edge itself
        pairs = words << _HIGH if last else words  # with the edge, whose number is 0
        places = np.minimum(np.searchsorted(self.word_pairs, pairs), len(self.word_pairs) - 1)
        is_known = self.word_pairs[places] == pairs
        users = np.where(is_known, self.word_pair_users[places], max(min_users - 1, 0))
        seldom = users < SELDOM * self.word_users[words.astype(np.int64)]
        return frozenset(self.words[number] for number in words[seldom].tolist())

    def with_texts(self, texts: Iterable[str]) -> "TypedWords":
        """The same with more texts in `words`, each with a count of 0."""
        old = list(self.words)
        pool = TextPool.of([*old, *texts])
        place = {text: number for number, text in enumerate(pool)}
        new = np.array([place[word] for word in old], dtype=np.uint64)
        word_users = np.zeros(len(pool), dtype=np.uint32)
        word_users[new.astype(np.int64)] = self.word_users
        left, right = (self.word_pairs >> _HIGH).astype(np.int64), self.word_pairs & _LOW
        # Both numberings follow the order of the texts, so the pairs stay sorted.
        pairs = new[left] << _HIGH | new[right.astype(np.int64)]
        return TypedWords(pool, word_users, pairs, self.word_pair_users)


def count_typed_words(
    queries: Sequence[str], asked: np.ndarray, askers: Optional[np.ndarray], min_users: int
) -> TypedWords:
    """Count the words and pairs that at least `min_users` people typed.

    Args:
        queries: distinct
        asked: how often each was asked
        askers: (number of a query) << 32 | number of a user, sorted, distinct; None if users are
            not known: words and pairs must then be typed `min_users` times
    """
    words = sorted({word for query in queries for word in (EDGE, *query.split())})
    place = {word: number for number, word in enumerate(words)}
    numbers, lengths = array("I"), array("I")
    for query in queries:
        before = len(numbers)
        numbers.extend(place[word] for word in (EDGE, *query.split(), EDGE))
        lengths.append(len(numbers) - before)
    typed = np.asarray(numbers).astype(np.uint64)
    of_query = np.repeat(np.arange(len(lengths), dtype=np.uint64), np.asarray(lengths))
    users = _people(typed, of_query, asked, askers)[1]  # of all words, by their numbers
    neighbours = of_query[1:] == of_query[:-1]
    all_pairs = (typed[:-1] << _HIGH | typed[1:])[neighbours]
    pairs, pair_users = _people(all_pairs, of_query[1:][neighbours], asked, askers)
    known, known_pairs = users >= min_users, pair_users >= min_users
    new = np.cumsum(known).astype(np.uint64) - np.uint64(1)
    pairs, pair_users = pairs[known_pairs], pair_users[known_pairs]
    left, right = (half.astype(np.int64) for half in (pairs >> _HIGH, pairs & _LOW))
    return TypedWords(
        TextPool.in_order(word for word, keep in zip(words, known.tolist()) if keep),
        users[known].astype(np.uint32),
        new[left] << _HIGH | new[right],  # all known words: whoever typed a pair typed both
        pair_users.astype(np.uint32),
    )


def _people(
    items: np.ndarray, of_query: np.ndarray, asked: np.ndarray, askers: Optional[np.ndarray]
) -> Tuple[np.ndarray, np.ndarray]:
    """-> (distinct items, sorted; how many people typed each); `items[i]` is in `of_query[i]`"""
    found, numbers = np.unique(items, return_inverse=True)
    # Each item counts once per query, even if it occurs there more often.
    events = np.unique(of_query << _HIGH | numbers.astype(np.uint64))
    query, number = (events >> _HIGH).astype(np.int64), events & _LOW
    if askers is None:
        times = np.bincount(number.astype(np.int64), asked[query], len(found))
        return found, times.astype(np.int64)
    ends = np.cumsum(np.bincount((askers >> _HIGH).astype(np.int64), minlength=len(asked)))
    counts = np.diff(ends, prepend=0)[query]
    # The people of each query are contiguous: for event i, from `starts[i]` on.
    starts = ends[query] - counts
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    user = askers[np.repeat(starts, counts) + offsets] & _LOW
    distinct = np.unique(np.repeat(number, counts) << _HIGH | user) >> _HIGH
    return found, np.bincount(distinct.astype(np.int64), minlength=len(found))
