"""A pointer into the session, as hierarchical as its encoder: which query, then which word.

    P(word) = g · P_vocabulary(word) + (1 - g) · Σ P(query) · P(place | query)

summed over the places of the session where the word stands.
"""

from typing import Callable, Dict, NamedTuple, Optional

import torch
from fairseq.incremental_decoding_utils import FairseqIncrementalState
from torch import Tensor, nn
from torch.nn import functional as F

from .copy_mixture import FLOOR, add_copied
from .copyable_words import NOTHING, Copyable
from .packed_attention import Grid


class Copying(NamedTuple):
    """How each target position copies, from K places of its session."""

    gate: Tensor  # (…, 1) log odds of the vocabulary against copying
    share: Tensor  # (…, K) of copying: all of a word's at its first place, 0 at the others
    columns: Tensor  # (…, K)
    words: Tensor  # (…, K); `NOTHING` where none is seen

    def mix(self, logits: Tensor) -> Tensor:
        """Logits (…, V) -> log probabilities (…, V + SLOTS) of the mixture."""
        precise = _precise(logits)
        return add_copied(
            F.log_softmax(logits, -1, dtype=precise),
            F.logsigmoid(self.gate.to(precise)),
            self.log_share.to(precise),
            self.columns,
            self.share.gt(0),
        )

    @property
    def log_share(self) -> Tensor:
        """(…, K) log of the copied part of each probability."""
        precise = _precise(self.share)  # in half of it, the smallest share would be 0
        return self.share.to(precise).clamp_min(1e-30).log() + F.logsigmoid(-self.gate.to(precise))


def _precise(numbers: Tensor) -> torch.dtype:
    """Single precision at least, with --fp16 and --amp, too."""
    return torch.promote_types(numbers.dtype, torch.float)


class Memory(NamedTuple):
    """What the pointer keeps of the sources of a batch; places are counted through all queries."""

    word_keys: Tensor  # (B, Q, L, D)
    query_keys: Tensor  # (B, Q, D)
    exists: Tensor  # (B, Q, L) whether there is a word
    columns: Tensor  # (B, K), K = Q · L
    words: Tensor  # (B, K)
    to_first: Tensor  # (B, K, K) 1 from each place to the first one of its word


class Pointer(FairseqIncrementalState, nn.Module):
    """Attention to queries, and within each to its words; and a gate.

    Args:
        features: channels of what a decoder knows at a target position
        codes: channels of what an encoder knows of a token
        hierarchical: whether sources come query by query
    """

    get_incremental_state: Callable[..., Optional[Dict[str, Tensor]]]  # fairseq's have no types
    set_incremental_state: Callable[..., None]

    def __init__(self, features: int, codes: int, hierarchical: bool) -> None:
        super().__init__()
        size = max(codes // 2, 1)
        self.which_word = nn.Linear(features, size)
        self.word_key = nn.Linear(codes, size, bias=False)
        self.which_query = nn.Linear(features, size) if hierarchical else None
        self.query_key = nn.Linear(codes, size, bias=False) if hierarchical else None
        self.gate = nn.Linear(features, 1)
        self.beam_size = 1

    def remember(self, source: Copyable) -> Memory:
        columns = source.columns.flatten(1)
        same = columns.unsqueeze(2).eq(columns.unsqueeze(1))
        is_first = ~same.tril(-1).any(2)
        to_first = same & is_first.unsqueeze(1) & columns.ne(NOTHING).unsqueeze(2)
        return Memory(
            self.word_key(source.codes),
            source.query_codes if self.query_key is None else self.query_key(source.query_codes),
            source.columns.ne(NOTHING),
            columns,
            source.words.flatten(1),
            to_first.to(source.codes.dtype),
        )

    def point(self, features: Tensor, memory: Memory, seen: Optional[Tensor] = None) -> Copying:
        """features (B, A, F): of A target positions a source -> (B, A, …)

        Args:
            seen: (B, A, Q) which queries each position knows of; all, if not said
        """
        has_words = memory.exists.any(2).unsqueeze(1)  # (B, 1, Q)
        seen = has_words if seen is None else seen & has_words
        scale = memory.word_keys.size(-1) ** -0.5
        scores = torch.einsum("bad,bqld->baql", self.which_word(features) * scale, memory.word_keys)
        place = _softmax(scores, memory.exists.unsqueeze(1))
        if self.which_query is not None:
            asked = self.which_query(features) * scale
            query = _softmax(asked @ memory.query_keys.transpose(1, 2), seen)
            place = place * query.unsqueeze(3)
        share = place.flatten(2) @ memory.to_first
        anything = seen.any(2, keepdim=True)
        gate = self.gate(features).masked_fill(~anything, -2 * FLOOR)
        here = seen.unsqueeze(3) & memory.exists.unsqueeze(1)
        words = memory.words.unsqueeze(1).expand(-1, features.size(1), -1)
        return Copying(
            gate,
            share,
            memory.columns.unsqueeze(1).expand_as(words),
            words.masked_fill(~here.flatten(2), NOTHING),
        )

    def point_packed(
        self, features: Tensor, source: Copyable, asking: Grid, newest: Tensor
    ) -> Copying:
        """features (R, F) -> (R, …)

        Args:
            newest: (R,) the last query of its source that each position knows of
        """
        memory = self.remember(source)
        query = torch.arange(memory.exists.size(1), device=newest.device)
        seen = query.le(asking.lay_out(newest).unsqueeze(2))
        copying = self.point(asking.lay_out(features), memory, seen)
        return Copying(*map(asking.pick_up, copying))

    def point_next(
        self,
        features: Tensor,
        source: Copyable,
        incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]],
    ) -> Copying:
        """features (R, T', F) of hypotheses, R / B of each source -> (R, T', …)

        The source is read once; then its memory goes through beam search with the hypotheses.
        """
        kept = None
        if incremental_state is not None:
            kept = self.get_incremental_state(incremental_state, "memory")
        memory = self.remember(source) if kept is None else Memory(**kept)
        if incremental_state is not None:
            self.set_incremental_state(incremental_state, "memory", memory._asdict())
        together = features.view(len(memory.words), -1, features.size(-1))
        copying = self.point(together, memory)
        return Copying(*(part.reshape(*features.shape[:2], -1) for part in copying))

    def set_beam_size(self, beam_size: int) -> None:
        """How many hypotheses of a source stand side by side on one memory of it."""
        self.beam_size = beam_size

    def reorder_incremental_state(
        self, incremental_state: Dict[str, Dict[str, Optional[Tensor]]], new_order: Tensor
    ) -> None:
        memory = self.get_incremental_state(incremental_state, "memory")
        if memory is None:
            return
        if self.beam_size > 1:  # hypotheses change places within their source only
            if len(memory["words"]) * self.beam_size == len(new_order):
                return
            first = new_order.view(-1, self.beam_size)[:, 0]
            new_order = torch.div(first, self.beam_size, rounding_mode="floor")
        moved = {name: part.index_select(0, new_order) for name, part in memory.items()}
        self.set_incremental_state(incremental_state, "memory", moved)


def _softmax(scores: Tensor, exists: Tensor) -> Tensor:
    """Over the last dimension, of what exists; zeros where nothing does."""
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~exists, lowest).softmax(-1) * exists
