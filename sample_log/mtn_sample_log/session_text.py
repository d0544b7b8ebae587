"""Reads prepared session text back into queries, for the yardstick."""

from itertools import zip_longest
from typing import Iterator, List, Tuple

from mtn_preprocess.text.session_text import last_session, split_units


def queries_of(line: str) -> List[str]:
    """The current session's queries: what follows the last `<session>`, cut at each `<q>`."""
    return split_units(last_session(line), level=1)


def _lines(name: str) -> Iterator[str]:
    with open(name, "rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError:
                raise ValueError(f"{name}:{number}: not UTF-8") from None


def read_pairs(stem: str) -> Iterator[Tuple[List[str], str]]:
    """The pairs of `STEM.session` and `STEM.next`, line by line.

    Raises:
        ValueError: a line is not UTF-8, or one file has more lines than the other.
    """
    names = f"{stem}.session", f"{stem}.next"
    both = zip_longest(*(_lines(name) for name in names))
    for number, (source, target) in enumerate(both, start=1):
        if source is None or target is None:
            short, long = names if source is None else reversed(names)
            raise ValueError(f"{short}:{number}: line missing, {long} has more lines")
        yield queries_of(source), " ".join(target.split())
