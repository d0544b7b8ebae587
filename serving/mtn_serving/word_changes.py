"""How people change a query: which words they replace with which, in one place."""

from typing import NamedTuple, Optional, Sequence, Tuple


class Change(NamedTuple):
    """A span of words replaced with another; one of the two may be empty."""

    removed: str
    added: str


def change_between(before: Sequence[str], after: Sequence[str]) -> Optional[Change]:
    """The words that differ; None if the queries share neither their start nor their end.

    `cheap flights paris` and `cheap hotels paris`: `flights` became `hotels`.
    """
    start, end = shared_ends(before, after)
    if start + end == 0:
        return None
    return Change(
        " ".join(before[start : len(before) - end]), " ".join(after[start : len(after) - end])
    )


def shared_ends(before: Sequence[str], after: Sequence[str]) -> Tuple[int, int]:
    """How many words the starts share, and how many more words the ends share."""
    most = min(len(before), len(after))
    start = next((i for i in range(most) if before[i] != after[i]), most)
    rest = most - start
    end = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    return start, end
