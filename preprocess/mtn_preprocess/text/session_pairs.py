"""Read prepared text: pairs of (session so far, next query), line by line from two files."""

from itertools import zip_longest
from pathlib import Path
from typing import Iterator, List, NamedTuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import queries_of
from mtn_preprocess.text.text_checks import check_next_query, check_session, numbered_lines
from mtn_preprocess.text.word_pieces import decode_pieces


class Pair(NamedTuple):
    """One line of both files."""

    source: str  # as written, including its history
    next_query: str

    def queries(self) -> List[str]:
        return queries_of(self.source)


def read_pairs(prefix: str) -> Iterator[Pair]:
    """The pairs of `PREFIX.session` and `PREFIX.next`, with single spaces between words."""
    paths = Path(f"{prefix}.session"), Path(f"{prefix}.next")
    number = 0
    for source, target in zip_longest(*map(numbered_lines, paths)):
        number += 1
        if source is None or target is None:
            short, long = paths if source is None else paths[::-1]
            raise InputError(
                f"line missing, {long} has more",
                "line n of one file must belong to line n of the other; prepare both again",
                short,
                number,
            )
        check_session(source[1], paths[0], number)
        check_next_query(target[1], paths[1], number)
        yield Pair(*(" ".join(line.split()) for _, line in (source, target)))
    if not number:
        raise InputError("no pairs", "check the filters of the preparation", paths[0])


def read_pairs_in_words(prefix: str) -> Iterator[Pair]:
    """The same, with word pieces joined into words."""
    return (Pair(*map(decode_pieces, pair)) for pair in read_pairs(prefix))
