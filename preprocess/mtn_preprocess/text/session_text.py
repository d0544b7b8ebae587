"""The session text format: tokens separated by spaces, units by one separator per level.

    cheap flights <q> cheap flights to paris <session> paris hotels

is a history of two sessions, with two queries and one query. Preparation scripts use this
module, so it does not import torch.
"""

import re
from typing import Container, Iterable, List, Optional

QUERY_SEPARATOR = "<q>"
SESSION_SEPARATOR = "<session>"

# Symbols of fairseq and of this format. A searcher may have typed the same characters.
_FAIRSEQ_SYMBOLS = r"<s>|<pad>|</s>|<unk>|madeupword\d{4}"  # in text only when escaped
_SEPARATORS = r"<q>|<session>|<unit\d+>"
_RESERVED = re.compile(rf"\\*({_FAIRSEQ_SYMBOLS}|{_SEPARATORS})\Z")
_SYMBOL = re.compile(rf"(?<!\S)(?:{_FAIRSEQ_SYMBOLS})(?!\S)")

# Invisible: some editors write a byte order mark, and damaged files contain NUL.
BYTE_ORDER_MARK, NUL = "\ufeff", "\0"


def separator(level: int) -> str:
    """The separator between two units of a level: 1 for queries, 2 for sessions, then above."""
    if level < 1:
        raise ValueError(f"levels with a separator start at 1, not {level}")
    return {1: QUERY_SEPARATOR, 2: SESSION_SEPARATOR}.get(level, f"<unit{level}>")


def escape(word: str) -> str:
    r"""Escape a typed word if needed: `<q>` becomes `\<q>`, a typed `\<q>` becomes `\\<q>`."""
    return "\\" + word if _RESERVED.match(word) else word


def unescape(word: str) -> str:
    """Undo `escape`."""
    return word[1:] if word.startswith("\\") and _RESERVED.match(word) else word


def find_separator(line: str, known: Container[str]) -> Optional[str]:
    """The first separator in a line that is not among the known ones."""
    if "<" not in line:  # most lines of one query
        return None
    return next((word for word in line.split() if is_separator(word) and word not in known), None)


def find_symbol(line: str) -> Optional[str]:
    """The first word in a line that fairseq would read as one of its symbols."""
    found = _SYMBOL.search(line)
    return found and found.group()


def escape_symbols(line: str, separators: Optional[Container[str]] = None) -> str:
    r"""Escape fairseq's symbols in a line typed in the format: `<pad>` is escaped, separators stay.

    Escaped words also stay, so a line of prepared text does not change.

    Args:
        separators: those to keep, if not all; other separators were typed as words
    """
    if "<" in line or "madeupword" in line:  # few lines, and looking is quicker than searching
        line = _SYMBOL.sub(r"\\\g<0>", line)
    if separators is None or find_separator(line, separators) is None:
        return line
    return " ".join(
        escape(word) if is_separator(word) and word not in separators else word
        for word in line.split()
    )


def without_unseen(text: str) -> str:
    """Typed text without byte order marks and NUL."""
    return text.replace(BYTE_ORDER_MARK, "").replace(NUL, "")


def encode_query(text: str) -> str:
    """One query as a line of the format; typed text never becomes a symbol."""
    return " ".join(escape(word) for word in text.split())


def decode_query(line: str) -> str:
    """The typed text of a query's line."""
    words = line.split()
    return " ".join(map(unescape, words) if "\\" in line else words)


def join_units(units: Iterable[str], level: int) -> str:
    """Join units of one level, each a line of the format, into one unit of the level above."""
    return f" {separator(level)} ".join(units)


def split_units(line: str, level: int) -> List[str]:
    """The inverse of `join_units`."""
    return line.split(f" {separator(level)} ")


def last_session(line: str) -> str:
    """The current session: what follows the last separator above the query level."""
    words = line.split()
    above = [i for i, word in enumerate(words) if word != QUERY_SEPARATOR and is_separator(word)]
    return " ".join(words[above[-1] + 1 :] if above else words)


def queries_of(line: str) -> List[str]:
    """The queries of the current session, without any history before it."""
    return split_units(last_session(line), level=1)


def without_open_query(line: str) -> str:
    """A line without trailing separators, after which nothing was typed yet.

    A line of separators alone keeps one of them: it is not a session.
    """
    words = line.split()
    while len(words) > 1 and is_separator(words[-1]):
        words.pop()
    return " ".join(words)


def is_separator(word: str) -> bool:
    # The first character decides for nearly all words, which is several times as fast.
    return word.startswith("<") and re.fullmatch(_SEPARATORS, word) is not None
