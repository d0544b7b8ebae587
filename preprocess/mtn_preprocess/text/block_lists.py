"""Words, phrases and patterns that no query may contain: a file with one entry per line.

# a comment
a phrase          blocked anywhere, as whole words
/ba+d/            a regular expression, searched in the normalised query
"""

import re
from pathlib import Path
from typing import Callable, Dict, Iterable, List, Sequence, Tuple

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
    as_query = QueryReader(TextSettings(characters))
    phrases = [as_query(entry) for entry in entries if not _is_pattern(entry)]
    has_phrase = _Phrases([phrase.split() for phrase in phrases])
    searches = [re.compile(entry[1:-1]).search for entry in entries if _is_pattern(entry)]

    def is_blocked(query: str) -> bool:
        if has_phrase(query.split()):
            return True
        for search in searches:  # noqa: SIM110 (a generator costs more than most searches)
            if search(query):
                return True
        return False

    return is_blocked if entries else lambda query: False


class _Phrases:
    """Finds phrases in a query by their first words: one look-up per word, however many phrases."""

    def __init__(self, phrases: Iterable[List[str]]) -> None:
        self._behind: Dict[str, List[List[str]]] = {}  # first word -> the rest of each phrase
        for first, *rest in phrases:
            self._behind.setdefault(first, []).append(rest)

    def __call__(self, words: Sequence[str]) -> bool:
        if self._behind.keys().isdisjoint(words):
            return False
        return any(
            words[place : place + len(rest)] == rest
            for place, word in enumerate(words, 1)
            for rest in self._behind.get(word, ())
        )


def _is_pattern(entry: str) -> bool:
    """Whether an entry is a regular expression."""
    return len(entry) > 2 and entry[0] == entry[-1] == "/"
