"""Reads the project's session text back into queries, for the yardstick.

Written apart from the package's own reader: it needs only the plain words of the sample log, and
must run where neither torch nor fairseq is.
"""

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


def read_pairs(stem: str) -> Iterator[Tuple[List[str], str]]:
    """The pairs of `STEM.session` and `STEM.next`, line by line.

    Raises:
        ValueError: a file is not UTF-8, or one file has more lines than the other.
    """
    names = f"{stem}.session", f"{stem}.next"
    with open(names[0], encoding="utf-8") as sources, open(names[1], encoding="utf-8") as targets:
        number = 0
        try:
            for number, source in enumerate(sources, start=1):
                target = next(targets, None)
                if target is None:
                    raise ValueError(f"{names[1]}: ends before line {number} of {names[0]}")
                yield queries_of(source), " ".join(target.split())
            if next(targets, None) is not None:
                raise ValueError(f"{names[0]}: ends before line {number + 1} of {names[1]}")
        except UnicodeDecodeError as error:
            raise ValueError(f"{stem}.session/.next: not UTF-8 near line {number + 1}") from error
