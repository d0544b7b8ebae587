"""What was typed so far of a next query, and the words that continue it."""

from typing import List, NamedTuple, Optional, Tuple

from mtn_preprocess.text.word_pieces import WORD_START

from .session_source import Source
from .vocabulary import UNKNOWN, Vocabulary


class Start(NamedTuple):
    """Where a search begins."""

    columns: Tuple[int, ...] = ()  # whole words, which are given
    rest: str = ""  # characters that the text goes on with


def typed_start(prefix: str, source: Source, vocabulary: Vocabulary) -> Optional[Start]:
    """None where the model cannot say the whole words before the cursor.

    Args:
        prefix: as prepared text has it; behind a space a new word begins
    """
    *whole, open_word = prefix.split(" ")
    if "" in whole or prefix.split() != [*whole, *([open_word] if open_word else [])]:
        return None  # spaces that no prepared text has
    columns = source.columns_of(vocabulary.cut(" ".join(whole)), vocabulary)
    if UNKNOWN in columns:
        return None
    if vocabulary.pieces is not None and prefix:
        open_word = WORD_START + open_word
    return Start(tuple(columns), open_word)


class Continuations(NamedTuple):
    """The words that can follow where `rest` is still to be said.

    In words, one word has to begin with all of it; pieces may also be a part of it each.
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

    def rest_behind(self, rest: str, column: int) -> str:
        (word,) = self.source.words_of([column], self.vocabulary)
        return rest[len(self.vocabulary.shown(word)) :]
