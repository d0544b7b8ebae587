"""Prepared session text as `best_possible` takes it."""

from typing import Iterator, List, Tuple

from mtn_preprocess.text import session_pairs


def read_pairs(prefix: str) -> Iterator[Tuple[List[str], str]]:
    """The queries of each session so far, and the next one."""
    for pair in session_pairs.read_pairs(prefix):
        yield pair.queries(), pair.next_query
