"""A stock Transformer encoder over the flat source."""

from typing import Any, Dict, List, Optional, Sequence

from torch import Tensor

from .flat_source import flat_source
from .query_encoder import QueryEncoder


class FlatEncoder(QueryEncoder):
    """Reads the whole session with its separators, or its last query only.

    Args:
        others: see `QueryEncoder`
        separators: dictionary indices of `<q>`, `<session>`, …
        source_context: `session` or `last`
    """

    def __init__(self, *others: Any, separators: Sequence[int], source_context: str) -> None:
        super().__init__(*others)
        self.separators = list(separators)
        self.source_context = source_context

    def forward(
        self, src_tokens: Tensor, src_lengths: Optional[Tensor] = None, **others: Any
    ) -> Dict[str, List[Tensor]]:
        tokens = flat_source(src_tokens, self.source_context, self.separators, self.padding_idx)
        return super().forward(tokens, tokens.ne(self.padding_idx).sum(1), **others)
