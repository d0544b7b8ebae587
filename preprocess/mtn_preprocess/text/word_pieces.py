"""Convert session text to word pieces and back with a sentencepiece model.

    cheap flights <q> paris hotels
    ▁cheap ▁flight s <q> ▁paris ▁hotel s

Each word is split on its own and separators are not words, so query boundaries stay the same.
Preparation scripts use this module, so it does not import torch.
"""

from functools import lru_cache
from pathlib import Path
from typing import Iterable, List

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import escape, is_separator, unescape

MODEL = "sentencepiece.model"  # beside the text, and beside the dictionary
WORD_START = "▁"  # U+2581 is no letter, digit or mark, so normalised words do not contain it

_CACHE_SIZE = 1 << 18  # words; enough for nearly all queries
_MAX_CACHED = 32  # characters per word, to limit the memory of the cache


def has_pieces(words: Iterable[str]) -> bool:
    """Whether these are word pieces, not words."""
    return any(word.startswith(WORD_START) for word in words)


def decode_pieces(line: str) -> str:
    """Join the word pieces of a line, if it has any, into words."""
    if WORD_START not in line:
        return line  # already words, for example by --post-process sentencepiece
    glued = "".join(
        f" {piece} " if is_separator(piece) else unescape(piece) for piece in line.split()
    )
    return " ".join(glued.replace(WORD_START, " ").split())


class PieceEncoder:
    """Splits the words of session text into pieces."""

    def __init__(self, model: Path) -> None:
        if not model.is_file():
            raise InputError("no such model", f"it is the {MODEL} of the prepared text", model)
        import sentencepiece  # not needed to join pieces

        try:
            self._model = sentencepiece.SentencePieceProcessor(model_file=str(model))
        except RuntimeError:
            raise InputError("not a sentencepiece model", "prepare the text again", model) from None
        self._cut_once = lru_cache(_CACHE_SIZE)(self._cut)

    def __call__(self, line: str) -> str:
        return " ".join(
            self._cut_once(word) if len(word) <= _MAX_CACHED else self._cut(word)
            for word in line.split()
        )

    def pieces(self) -> List[str]:
        """All pieces that words are split into, unless they have characters unseen in training."""
        model = self._model
        known = (i for i in range(model.get_piece_size()) if not model.is_unknown(i))
        return [escape(model.id_to_piece(i)) for i in known]

    def _cut(self, word: str) -> str:
        if is_separator(word):
            return word
        # Part of a word may look like a symbol once it stands alone, so it is escaped.
        return " ".join(map(escape, self._model.encode(word, out_type=str)))
