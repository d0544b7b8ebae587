"""Where everything stands in a batch of sessions: tokens in queries, queries in sessions, …

As `mtn_fairseq.modules.session_layout`, in numpy. B sessions, T tokens, Q queries; padding is on
the right.
"""

from typing import List, NamedTuple, Sequence

import numpy as np

from .vocabulary import END, PAD


class LevelView(NamedTuple):
    """How the queries of each session look to the encoder of one level (2 and up)."""

    position: np.ndarray  # (B, Q) which part of its unit this is
    visible: np.ndarray  # (B, Q, Q) [i, j]: j is i itself, or ends an earlier part of i's unit


class SessionLayout:
    """The structure of `sessions`, each the indices of its tokens.

    Args:
        separators: indices of `<q>`, `<session>`, …; none for a model that reads a session flat
    """

    def __init__(self, sessions: Sequence[List[int]], separators: Sequence[int]) -> None:
        length = max(map(len, sessions))
        self.tokens = np.array([[*each, *[PAD] * (length - len(each))] for each in sessions])
        self.exists = self.tokens != PAD  # (B, T)
        rank = np.zeros_like(self.tokens)  # which level a token ends a unit of; 0 for a word
        for level, index in enumerate(separators, 1):
            rank[self.tokens == index] = level
        self.ends_query = ends_query = rank > 0  # (B, T) its separator; END is none
        slot: np.ndarray = np.cumsum(ends_query, 1) - ends_query
        self.query = np.where(self.exists, slot, -1)  # (B, T) of each token
        self.last = self.query.max(1)  # (B,)
        self.queries = int(self.last.max()) + 1  # Q
        starts = np.ones_like(ends_query)
        starts[:, 1:] = ends_query[:, :-1]
        steps = np.arange(length)
        position = steps - np.maximum.accumulate(np.where(starts, steps, 0), 1)
        self.position = np.where(self.exists, position, 0)  # (B, T) within its query
        self.end_rank = np.zeros((len(sessions), self.queries), dtype=np.int64)
        session, place = ends_query.nonzero()
        self.end_rank[session, slot[session, place]] = rank[session, place]

    @property
    def is_last_of_query(self) -> np.ndarray:
        """(B, T): the token that ends each query"""
        following = np.append(self.query[:, 1:], np.full((len(self.query), 1), -1), 1)
        return self.exists & (following != self.query)

    def level(self, level: int, top: bool) -> LevelView:
        """What the encoder of a level sees; at the top, the whole source is one unit."""
        ends_part = self.end_rank >= level - 1
        ends_unit = np.zeros_like(ends_part) if top else self.end_rank >= level
        part: np.ndarray = np.cumsum(ends_part, 1) - ends_part
        unit: np.ndarray = np.cumsum(ends_unit, 1) - ends_unit
        starts_unit = np.ones_like(ends_unit)
        starts_unit[:, 1:] = ends_unit[:, :-1]
        position = part - np.maximum.accumulate(np.where(starts_unit, part, 0), 1)
        same_unit: np.ndarray = unit[:, :, None] == unit[:, None, :]
        earlier = np.tri(self.queries, k=-1, dtype=bool)
        visible = same_unit & earlier & ends_part[:, None, :]
        return LevelView(position, visible | np.eye(self.queries, dtype=bool))


def query_tokens(layout: SessionLayout, separators: Sequence[int]) -> np.ndarray:
    """(B, T): each query ends in `<q>`, whatever ended it: encoded alike wherever it is."""
    ends = layout.ends_query | (layout.tokens == END)
    return np.where(ends, separators[0], layout.tokens)
