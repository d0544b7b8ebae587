"""Turn typed text into a query of the session text format.

`QueryReader` is the only way from typed text to a query, both for the log that is prepared and for
text typed to get suggestions.
"""

import re
import unicodedata
from typing import Dict, List

from mtn_preprocess.text.text_settings import AOL, DEFAULT, SYMBOLS, TextSettings

NUMBER, EMAIL = "<number>", "<email>"  # never typed words: `<` and `>` become spaces

# The only fairseq symbol that a normalised word can be; escaped as in the session text format
# (mtn_preprocess.text.session_text).
_SYMBOL = re.compile(r"madeupword\d{4}")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@.]+")

# Soft hyphen, zero-width space, word joiner, byte order mark: pasted names of products have them
# within words. Joiners stay spaces, since some scripts need them between letters.
_UNSEEN_IN_WORDS = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))

# The rule `symbols`: these belong to a word in the positions below, and are spaces elsewhere.
KEPT_SYMBOLS = "+#.'&-"
_VARIANTS = {"\u2019": "'", "\u2010": "-", "\u2011": "-"}  # from some keyboards and editors
_LETTER = rf"[^\s{KEPT_SYMBOLS}]"
_WORD = re.compile(
    rf"(?:(?<![{KEPT_SYMBOLS}])\.)?"  # .net
    rf"{_LETTER}+(?:(?:[+#]+[.'&-]?|[.'&-]){_LETTER}+)*"  # o'brien, e-mail, at&t, c++11, c#.net
    r"[+#]*"  # c++, c#
)
_WITHOUT_SYMBOLS = str.maketrans("", "", KEPT_SYMBOLS)


class _Characters(dict):
    """For `str.translate`: characters that are not part of a word become spaces.

    Args:
        kept: further characters to keep, and what they become
    """

    def __init__(self, kept: Dict[str, str]) -> None:
        super().__init__({ord(character): ord(new) for character, new in kept.items()})

    def __missing__(self, code: int) -> int:
        self[code] = code if unicodedata.category(chr(code))[0] in "LMN" else ord(" ")
        return self[code]


_TABLES = {
    AOL: _Characters({}),
    SYMBOLS: _Characters({**dict(zip(KEPT_SYMBOLS, KEPT_SYMBOLS)), **_VARIANTS}),
}


def in_lower_case(typed: str) -> str:
    """Lower case, Unicode NFC, single spaces: differences without meaning are removed."""
    return " ".join(unicodedata.normalize("NFC", typed.lower()).split())


def normalise(typed: str, characters: str = AOL) -> str:
    """Lower case, Unicode NFC, words separated by one space.

    Letters, digits and combining marks stay (Unicode categories L, N and M; without the marks,
    words of many scripts would break). The character rule decides what else stays:

        aol      nothing: `www.e-bay.com` is `www e bay com`, `bob's` is `bob s`
        symbols  `.`, `'`, `-`, `&` between two letters; `+` and `#` there and at the end of a word;
                 `.` at its start: `c++`, `c#`, `.net`, `o'brien`, `e-mail` are one word each

    Soft hyphens and spaces without width are removed. Every other character becomes a space.
    """
    text = typed.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(_UNSEEN_IN_WORDS))
    text = text.translate(_TABLES[characters])
    return " ".join(text.split() if characters == AOL else _WORD.findall(text))


class QueryReader:
    """Turns typed text into a query, or into "" if nothing is left."""

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
    """Whether a word has only digits, apart from symbols kept by a character rule: `555-1234`."""
    return word.translate(_WITHOUT_SYMBOLS).isdigit()
