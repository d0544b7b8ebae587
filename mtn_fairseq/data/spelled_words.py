"""Words outside the dictionary, kept through binarisation so that a model can copy them.

In a binarised file such a word is `<unk>` and then its letters: the hexadecimal digits of its
UTF-8, as the 16 indices behind the dictionary's own (no more: a dictionary that just fits into the
two bytes of fairseq's smallest files still does). Words of more than MAX_LENGTH bytes have no
letters: no query needs to be copied at such length, and spelling takes a hundred times the memory
of a word.

In memory an unknown word is one index again, far above any dictionary. Equal words have equal
indices; the model takes all of them for `<unk>`, except that it can tell which places of a session
have the same word.
"""

import sys
from typing import Dict, List
from zlib import crc32

import numpy as np
from fairseq.data import Dictionary
from torch import Tensor

from .flat_lines import FlatLines

# Indices fit into 31 bits: fairseq-generate makes them so.
UNKNOWN_WORDS = 1 << 29  # indices of unknown words begin here; of dictionaries, end before
_TO_BE_SHOWN = 1 << 30
DIGITS = 16
MAX_LENGTH = 1_000  # bytes of a word
_MAX_BYTES = 1 << 26  # of words that can be shown; a service answers for months
_PER_WORD = 200  # bytes that two tables take for each, beside the word itself


class UnknownWords:
    """The index of each word that no dictionary has.

    Words that may have to be shown are learned, and numbered one after the other. All others, those
    of training data, are only compared with each other within a session: their index is a hash, so
    that a billion sessions need no memory.
    """

    def __init__(self) -> None:
        self._index: Dict[str, int] = {}
        self._word: Dict[int, str] = {}
        self._next = _TO_BE_SHOWN
        self._bytes = 0  # that all of these take

    def learn(self, word: str) -> None:
        if word not in self._index:
            self._index[word] = self._next
            self._word[self._next] = word
            self._next += 1
            self._bytes += sys.getsizeof(word) + _PER_WORD

    def forget_if_many(self) -> None:
        """All of them; called between answers, when none is still to be shown."""
        if self._bytes > _MAX_BYTES:
            self._index.clear()
            self._word.clear()
            self._next = _TO_BE_SHOWN
            self._bytes = 0

    def index(self, word: str) -> int:
        learned = self._index.get(word)
        if learned is not None:
            return learned
        return UNKNOWN_WORDS + crc32(word.encode("utf-8")) % (_TO_BE_SHOWN - UNKNOWN_WORDS)

    def __getitem__(self, index: int) -> str:
        """The learned word; KeyError for any other."""
        return self._word[index]


def spell(word: str, first_digit: int) -> List[int]:
    """The letters of a word as indices, none where it is too long."""
    letters = word.encode("utf-8")
    if len(letters) > MAX_LENGTH:
        return []
    return [first_digit + int(digit, 16) for digit in letters.hex()]


def spelled_words(line: np.ndarray, first_digit: int) -> Dict[int, str]:
    """Where in a line the `<unk>` stand that are spelled out, and what they are."""
    is_digit = line >= first_digit
    starts = np.flatnonzero(is_digit[1:] & ~is_digit[:-1])  # of the `<unk>` before
    ends = np.flatnonzero(is_digit & ~np.append(is_digit[1:], False)) + 1
    words = {}
    for start, end in zip(starts.tolist(), ends.tolist()):
        digits = "".join(f"{digit:x}" for digit in (line[start + 1 : end] - first_digit).tolist())
        words[start] = bytes.fromhex(digits).decode("utf-8")
    return words


def is_well_spelled(tokens: np.ndarray, first_digit: int, unk: int) -> bool:
    """Whether all digits stand behind an `<unk>` and are words in UTF-8."""
    places = np.flatnonzero(tokens >= first_digit)
    if not len(places):
        return True
    starts = np.flatnonzero(np.diff(places, prepend=-2) > 1)  # of words, among the digits
    if (tokens[places[starts] - 1] != unk).any() or (starts % 2).any() or len(places) % 2:
        return False
    digits = (tokens[places] - first_digit).astype(np.uint8)
    letters = digits[::2] << 4 | digits[1::2]
    if (letters[starts // 2] & 0xC0 == 0x80).any():  # the middle of a character
        return False
    try:
        text = letters.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return text.split() == [text]  # no space in it, which would cut a word


def one_index_a_word(line: Tensor, first_digit: int, words: UnknownWords) -> Tensor:
    """A line of a file -> a line for a model that copies."""
    is_digit = line.ge(first_digit)
    if not bool(is_digit.any()):
        return line
    line = line.clone()
    for place, word in spelled_words(line.numpy(), first_digit).items():
        line[place] = words.index(word)
    return line[~is_digit]


def without_letters(lines: FlatLines, first_digit: int) -> FlatLines:
    """Many lines of a file, each word one index: `<unk>` for all unknown ones."""
    words = lines.tokens < first_digit
    if words.all():
        return lines
    line_of = np.repeat(np.arange(len(lines.sizes)), lines.sizes)
    return FlatLines(lines.tokens[words], np.bincount(line_of[words], minlength=len(lines.sizes)))


def as_read_by_embeddings(tokens: Tensor, dictionary: Dictionary) -> Tensor:
    """Unknown words, and words that were copied into a hypothesis, are `<unk>` to them."""
    return tokens.masked_fill(tokens.ge(len(dictionary)), dictionary.unk())
