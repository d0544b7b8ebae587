"""The typed prefix of a next query, and the words that continue it."""

from typing import List, NamedTuple, Optional, Tuple

from mtn_preprocess.text.word_pieces import WORD_START

from .session_source import Source
from .vocabulary import UNKNOWN, Vocabulary


class Start(NamedTuple):
    """The start of a search."""

    columns: Tuple[int, ...] = ()  # the finished words
    rest: str = ""  # the characters of the open word


def typed_start(
    prefix: str, source: Source, vocabulary: Vocabulary, max_words: int
) -> Optional[Start]:
    """The start for a prefix; None if the model cannot generate the finished words.

    Args:
        prefix: as in prepared text; after a space, a new word begins
        max_words: maximum number of finished words or pieces
    """
    *whole, open_word = prefix.split(" ")
    if "" in whole or prefix.split() != [*whole, *([open_word] if open_word else [])]:
        return None  # prepared text has no such spaces
    columns = source.columns_of(vocabulary.cut(" ".join(whole)), vocabulary)
    if UNKNOWN in columns or len(columns) > max_words:
        return None
    if vocabulary.pieces is not None and prefix:
        open_word = WORD_START + open_word
    return Start(tuple(columns), open_word)


class Continuations(NamedTuple):
    """The words that can follow if the characters `rest` must still be generated.

    A word must start with the whole rest; a word piece may also be a start of it.
    """

    source: Source
    vocabulary: Vocabulary

    def columns(self, rest: str) -> List[int]:
        vocabulary, source = self.vocabulary, self.source
        found = vocabulary.starting_with(rest)
        if vocabulary.pieces is not None:
            starts = (rest[:end] for end in range(1, len(rest)))
            found += [index for start in starts for index in vocabulary.shown_as(start)]
        known = len(vocabulary)
        return found + [
            known + slot
            for slot, word in enumerate(source.unknown_words)
            if known + slot in source.columns and self._fits(word, rest)
        ]

    def _fits(self, word: str, rest: str) -> bool:
        shown = self.vocabulary.shown(word)
        return shown.startswith(rest) or (
            self.vocabulary.pieces is not None and rest.startswith(shown)
        )

    def rest_after(self, rest: str, column: int) -> str:
        (word,) = self.source.words_of([column], self.vocabulary)
        return rest[len(self.vocabulary.shown(word)) :]
