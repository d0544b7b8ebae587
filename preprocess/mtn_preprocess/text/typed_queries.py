"""What a searcher typed, as a query of the session text format.

`QueryReader` is the one way from typed text to a query: for the log that is prepared, and for what
people type when they are given suggestions.
"""

import re
import unicodedata
from typing import Dict, List

from mtn_preprocess.text.text_settings import AOL, DEFAULT, SYMBOLS, TextSettings

NUMBER, EMAIL = "<number>", "<email>"  # no typed word can be these: `<` and `>` become spaces

# What fairseq reads as a symbol, of all that a normalised word can be; escaped as the session text
# format does it (mtn_preprocess.text.session_text).
_SYMBOL = re.compile(r"madeupword\d{4}")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@.]+")

# The rule `symbols`: these are part of a word where it has them as below, and spaces elsewhere.
KEPT_SYMBOLS = "+#.'&-"
_SAME = {"\u2019": "'", "\u2010": "-", "\u2011": "-"}  # as some keyboards and editors write them
_LETTER = rf"[^\s{KEPT_SYMBOLS}]"
_WORD = re.compile(
    rf"(?:(?<![{KEPT_SYMBOLS}])\.)?"  # .net
    rf"{_LETTER}+(?:(?:[+#]+[.'&-]?|[.'&-]){_LETTER}+)*"  # o'brien, e-mail, at&t, c++11, c#.net
    r"[+#]*"  # c++, c#
)
_WITHOUT_SYMBOLS = str.maketrans("", "", KEPT_SYMBOLS)


class _Characters(dict):
    """For `str.translate`: what is no part of a word becomes a space.

    Args:
        kept: characters that are neither letters, digits nor marks, and what they become
    """

    def __init__(self, kept: Dict[str, str]) -> None:
        super().__init__({ord(character): ord(new) for character, new in kept.items()})

    def __missing__(self, code: int) -> int:
        self[code] = code if unicodedata.category(chr(code))[0] in "LMN" else ord(" ")
        return self[code]


_TABLES = {
    AOL: _Characters({}),
    SYMBOLS: _Characters({**dict(zip(KEPT_SYMBOLS, KEPT_SYMBOLS)), **_SAME}),
}


def in_lower_case(typed: str) -> str:
    """Lower case, Unicode NFC, single spaces: what nobody means a difference by."""
    return " ".join(unicodedata.normalize("NFC", typed.lower()).split())


def normalise(typed: str, characters: str = AOL) -> str:
    """Lower case, Unicode NFC, words separated by one space.

    Letters, digits and the marks that belong to letters stay (Unicode categories L, N and M;
    without the marks, words of many scripts would break). What else stays is the character rule:

        aol      nothing: `www.e-bay.com` is `www e bay com`, `bob's` is `bob s`
        symbols  `.`, `'`, `-`, `&` between two letters; `+` and `#` there and at the end of a word;
                 `.` at its start: `c++`, `c#`, `.net`, `o'brien`, `e-mail` are one word each

    Every other character becomes a space.
    """
    text = unicodedata.normalize("NFC", typed.lower()).translate(_TABLES[characters])
    return " ".join(text.split() if characters == AOL else _WORD.findall(text))


class QueryReader:
    """Turns what was typed into a query, or into "" where nothing is left."""

    def __init__(self, settings: TextSettings = DEFAULT) -> None:
        self.settings = settings

    def __call__(self, typed: str) -> str:
        parts = _EMAIL.split(typed) if self.settings.mask_emails else [typed]
        words: List[str] = []
        for i, part in enumerate(parts):
            if i:
                words.append(EMAIL)
            for word in normalise(part, self.settings.characters).split():
                if self.settings.mask_numbers and _is_number(word):
                    if words[-1:] != [NUMBER]:
                        words.append(NUMBER)
                else:
                    words.append("\\" + word if _SYMBOL.fullmatch(word) else word)
        return " ".join(words)


def _is_number(word: str) -> bool:
    """Digits alone, whatever symbols a character rule left between them: `555-1234`."""
    return word.translate(_WITHOUT_SYMBOLS).isdigit()
