"""What level 1 made of a session, kept for the session that grows from it.

The codes of a query at level 1 depend on that query alone: they stay the same wherever it stands.
"""

from typing import NamedTuple

import numpy as np

INPUT, OUTPUT = "known_codes", "token_codes"  # of the encoder's graph, where it can take them


class TokenCodes(NamedTuple):
    tokens: np.ndarray  # (B, T) as level 1 reads them: each query ends in `<q>`
    codes: np.ndarray  # (B, T, C)

    @classmethod
    def none_of(cls, tokens: np.ndarray, channels: int) -> "TokenCodes":
        """Of the first 0 tokens."""
        return cls(tokens[:, :0], np.zeros((len(tokens), 0, channels), dtype=np.float32))

    def at_start_of(self, tokens: np.ndarray, end: int) -> "TokenCodes":
        """The part that a grown session (1, T) starts with: all of it, or without the oldest
        queries where these were cut, or nothing. At least one query is left to encode.

        Args:
            end: index of `<q>`
        """
        known, grown = self.tokens[0].tolist(), tokens[0].tolist()
        starts = [0, *(place + 1 for place, token in enumerate(known) if token == end)]
        start = next(
            each
            for each in starts
            if len(known) - each < len(grown) and grown[: len(known) - each] == known[each:]
        )  # nothing is the start of all, so there is one
        return TokenCodes(*(array[:, start:] for array in self))
