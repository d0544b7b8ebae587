"""The part of a source that a flat model reads: the session with separators, or the last query."""

from typing import Sequence

from torch import Tensor

from .session_layout import SessionLayout

SOURCE_CONTEXTS = ("session", "last")


def flat_source(
    src_tokens: Tensor, context: str, separators: Sequence[int], padding_idx: int
) -> Tensor:
    """(B, T) -> (B, T) unchanged, or (B, longest last query), padded on the right."""
    if context == "session":
        return src_tokens
    layout = SessionLayout(src_tokens, separators, padding_idx)
    last = layout.rows(src_tokens[layout.tokens_exist], padding_idx)[layout.last_row]
    return last[:, : int(last.ne(padding_idx).sum(1).max())]
