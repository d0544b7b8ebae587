"""Reads the project's session text back into queries, for the yardstick.

Written apart from the package's own reader: it needs only the plain words of the sample log, and
must run where neither torch nor fairseq is.
"""

from itertools import zip_longest
from typing import Iterator, List, Tuple

QUERY_SEPARATOR = "<q>"
SESSION_SEPARATOR = "<session>"


def queries_of(line: str) -> List[str]:
    """The current session's queries: what follows the last `<session>`, cut at each `<q>`."""
    tokens = line.split()
    queries: List[List[str]] = [[]]
    for token in tokens:
        if token == SESSION_SEPARATOR:
            queries = [[]]
        elif token == QUERY_SEPARATOR:
            queries.append([])
        else:
            queries[-1].append(token)
    return [" ".join(query) for query in queries]


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
