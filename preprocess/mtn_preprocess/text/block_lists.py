"""Words, phrases and patterns that no query may contain: a file with one entry per line.

# a comment
a phrase          blocked anywhere, as whole words
/ba+d/            a regular expression, searched in the normalised query
"""

import re
from pathlib import Path
from typing import Callable, Iterable, List, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import AOL, TextSettings
from mtn_preprocess.text.typed_queries import QueryReader, normalise


def read_block_list(path: Path, flag: str = "--block-list") -> Tuple[str, ...]:
    """Read the entries.

    Args:
        flag: the flag that named the file, for messages
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise InputError(reason, f"check {flag}", path) from None
    entries: List[str] = []
    for number, line in enumerate(lines, 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        if _is_pattern(entry):
            try:
                re.compile(entry[1:-1])
            except re.error as error:
                raise InputError(f"bad pattern ({error})", "correct it", path, number) from None
        elif not normalise(entry):  # with any character rule: all of them keep letters
            raise InputError("no word in this entry", "queries have none such", path, number)
        entries.append(entry)
    return tuple(entries)


def block_list(entries: Iterable[str], characters: str = AOL) -> Callable[[str], bool]:
    """A function that returns whether a query is blocked.

    Args:
        entries: words or phrases, blocked anywhere as whole words, and regular expressions between
            slashes, searched in the normalised query
        characters: the character rule of the queries
    """
    entries = list(entries)
    patterns = [entry[1:-1] for entry in entries if _is_pattern(entry)]
    as_query = QueryReader(TextSettings(characters))
    phrases = [re.escape(as_query(entry)) for entry in entries if not _is_pattern(entry)]
    if phrases:
        patterns.append(f"(?<![^ ])(?:{'|'.join(phrases)})(?![^ ])")
    searches = [re.compile(pattern).search for pattern in patterns]
    return lambda query: any(search(query) for search in searches)


def _is_pattern(entry: str) -> bool:
    """Whether an entry is a regular expression."""
    return len(entry) > 2 and entry[0] == entry[-1] == "/"
