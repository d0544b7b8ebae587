"""The session text format: tokens separated by spaces, units by one separator a level.

    cheap flights <q> cheap flights to paris <session> paris hotels

is a history of two sessions, of two queries and one. No torch here: preparation scripts use it too.
"""

import re
from typing import Container, Iterable, List, Optional

QUERY_SEPARATOR = "<q>"
SESSION_SEPARATOR = "<session>"

# What fairseq or this format reads as a symbol. A searcher may have typed the same characters.
_FAIRSEQS = r"<s>|<pad>|</s>|<unk>|madeupword\d{4}"  # these never stand in text, but escaped
_SEPARATORS = r"<q>|<session>|<unit\d+>"
_RESERVED = re.compile(rf"\\*({_FAIRSEQS}|{_SEPARATORS})\Z")
_SYMBOL = re.compile(rf"(?<!\S)(?:{_FAIRSEQS})(?!\S)")

# Nobody types these or sees them: some editors leave a byte order mark, damaged files have NUL.
BYTE_ORDER_MARK, NUL = "\ufeff", "\0"


def separator(level: int) -> str:
    """The token between two units of a level: 1 for queries, 2 for sessions, 3 for what follows."""
    if level < 1:
        raise ValueError(f"levels with a separator start at 1, not {level}")
    return {1: QUERY_SEPARATOR, 2: SESSION_SEPARATOR}.get(level, f"<unit{level}>")


def escape(word: str) -> str:
    r"""Make a typed word safe: `<q>` becomes `\<q>`, a typed `\<q>` becomes `\\<q>`."""
    return "\\" + word if _RESERVED.match(word) else word


def unescape(word: str) -> str:
    """Undo `escape`."""
    return word[1:] if word.startswith("\\") and _RESERVED.match(word) else word


def find_separator(line: str, known: Container[str]) -> Optional[str]:
    """The first separator of a line of the format that is none of the known ones."""
    if "<" not in line:  # nearly all lines of one query
        return None
    return next((word for word in line.split() if is_separator(word) and word not in known), None)


def find_symbol(line: str) -> Optional[str]:
    """The first word of a line of the format that fairseq would read as one of its symbols."""
    found = _SYMBOL.search(line)
    return found and found.group()


def escape_symbols(line: str, separators: Optional[Container[str]] = None) -> str:
    r"""Make a line safe that somebody typed in the format: its separators stay, `<pad>` is escaped.

    Words that are escaped already stay too, so a line of prepared text is not changed.

    Args:
        separators: those that stay, if not all: what else looks like one was typed as a word
    """
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
    """One query as its line of the format; what was typed never becomes a symbol."""
    return " ".join(escape(word) for word in text.split())


def decode_query(line: str) -> str:
    """What was typed, from its line of the format."""
    return " ".join(unescape(word) for word in line.split())


def join_units(units: Iterable[str], level: int) -> str:
    """Units of one level, each already a line of the format, as one unit of the level above."""
    return f" {separator(level)} ".join(units)


def split_units(line: str, level: int) -> List[str]:
    """The inverse of `join_units`."""
    return line.split(f" {separator(level)} ")


def last_session(line: str) -> str:
    """The session in progress: what follows the last separator above the query level."""
    words = line.split()
    above = [i for i, word in enumerate(words) if word != QUERY_SEPARATOR and is_separator(word)]
    return " ".join(words[above[-1] + 1 :] if above else words)


def queries_of(line: str) -> List[str]:
    """The queries of the session in progress; a history before it is not looked at."""
    return split_units(last_session(line), level=1)


def without_open_query(line: str) -> str:
    """A line without the separators at its end, behind which nothing was typed yet.

    A line of separators alone keeps one of them: it is no session.
    """
    words = line.split()
    while len(words) > 1 and is_separator(words[-1]):
        words.pop()
    return " ".join(words)


def is_separator(word: str) -> bool:
    # Nearly all words are told by their first character, which is several times as fast.
    return word.startswith("<") and re.fullmatch(_SEPARATORS, word) is not None
