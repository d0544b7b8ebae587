"""The structure of a batch of sessions: tokens in queries, queries in sessions, …

The same as `mtn_fairseq.modules.session_layout`, in numpy. B sessions, T tokens, Q queries; padding
is on the right.
"""

from typing import List, NamedTuple, Sequence

import numpy as np

from .vocabulary import END, PAD


class LevelView(NamedTuple):
    """The queries of each session as the encoder of one level (2 and up) sees them."""

    position: np.ndarray  # (B, Q) index of the part within its unit
    visible: np.ndarray  # (B, Q, Q) [i, j]: j is i itself, or ends an earlier part of i's unit


class SessionLayout:
    """The structure of `sessions`, each a list of token indices.

    Args:
        separators: indices of `<q>`, `<session>`, …; empty for a flat model
    """

    def __init__(self, sessions: Sequence[List[int]], separators: Sequence[int]) -> None:
        length = max(map(len, sessions))
        self.tokens = np.array([[*each, *[PAD] * (length - len(each))] for each in sessions])
        self.exists = self.tokens != PAD  # (B, T)
        rank = np.zeros_like(self.tokens)  # the level whose unit a token ends; 0 for a word
        for level, index in enumerate(separators, 1):
            rank[self.tokens == index] = level
        self.ends_query = ends_query = rank > 0  # (B, T) separators, without END
        slot: np.ndarray = np.cumsum(ends_query, 1) - ends_query
        self.query = np.where(self.exists, slot, -1)  # (B, T) the query of each token
        self.last = self.query.max(1)  # (B,)
        self.queries = int(self.last.max()) + 1  # Q
        starts = np.ones_like(ends_query)
        starts[:, 1:] = ends_query[:, :-1]
        steps = np.arange(length)
        position = steps - np.maximum.accumulate(np.where(starts, steps, 0), 1)
        self.position = np.where(self.exists, position, 0)  # (B, T) position within the query
        self.end_rank = np.zeros((len(sessions), self.queries), dtype=np.int64)
        session, place = ends_query.nonzero()
        self.end_rank[session, slot[session, place]] = rank[session, place]

    @property
    def is_last_of_query(self) -> np.ndarray:
        """(B, T): whether a token ends its query"""
        following = np.append(self.query[:, 1:], np.full((len(self.query), 1), -1), 1)
        return self.exists & (following != self.query)

    def level(self, level: int, top: bool) -> LevelView:
        """The view of the encoder of a level; at the top, the whole source is one unit."""
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
    """(B, T): every query ends with `<q>`, so its codes do not depend on its place."""
    ends = layout.ends_query | (layout.tokens == END)
    return np.where(ends, separators[0], layout.tokens)
