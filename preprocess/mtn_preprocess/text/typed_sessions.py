"""Read what is typed to get suggestions as session text, in the same way as the training text.

Two kinds of input:

    a query      typed by a searcher: nothing in it is a symbol, even if it looks like one
    a line       of the session text format, typed or prepared: `<q>` separates, and masks and
                 escaped words keep their meaning, so prepared text stays unchanged
"""

import re
from typing import Callable, List, Optional

from mtn_preprocess.text.session_text import (
    BYTE_ORDER_MARK,
    NUL,
    encode_query,
    escape_symbols,
    is_separator,
    without_unseen,
)
from mtn_preprocess.text.text_settings import TextSettings
from mtn_preprocess.text.typed_queries import EMAIL, NUMBER, QueryReader, in_lower_case
from mtn_preprocess.text.word_pieces import WORD_START, decode_pieces

_ESCAPED = re.compile(r"\\madeupword\d{4}")
_SPACES = str.maketrans(dict.fromkeys((BYTE_ORDER_MARK, NUL), " "))


class SessionReader:
    """Reads queries and lines.

    Args:
        settings: of the training text; None if unknown: such text may have any character, so
            only case, Unicode composition and spaces are normalised
    """

    def __init__(self, settings: Optional[TextSettings] = None) -> None:
        self.settings = settings
        self._read: Optional[QueryReader] = None if settings is None else QueryReader(settings)

    def query(self, typed: str) -> str:
        """Read one query; "" if nothing is left of it."""
        if self._read is not None:
            return self._read(typed)
        return encode_query(in_lower_case(_readable(without_unseen(typed))))

    def line(self, typed: str) -> str:
        """Read a line of words or word pieces, as words. Separators stay, even side by side."""
        if self._read is None:
            return escape_symbols(in_lower_case(_in_words(without_unseen(typed))))
        words = _in_words(typed.translate(_SPACES)).split()
        return " ".join(_joined(words, self._read, self._is_kept))

    def _is_kept(self, word: str) -> bool:
        """Whether the word is a separator, or a form that exists only in prepared text."""
        assert self.settings is not None
        masks = {NUMBER: self.settings.mask_numbers, EMAIL: self.settings.mask_emails}
        return is_separator(word) or masks.get(word, False) or _ESCAPED.fullmatch(word) is not None


def _joined(
    words: List[str], read: Callable[[str], str], is_kept: Callable[[str], bool]
) -> List[str]:
    """Keep some words as they are, and read the stretches between them."""
    found: List[str] = []
    stretch: List[str] = []
    for word in [*words, None]:
        if word is not None and not is_kept(word.lower()):
            stretch.append(word)
            continue
        for each in [*read(" ".join(stretch)).split(), *([] if word is None else [word.lower()])]:
            if each != NUMBER or found[-1:] != [NUMBER]:  # successive numbers count as one
                found.append(each)
        stretch = []
    return found


def _in_words(line: str) -> str:
    """The line in words; prepared text in word pieces starts with the mark of a word start."""
    text = " ".join(_readable(line).split())
    return decode_pieces(text) if text.startswith(WORD_START) else text


def _readable(text: str) -> str:
    """Replace bytes that are not UTF-8, which Python passes on as surrogates, by question marks."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
