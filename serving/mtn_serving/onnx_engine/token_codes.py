"""The codes of level 1 of a session, reused when the session grows.

The codes of a query at level 1 depend only on that query, not on its place in the session.
"""

from typing import NamedTuple

import numpy as np

INPUT, OUTPUT = "known_codes", "token_codes"  # of the encoder's graph, if it supports them


class TokenCodes(NamedTuple):
    tokens: np.ndarray  # (B, T) as level 1 reads them: each query ends with `<q>`
    codes: np.ndarray  # (B, T, C)

    @classmethod
    def none_of(cls, tokens: np.ndarray, channels: int) -> "TokenCodes":
        """Codes of no tokens."""
        return cls(tokens[:, :0], np.zeros((len(tokens), 0, channels), dtype=np.float32))

    def at_start_of(self, tokens: np.ndarray, end: int) -> "TokenCodes":
        """The codes that a longer session (1, T) starts with: all, or all except truncated oldest
        queries, or none. At least one query is left to encode.

        Args:
            end: index of `<q>`
        """
        known, grown = self.tokens[0].tolist(), tokens[0].tolist()
        starts = [0, *(place + 1 for place, token in enumerate(known) if token == end)]
        start = next(
            each
            for each in starts
            if len(known) - each < len(grown) and grown[: len(known) - each] == known[each:]
        )  # an empty start always fits
        return TokenCodes(*(array[:, start:] for array in self))
