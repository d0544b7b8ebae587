"""Texts of a sorted pool whose start differs from a prefix by one typing error, or by accents.

The error is an extra letter, a missing letter, a wrong letter, or two swapped letters. The first
letter is assumed to be right: people seldom miss it, and without it far more texts would match. For
the same reason, the first letter of a word is never replaced, and no letter is put before it. The
last letter is never replaced either, because no letter after it shows that it is wrong.

The pool is searched as a trie: at each place of the prefix, the range of matching texts is known,
and only letters that really follow are tried. So any alphabet works, and the time depends on the
prefix but hardly on the pool.
"""

import unicodedata
from bisect import bisect_left
from typing import Iterator, List, Set

from ..text_pool import TextPool

_BEYOND_ASCII, _LAST_CHARACTER = chr(0x80), chr(0x10FFFF)
MIN_LETTERS = 4  # shorter prefixes are not corrected: they are similar to everything


def corrected_prefixes(pool: TextPool, prefix: str) -> List[str]:
    """All prefixes with one corrected error that some text of the pool starts with, sorted."""
    if len(prefix) < MIN_LETTERS:
        return []
    found: Set[str] = set()
    known = range(len(pool))
    for place in range(len(prefix)):
        if place:
            found.update(_corrected_at(pool, known, prefix, place))
        known = _starting_with(pool, prefix[: place + 1], known)
        if not known:
            break
    return sorted(found - {prefix})


def with_other_accents(pool: TextPool, prefix: str) -> List[str]:
    """All prefixes that differ by accents and that some text starts with: `cafe n` -> `café n`."""
    found = {"": range(len(pool))}
    for letter in prefix:
        longer = {
            before + each: _starting_with(pool, before + each, known)
            for before, known in found.items()
            for each in _alike(pool, known, before, letter)
        }
        found = {start: known for start, known in longer.items() if known}
    return sorted(found.keys() - {prefix})


def _alike(pool: TextPool, known: range, before: str, letter: str) -> Iterator[str]:
    """The letter without accents, and the letters after `before` that differ only by accents."""
    plain = _without_accents(letter)
    yield plain
    accented = bisect_left(pool, before + _BEYOND_ASCII, known.start, known.stop)
    for each in _letters_at(pool, range(accented, known.stop), before):
        if _without_accents(each) == plain:
            yield each


def _without_accents(letter: str) -> str:
    parts = unicodedata.normalize("NFD", letter)
    return "".join(part for part in parts if not unicodedata.combining(part)) or letter


def _corrected_at(pool: TextPool, known: range, prefix: str, place: int) -> Iterator[str]:
    """Corrected prefixes that keep the text before a place.

    Args:
        known: range of the texts that start with the text before the place
    """
    before, behind = prefix[:place], prefix[place:]
    fixed = [behind[1:], behind[1:2] + behind[:1] + behind[2:]]
    letters = () if before.endswith(" ") else _letters_at(pool, known, before)
    for letter in letters:
        fixed.append(letter + behind)
        if behind[1:]:
            fixed.append(letter + behind[1:])
    for rest in fixed:
        if rest and _starting_with(pool, before + rest, known):
            yield before + rest


def _letters_at(pool: TextPool, known: range, before: str) -> Iterator[str]:
    """The letters that follow `before` in the texts of a range."""
    place = known.start
    while place < known.stop:
        text = pool[place]
        if len(text) == len(before):
            place += 1
            continue
        letter = text[len(before)]
        yield letter
        place = _starting_with(pool, before + letter, range(place, known.stop)).stop


def _starting_with(pool: TextPool, prefix: str, within: range) -> range:
    start = bisect_left(pool, prefix, within.start, within.stop)
    return range(start, bisect_left(pool, prefix + _LAST_CHARACTER, start, within.stop))
