"""The rules of the preparation and their values, the paper's by default (Section 5.1).

In their order:

1. normalise (`typed_queries`); a query that was blank or `-`, or of which nothing is left, is none;
2. rows with the same user, time and query are one query with several clicks;
3. a gap of 30 minutes or more between two queries starts a new session;
4. queries on the block list, of more than 10 tokens, or asked by too few users, are taken out. The
   paper "considered queries with length at most 10", a rule about queries: the session stays, and
   its bounds are those of all that was issued;
5. successive duplicates count once, also those that rule 4 made neighbours;
6. sessions of fewer than 3 or more than 5 queries are dropped. Training sessions may have bounds of
   their own, which contain the others: `train_queries`;
7. what remains is split 95 / 2.5 / 2.5 by session (`splits`). What falls into valid or test with a
   length for training only is dropped.

Queries of the same second have no order in a log whose rows may come in any: they are taken in
alphabetic order.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Optional, Tuple

from mtn_preprocess.text.text_settings import AOL, TextSettings

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Rules:
    """The values of the rules."""

    gap_minutes: float = 30
    min_queries: int = 3
    max_queries: int = 5
    max_query_tokens: int = 10
    min_users: int = 1
    block_list: Tuple[str, ...] = ()
    characters: str = AOL
    mask_numbers: bool = False
    mask_emails: bool = False
    split: Tuple[Decimal, ...] = (Decimal(95), Decimal("2.5"), Decimal("2.5"))
    split_by: str = "session"
    seed: int = 1
    history: int = 0
    train_queries: Optional[Tuple[int, int]] = None
    past: int = 0

    @property
    def test_bounds(self) -> Tuple[int, int]:
        """Fewest and most queries of a session for validation or test."""
        return self.min_queries, self.max_queries

    @property
    def train_bounds(self) -> Tuple[int, int]:
        """The same for training; they contain those of the test."""
        return self.train_queries or self.test_bounds

    @property
    def text(self) -> TextSettings:
        return TextSettings(self.characters, self.mask_numbers, self.mask_emails)
