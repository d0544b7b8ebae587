"""Words that people typed right behind a word, as far as they start with what is being typed."""

from typing import List

import numpy as np

from ..most_frequent import largest_places
from ..next_queries import NextQueries


def next_words(table: NextQueries, word: str, start: str, most: int) -> List[str]:
    """Those that most people typed, first."""
    typed, number = table.typed_words, table.words.find(word)
    if typed is None or number is None:
        return []
    following = table.words.starting_with(start)
    # Pairs are sorted by their two words, and words by their letters: one range has them all.
    keys = np.array([number << 32 | following.start, number << 32 | following.stop], np.uint64)
    low, high = np.searchsorted(typed.word_pairs, keys).tolist()
    places = largest_places(typed.word_pair_users[low:high], most)
    numbers = typed.word_pairs[low + places] & np.uint64(0xFFFFFFFF)
    return [table.words[number] for number in numbers.tolist()]
