"""Text -> tokens and back, in words or pieces, in the same way as the plugin."""

from bisect import bisect_left
from itertools import count, takewhile
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.dictionary_file import SYMBOLS, read_words
from mtn_preprocess.text.session_text import (
    escape_symbols,
    is_separator,
    separator,
    unescape,
    without_unseen,
)
from mtn_preprocess.text.word_pieces import WORD_START, PieceEncoder, decode_pieces

from .model_files import DICTIONARY, PIECES_MODEL, Facts

START, PAD, END, UNKNOWN = range(len(SYMBOLS))  # <s>, <pad>, </s>, <unk>


class Vocabulary:
    """The words (or pieces) of a dictionary and their indices.

    Args:
        words: in the order of the dictionary, without fairseq's symbols, which come first
        pieces: splits words into pieces; None if the dictionary has whole words
    """

    def __init__(self, words: Sequence[str], pieces: Optional[PieceEncoder] = None) -> None:
        self.words = [*SYMBOLS, *words]
        self.index: Dict[str, int] = {word: index for index, word in enumerate(self.words)}
        self.pieces = pieces
        names = takewhile(self.index.__contains__, map(separator, count(1)))
        self.separators = {name: self.index[name] for name in names}  # lowest level first
        shown = (word for word in words if not is_separator(word))
        self._sorted = sorted((self.shown(word), self.index[word]) for word in shown)

    @classmethod
    def open(cls, folder: Path, facts: Facts) -> "Vocabulary":
        words = read_words(Path(folder) / DICTIONARY)
        if len(words) + len(SYMBOLS) != facts.words:
            reason = f"{len(words) + len(SYMBOLS)} words, but the model has {facts.words}"
            raise InputError(reason, "export the model again", Path(folder) / DICTIONARY)
        return cls(words, PieceEncoder(Path(folder) / PIECES_MODEL) if facts.pieces else None)

    def __len__(self) -> int:
        return len(self.words)

    def cut(self, line: str) -> List[str]:
        """A line of prepared text -> its words or pieces; words never become symbols."""
        if self.pieces is not None and WORD_START not in line:
            line = self.pieces(escape_symbols(without_unseen(line)))
        return escape_symbols(without_unseen(line), self.separators).split()

    def text(self, words: Sequence[str]) -> str:
        """A line of prepared text, in words; `<s>`, which a model may generate, is dropped."""
        line = " ".join(word for word in words if word != SYMBOLS[START])
        return line if self.pieces is None else decode_pieces(line)

    def shown(self, word: str) -> str:
        """The characters of a word in a text; escapes of pieces are removed."""
        return word if self.pieces is None else unescape(word)

    def shown_as(self, characters: str) -> List[int]:
        """The words with exactly these characters."""
        starts = self.starting_with(characters)
        return [index for index in starts if self.shown(self.words[index]) == characters]

    def starting_with(self, characters: str) -> List[int]:
        """Words that start with these characters, without fairseq's symbols and separators."""
        found = []
        for place in range(bisect_left(self._sorted, (characters, -1)), len(self._sorted)):
            shown, index = self._sorted[place]
            if not shown.startswith(characters):
                break
            found.append(index)
        return found
