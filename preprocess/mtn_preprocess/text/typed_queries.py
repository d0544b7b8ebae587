"""What a searcher typed, as a query of the session text format."""

import re
import unicodedata
from typing import Callable, Iterable, List

NUMBER, EMAIL = "<number>", "<email>"  # no typed word can be these: `<` and `>` become spaces

# What fairseq reads as a symbol, of all that a normalised word can be; escaped as the session text
# format does it (mtn_preprocess.text.session_text).
_SYMBOL = re.compile(r"madeupword\d{4}")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@.]+")


class _Characters(dict):
    """For `str.translate`: what is no part of a word becomes a space."""

    def __missing__(self, code: int) -> int:
        self[code] = code if unicodedata.category(chr(code))[0] in "LMN" else ord(" ")
        return self[code]


_CHARACTERS = _Characters()


def normalise(typed: str) -> str:
    """Lower case, Unicode NFC, words separated by one space.

    The character rule: letters, digits and the marks that belong to letters stay (Unicode
    categories L, N and M; without the marks, words of many scripts would break). Every other
    character becomes a space: `www.e-bay.com` is `www e bay com`, `bob's` is `bob s`.
    """
    return " ".join(unicodedata.normalize("NFC", typed.lower()).translate(_CHARACTERS).split())


class QueryReader:
    """Turns what was typed into a query, or into "" where nothing is left.

    Args:
        mask_numbers: successive words of digits alone become one `<number>`
        mask_emails: an e-mail address becomes `<email>`
    """

    def __init__(self, mask_numbers: bool = False, mask_emails: bool = False) -> None:
        self.mask_numbers, self.mask_emails = mask_numbers, mask_emails

    def __call__(self, typed: str) -> str:
        parts = _EMAIL.split(typed) if self.mask_emails else [typed]
        words: List[str] = []
        for i, part in enumerate(parts):
            if i:
                words.append(EMAIL)
            for word in normalise(part).split():
                if self.mask_numbers and word.isdigit():
                    if words[-1:] != [NUMBER]:
                        words.append(NUMBER)
                else:
                    words.append("\\" + word if _SYMBOL.fullmatch(word) else word)
        return " ".join(words)


def block_list(entries: Iterable[str]) -> Callable[[str], bool]:
    """Whether a query is blocked.

    Args:
        entries: words or phrases, blocked wherever they stand as whole words, and regular
            expressions between slashes, searched in the normalised query
    """
    entries = list(entries)
    patterns = [entry[1:-1] for entry in entries if is_pattern(entry)]
    as_query = QueryReader()
    phrases = [re.escape(as_query(entry)) for entry in entries if not is_pattern(entry)]
    if phrases:
        patterns.append(f"(?<![^ ])(?:{'|'.join(phrases)})(?![^ ])")
    searches = [re.compile(pattern).search for pattern in patterns]
    return lambda query: any(search(query) for search in searches)


def is_pattern(entry: str) -> bool:
    """Whether an entry of a block list is a regular expression."""
    return len(entry) > 2 and entry[0] == entry[-1] == "/"
