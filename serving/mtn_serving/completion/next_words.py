"""Words that people typed right after a word and that start with the open word."""

from typing import List

import numpy as np

from ..most_frequent import largest_places
from ..next_queries import NextQueries
from ..typed_words import EDGE


def next_words(table: NextQueries, word: str, start: str, most: int) -> List[str]:
    """Words after `word` that start with `start`, those that most people typed first."""
    typed, number = table.typed_words, table.words.find(word)
    if typed is None or number is None:
        return []
    following = table.words.starting_with(start)
    first = following.start + (start == EDGE)  # the edge, number 0, is no word
    # Pairs are sorted by both words, and words by their letters, so the pairs are one range.
    keys = np.array([number << 32 | first, number << 32 | following.stop], np.uint64)
    low, high = np.searchsorted(typed.word_pairs, keys).tolist()
    places = largest_places(typed.word_pair_users[low:high], most)
    numbers = typed.word_pairs[low + places] & np.uint64(0xFFFFFFFF)
    return [table.words[number] for number in numbers.tolist()]
