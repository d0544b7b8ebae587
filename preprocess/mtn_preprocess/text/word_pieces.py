"""Session text in word pieces, and back, by a model of sentencepiece.

    cheap flights <q> paris hotels
    ▁cheap ▁flight s <q> ▁paris ▁hotel s

Each word is cut by itself and separators are no words, so the bounds of queries stay what they are.
No torch here: preparation scripts use it too.
"""

from functools import lru_cache
from pathlib import Path
from typing import Iterable, List

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import escape, is_separator, unescape

MODEL = "sentencepiece.model"  # lies beside the text, and beside the dictionary
WORD_START = "▁"  # U+2581, no letter, digit or mark: normalised words do not have it

_CACHED = 1 << 18  # words; nearly all that is asked consists of fewer
_MAX_CACHED = 32  # characters of a word, so that the cache has a size in bytes too


def has_pieces(words: Iterable[str]) -> bool:
    """Whether these are pieces, not words."""
    return any(word.startswith(WORD_START) for word in words)


def decode_pieces(line: str) -> str:
    """The words that the pieces of a line, as far as it has any, were cut from."""
    if WORD_START not in line:
        return line  # plain already, for example by --post-process sentencepiece
    glued = "".join(
        f" {piece} " if is_separator(piece) else unescape(piece) for piece in line.split()
    )
    return " ".join(glued.replace(WORD_START, " ").split())


class PieceEncoder:
    """Cuts the words of session text into pieces."""

    def __init__(self, model: Path) -> None:
        if not model.is_file():
            raise InputError("no such model", f"it is the {MODEL} of the prepared text", model)
        import sentencepiece  # here: whoever puts pieces together does not need it

        try:
            self._model = sentencepiece.SentencePieceProcessor(model_file=str(model))
        except RuntimeError:
            raise InputError("not a sentencepiece model", "prepare the text again", model) from None
        self._cut_once = lru_cache(_CACHED)(self._cut)

    def __call__(self, line: str) -> str:
        return " ".join(
            self._cut_once(word) if len(word) <= _MAX_CACHED else self._cut(word)
            for word in line.split()
        )

    def pieces(self) -> List[str]:
        """All that words are cut into, unless they have characters that training had not."""
        model = self._model
        known = (i for i in range(model.get_piece_size()) if not model.is_unknown(i))
        return [escape(model.id_to_piece(i)) for i in known]

    def _cut(self, word: str) -> str:
        if is_separator(word):
            return word
        # What is within a word, and no symbol there, must not become one by standing alone.
        return " ".join(map(escape, self._model.encode(word, out_type=str)))
