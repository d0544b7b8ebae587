"""Which words of a session can be copied, and their columns in the output distribution.

The distribution has one column per dictionary word, followed by `SLOTS` for out-of-vocabulary
words: the first such word of a session gets the first slot, and so on. So the columns of a session
do not depend on its batch, and do not change while the session grows.
"""

from typing import List, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from ..data.spelled_words import UNKNOWN_WORDS
from ..modules.session_layout import SessionLayout

SLOTS = 64  # distinct unknown words per session; further ones are not copied
NO_COLUMN = 0  # the column of tokens that cannot be copied; it is that of <s>, which no source has


class Copyable(NamedTuple):
    """The words that a decoder may copy, by source and query.

    For a flat model, a source is a single query.
    """

    codes: Tensor  # (B, Q, L, C)
    words: Tensor  # (B, Q, L) indices in the dictionary, or of unknown words
    columns: Tensor  # (B, Q, L)
    query_codes: Tensor  # (B, Q, C): of the token that ends each query
    parts: Tensor  # (B, U, Q, Q) `LevelView.visible` of levels 2, 3, …: at query i, j ends a part


class Columns:
    """Maps the words of sources to columns and back.

    Args:
        vocabulary: size of the dictionary
        not_words: indices that are never copied: `<pad>`, `</s>`, `<q>`, …, and `<unk>`
    """

    def __init__(self, vocabulary: int, not_words: Sequence[int]) -> None:
        self.vocabulary = vocabulary
        self.not_words = tuple(not_words)

    def of(self, src_tokens: Tensor) -> Tensor:
        """(B, T) -> (B, T): the column of each word; `NO_COLUMN` if it cannot be copied."""
        same = src_tokens.unsqueeze(2).eq(src_tokens.unsqueeze(1))  # (B, T, T)
        is_first = ~same.tril(-1).any(2)
        unknown = src_tokens.ge(UNKNOWN_WORDS)
        slot = (is_first & unknown).cumsum(1) - 1  # correct at the first place of a word
        slot = (same & is_first.unsqueeze(1)).mul(slot.unsqueeze(1)).sum(2)  # and at all places
        columns = torch.where(unknown, self.vocabulary + slot, src_tokens)
        too_many = unknown & slot.ge(SLOTS)
        not_a_word = torch.isin(src_tokens, src_tokens.new_tensor(self.not_words))
        return columns.masked_fill(too_many | not_a_word, NO_COLUMN)

    def of_part(self, src_tokens: Tensor, read: Tensor) -> Tensor:
        """(B, T), (B, T') -> (B, T'): columns of the part that a model reads of each source."""
        if read is src_tokens:
            return self.of(src_tokens)
        same = read.unsqueeze(2).eq(src_tokens.unsqueeze(1))
        return self.of(src_tokens).unsqueeze(1).masked_fill(~same, NO_COLUMN).amax(2)

    def of_targets(
        self, src_tokens: Tensor, target: Tensor, unk: int, read: Optional[Tensor] = None
    ) -> Tensor:
        """(B, T), (B, T') -> (B, T'): the column of each target token, one pair per source.

        Args:
            read: (B, T'') the part of each source that a model reads, and so can copy; default: all
        """
        read = src_tokens if read is None else read
        words = read.unsqueeze(1).expand(-1, target.size(1), -1)
        columns = self.of_part(src_tokens, read).unsqueeze(1).expand_as(words)
        return columns_of_targets(target, words, columns, unk)

    def words_of(self, src_tokens: Tensor, columns: Tensor, counts: List[int]) -> Tensor:
        """(B, T), columns (n,) -> (n,): the indices of their words.

        Args:
            counts: number of columns of the first source, of the second, …
        """
        slots = columns.ge(self.vocabulary)
        if not bool(slots.any()):
            return columns
        source = torch.repeat_interleave(torch.tensor(counts, device=slots.device))[slots]
        here = self.of(src_tokens)[source]
        place = here.eq(columns[slots].unsqueeze(1)).int().argmax(1)
        return columns.masked_scatter(slots, src_tokens[source, place])

    def copyable_by_query(
        self, src_tokens: Tensor, codes: Tensor, layout: SessionLayout, levels: int
    ) -> Copyable:
        """src_tokens (B, T), and codes (n, C) of the real tokens

        Args:
            levels: of the model, at least 2; the top level reads the whole source as one unit
        """
        end = torch.bincount(layout.token_row).cumsum(0) - 1  # (N,) the last token of each query
        both = torch.stack([src_tokens, self.of(src_tokens)], 2)[layout.tokens_exist]
        words, columns = layout.slots(layout.rows(both, NO_COLUMN)).unbind(3)
        views = [layout.level(level, top=level == levels) for level in range(2, levels + 1)]
        return Copyable(
            layout.slots(layout.rows(codes)),
            words,
            columns,
            layout.slots(codes[end]),
            torch.stack([view.visible for view in views], 1),
        )

    def copyable_flat(self, src_tokens: Tensor, read: Tensor, codes: Tensor) -> Copyable:
        """src_tokens (B, T), the part that a model reads (B, T'), and its codes (B, T', C)"""
        columns = self.of_part(src_tokens, read)
        codes, read, columns = (part.unsqueeze(1) for part in (codes, read, columns))
        only = torch.ones(len(read), 1, 1, 1, dtype=torch.bool, device=read.device)
        return Copyable(codes, read, columns, codes[:, :, 0], only)


def columns_of_targets(target: Tensor, words: Tensor, columns: Tensor, unk: int) -> Tensor:
    """target (…) -> (…): an unknown word gets its slot if it can be copied, otherwise `<unk>`.

    Args:
        words: (…, K) indices of the words that each target token could be copied from
        columns: (…, K) columns of these words
    """
    here = words.eq(target.unsqueeze(-1)) & columns.ne(NO_COLUMN)
    copied = columns.masked_fill(~here, NO_COLUMN).amax(-1)
    unknown = target.ge(UNKNOWN_WORDS)
    return torch.where(unknown, copied.masked_fill(copied.eq(NO_COLUMN), unk), target)
