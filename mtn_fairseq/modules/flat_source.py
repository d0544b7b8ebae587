"""What a flat model reads of a source: the whole session with its separators, or its last query."""

from typing import Sequence

from torch import Tensor

from .session_layout import SessionLayout

SOURCE_CONTEXTS = ("session", "last")


def flat_source(
    src_tokens: Tensor, context: str, separators: Sequence[int], padding_idx: int
) -> Tensor:
    """(B, T) -> (B, T) as it is, or (B, longest last query), padded on the right."""
    if context == "session":
        return src_tokens
    layout = SessionLayout(src_tokens, separators, padding_idx)
    last = layout.rows(src_tokens[layout.tokens_exist], padding_idx)[layout.last_row]
    return last[:, : int(last.ne(padding_idx).sum(1).max())]
