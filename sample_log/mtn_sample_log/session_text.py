"""Read prepared session text for `best_possible`."""

from typing import Iterator, List, Tuple

from mtn_preprocess.text import session_pairs


def read_pairs(prefix: str) -> Iterator[Tuple[List[str], str]]:
    """Yield the queries of each session so far, and the next query."""
    for pair in session_pairs.read_pairs(prefix):
        yield pair.queries(), pair.next_query
