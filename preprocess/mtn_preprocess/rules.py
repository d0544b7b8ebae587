"""The rules of the preparation; their defaults are the paper's values (Section 5.1).

In order:

1. normalise (`typed_queries`); drop queries that are blank, `-` or empty after normalisation;
2. rows with the same user, time and query are one query with several clicks;
3. a gap of 30 minutes or more between two queries starts a new session;
4. remove queries that are on the block list, have more than 10 tokens, or were asked by too few
   users. The paper "considered queries with length at most 10", a rule about queries: the session
   stays, and its boundaries are computed from all queries;
5. successive duplicates count once, also those that became neighbours by rule 4;
6. drop sessions of fewer than 3 or more than 5 queries. With `train_queries`, training sessions may
   have wider limits, which include these;
7. split the rest 95 / 2.5 / 2.5 by session (`splits`). Sessions in valid or test with a length
   for training only are dropped.

Queries of the same second have no defined order, because a log's rows may come in any order: they
are sorted alphabetically.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Optional, Tuple

from mtn_preprocess.text.text_settings import AOL, TextSettings

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Rules:
    """The parameters of the rules."""

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
        """Fewest and most queries per session for validation and test."""
        return self.min_queries, self.max_queries

    @property
    def train_bounds(self) -> Tuple[int, int]:
        """The same for training; this range includes that of the test."""
        return self.train_queries or self.test_bounds

    @property
    def text(self) -> TextSettings:
        return TextSettings(self.characters, self.mask_numbers, self.mask_emails)
