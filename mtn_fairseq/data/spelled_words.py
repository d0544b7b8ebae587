"""Out-of-vocabulary words, kept through binarisation so that a model can copy them.

A binarised file has such a word as `<unk>` followed by its UTF-8 bytes in hexadecimal. The 16
digits are the indices after the dictionary's last. There are only 16, so that a dictionary that
just fits into fairseq's two-byte files still fits. Words of more than MAX_LENGTH bytes are not
spelled out: nobody needs to copy them, and spelling takes a hundred times the memory of a word.

In memory an unknown word has a single index, far above any dictionary. Equal words have equal
indices. The model embeds all of them as `<unk>`, but knows which positions have the same word.
"""

import sys
from typing import Dict, List
from zlib import crc32

import numpy as np
from fairseq.data import Dictionary
from torch import Tensor

from .flat_lines import FlatLines

# Indices must fit into 31 bits: fairseq-generate converts them to int32.
UNKNOWN_WORDS = 1 << 29  # first index of unknown words; dictionary indices are smaller
_LEARNED_WORDS = 1 << 30  # first index of learned words; smaller ones are hashes
DIGITS = 16
MAX_LENGTH = 1_000  # bytes of a word
_MAX_BYTES = 1 << 26  # memory of learned words; a service runs for months
_BYTES_PER_WORD = 200  # for its entries in two tables, without the word itself


class UnknownWords:
    """Indices of out-of-vocabulary words.

    Words that may be shown are learned and numbered consecutively. Words of training data are only
    compared within a session: their index is a hash, so that a billion sessions need no memory.
    """

    def __init__(self) -> None:
        self._index: Dict[str, int] = {}
        self._word: Dict[int, str] = {}
        self._next = _LEARNED_WORDS
        self._bytes = 0  # memory of all learned words

    def learn(self, word: str) -> None:
        if word not in self._index:
            self._index[word] = self._next
            self._word[self._next] = word
            self._next += 1
            self._bytes += sys.getsizeof(word) + _BYTES_PER_WORD

    def forget_if_many(self) -> None:
        """Forget all words at the memory limit; call it between answers, when none is needed."""
        if self._bytes > _MAX_BYTES:
            self._index.clear()
            self._word.clear()
            self._next = _LEARNED_WORDS
            self._bytes = 0

    def index(self, word: str) -> int:
        learned = self._index.get(word)
        if learned is not None:
            return learned
        return UNKNOWN_WORDS + crc32(word.encode("utf-8")) % (_LEARNED_WORDS - UNKNOWN_WORDS)

    def __getitem__(self, index: int) -> str:
        """The learned word; KeyError for any other."""
        return self._word[index]


def spell(word: str, first_digit: int) -> List[int]:
    """The digits of a word as indices; none if the word is too long."""
    letters = word.encode("utf-8")
    if len(letters) > MAX_LENGTH:
        return []
    return [first_digit + int(digit, 16) for digit in letters.hex()]


def spelled_words(line: np.ndarray, first_digit: int) -> Dict[int, str]:
    """The position of each spelled-out `<unk>` in a line, and its word."""
    is_digit = line >= first_digit
    starts = np.flatnonzero(is_digit[1:] & ~is_digit[:-1])  # the `<unk>` before each spelling
    ends = np.flatnonzero(is_digit & ~np.append(is_digit[1:], False)) + 1
    words = {}
    for start, end in zip(starts.tolist(), ends.tolist()):
        digits = "".join(f"{digit:x}" for digit in (line[start + 1 : end] - first_digit).tolist())
        words[start] = bytes.fromhex(digits).decode("utf-8")
    return words


def is_well_spelled(tokens: np.ndarray, first_digit: int, unk: int) -> bool:
    """Whether all digits follow an `<unk>` and spell words in UTF-8."""
    places = np.flatnonzero(tokens >= first_digit)
    if not len(places):
        return True
    starts = np.flatnonzero(np.diff(places, prepend=-2) > 1)  # the first digit of each word
    if (tokens[places[starts] - 1] != unk).any() or (starts % 2).any() or len(places) % 2:
        return False
    digits = (tokens[places] - first_digit).astype(np.uint8)
    letters = digits[::2] << 4 | digits[1::2]
    if (letters[starts // 2] & 0xC0 == 0x80).any():  # a word starts within a character
        return False
    try:
        text = letters.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return text.split() == [text]  # a space would split a word


def one_index_a_word(line: Tensor, first_digit: int, words: UnknownWords) -> Tensor:
    """A line of a file -> a line for a model that copies, with one index per word."""
    is_digit = line.ge(first_digit)
    if not bool(is_digit.any()):
        return line
    line = line.clone()
    for place, word in spelled_words(line.numpy(), first_digit).items():
        line[place] = words.index(word)
    return line[~is_digit]


def without_letters(lines: FlatLines, first_digit: int) -> FlatLines:
    """Many lines of a file with one index per word: `<unk>` for unknown words."""
    words = lines.tokens < first_digit
    if words.all():
        return lines
    line_of = np.repeat(np.arange(len(lines.sizes)), lines.sizes)
    return FlatLines(lines.tokens[words], np.bincount(line_of[words], minlength=len(lines.sizes)))


def as_read_by_embeddings(tokens: Tensor, dictionary: Dictionary) -> Tensor:
    """Replace words without an embedding (unknown or copied) by `<unk>`."""
    return tokens.masked_fill(tokens.ge(len(dictionary)), dictionary.unk())
