"""Group test pairs, to show where a system is good: one group per pair and kind."""

from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set

from mtn_preprocess.text.session_pairs import Pair
from mtn_preprocess.text.session_text import is_separator, queries_of
from mtn_preprocess.text.text_checks import session_lines
from mtn_preprocess.text.word_pieces import decode_pieces

MAX_NUMBER = 10  # this and larger numbers form one group


class Grouping(NamedTuple):
    """The groups of one kind."""

    label_of_pair: List[str]
    labels: List[str]  # only those that occur, in display order

    @classmethod
    def by_number(cls, numbers: Sequence[int]) -> "Grouping":
        labels = [_label(number) for number in range(MAX_NUMBER + 1)]
        return cls.by_label([_label(number) for number in numbers], labels)

    @classmethod
    def by_label(cls, label_of_pair: List[str], labels: Sequence[str]) -> "Grouping":
        return cls(label_of_pair, [label for label in labels if label in set(label_of_pair)])


def group_pairs(pairs: Sequence[Pair], train: Optional[str] = None) -> Dict[str, Grouping]:
    """Groupings by kind; `seen` only with training text.

    position: the place of the next query in its session; 2 is a session's second query.
    earlier_queries: number of queries in the source, including those of earlier sessions.
    return: whether the next query was asked earlier in this session, or is new to it.
    seen: whether the training text has the next query anywhere in a session.
    shared_words: whether the next query shares a word with its session so far.
    """
    queries = [pair.queries() for pair in pairs]
    groups = {
        "position": Grouping.by_number([len(before) + 1 for before in queries]),
        "earlier_queries": Grouping.by_number(
            [1 + sum(map(is_separator, pair.source.split())) for pair in pairs]
        ),
        "return": Grouping.by_label(
            [
                "return" if pair.next_query in before else "new"
                for pair, before in zip(pairs, queries)
            ],
            ("new", "return"),
        ),
        "shared_words": Grouping.by_label(
            [
                "shared" if set(pair.next_query.split()) & set(" ".join(before).split()) else "none"
                for pair, before in zip(pairs, queries)
            ],
            ("shared", "none"),
        ),
    }
    if train is not None:
        seen = asked_in(train, {pair.next_query for pair in pairs})
        labels = ["seen" if pair.next_query in seen else "unseen" for pair in pairs]
        groups["seen"] = Grouping.by_label(labels, ("seen", "unseen"))
    return groups


def asked_in(train: str, queries: Set[str]) -> Set[str]:
    """The queries that occur in the training text."""
    return {query for query in _all_queries(train) if query in queries}


def _all_queries(prefix: str) -> Iterator[str]:
    """Every query at least once, from `PREFIX.whole` or, if it is missing, from the pairs."""
    whole = Path(f"{prefix}.whole")
    files = [whole] if whole.is_file() else [Path(f"{prefix}.{end}") for end in ("session", "next")]
    for path in files:
        for _, line in session_lines(path):
            yield from queries_of(decode_pieces(line))


def _label(number: int) -> str:
    return str(number) if number < MAX_NUMBER else f"{MAX_NUMBER}+"
