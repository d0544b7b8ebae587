"""Two ways to score words outside a model's dictionary.

`RawText`: compare with the real next query; an `<unk>` is useless and never matches.
`UnknownAsToken`: words outside one dictionary become `<unk>`, in the next queries and in the
suggestions of all systems, and match each other, as in the paper.
"""

import re
from pathlib import Path
from typing import Container

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.dictionary_file import SYMBOLS, read_words
from mtn_preprocess.text.word_pieces import has_pieces

UNKNOWN = "<unk>"
_NOT_IN_TEXT = "<<unk>>"  # fairseq's mark in a next query; it matches nothing
_TYPED = re.compile(r"\\+<unk>")  # escaped by the preparation: an ordinary word


class RawText:
    """Words as asked."""

    def next_query(self, line: str) -> str:
        return self._replace(line, _NOT_IN_TEXT)

    def suggestion(self, line: str) -> str:
        return self._replace(line, UNKNOWN)

    def _replace(self, line: str, unknown: str) -> str:
        if UNKNOWN not in line:
            return line
        # With word pieces, `<unk>` may be part of a word; the whole word is then unknown.
        return " ".join(
            unknown if UNKNOWN in word and not _TYPED.fullmatch(word) else word
            for word in line.split()
        )


class UnknownAsToken:
    """Words outside a dictionary become one token that matches itself."""

    def __init__(self, known: Container[str]) -> None:
        self._known = known

    def next_query(self, line: str) -> str:
        return " ".join([word if word in self._known else UNKNOWN for word in line.split()])

    suggestion = next_query


def known_words(dictionary: str) -> Container[str]:
    """The words of a `dict.next.txt` written by fairseq-preprocess."""
    if not Path(dictionary).is_file():
        raise InputError("no such dictionary", "give data-bin/dict.next.txt", dictionary)
    try:
        words = [*SYMBOLS, *read_words(Path(dictionary))]
    except InputError as error:
        reason = f"not a dictionary ({error.reason})"
        raise InputError(reason, "give data-bin/dict.next.txt", dictionary, error.line) from None
    if has_pieces(words):
        raise InputError(
            "the dictionary has word pieces, and words are what is scored",
            "give that of a model of words, or leave out --dict: pieces leave hardly any <unk>",
            dictionary,
        )
    return frozenset(words)
