"""A pointer into the source, as hierarchical as its encoder: which session, query, then word.

    P(word) = g · P_vocabulary(word) + (1 - g) · P_copied(word)
    P_copied(word) = Σ P(session) · P(query | session) · P(place | query)

summed over the places of the source where the word stands. A model of two levels chooses no
session, a flat one neither session nor query.
"""

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, cast

import torch
from fairseq.incremental_decoding_utils import FairseqIncrementalState
from torch import Tensor, nn
from torch.nn import functional as F

from ..modules.packed_attention import IncrementalState
from .mixture import FLOOR, add_copied
from .words import NO_COLUMN, Copyable

_GENERATE = -2 * FLOOR  # log odds of the vocabulary where there is nothing to copy
_NEVER = -3e4  # as a score it leaves nothing of its softmax, and is a number in half precision, too


class Copying(NamedTuple):
    """How each target position copies, from K places of its session."""

    gate: Tensor  # (…, 1) log odds of the vocabulary against copying
    share: Tensor  # (…, K) of copying: all of a word's at its first place, 0 at the others
    columns: Tensor  # (…, K), or once a source; `NO_COLUMN` where it is not the first of its word
    words: Tensor  # (…, K), or once a source; `NO_COLUMN` where none is seen

    def mix(self, logits: Tensor) -> Tensor:
        """Logits (…, V) -> log probabilities (…, V + SLOTS) of the mixture.

        In beam search the logits stand in one column, and here the hypotheses of a source together.
        """
        precise = _precise(logits)
        together = logits.reshape(*self.share.shape[:-1], logits.size(-1))
        mixed = add_copied(
            F.log_softmax(together, -1, dtype=precise),
            F.logsigmoid(self.gate.to(precise)),
            self.log_share.to(precise),
            self.columns.expand_as(self.share),
            self.share.gt(0),
        )
        return mixed.view(*logits.shape[:-1], mixed.size(-1))

    def each_position(self) -> "Copying":
        """The same, with columns and words of each."""
        columns, words = (part.expand_as(self.share) for part in (self.columns, self.words))
        return self._replace(columns=columns, words=words)

    def map(self, function: Callable[[Tensor], Tensor]) -> "Copying":
        """The same, of positions in other places."""
        return Copying(*map(function, self))

    @property
    def log_share(self) -> Tensor:
        """(…, K) log of the copied part of each probability."""
        precise = _precise(self.share)  # in half of it, the smallest share would be 0
        return self.share.to(precise).clamp_min(1e-30).log() + F.logsigmoid(-self.gate.to(precise))


def _precise(numbers: Tensor) -> torch.dtype:
    """Single precision at least, with --fp16 and --amp, too."""
    return torch.promote_types(numbers.dtype, torch.float)


class Memory(NamedTuple):
    """What the pointer keeps of the sources of a batch; places are counted through all queries.

    One multiplication scores K places, the parts of U levels of units, and the gate. Each part has
    a score at each of the Q queries: that of the part as far as it is there by then.
    """

    keys: Tensor  # (B, F, K + U·Q + 1)
    start: Tensor  # (B, 1, K + U·Q + 1) what is added; `_NEVER`, for places or parts without words
    columns: Tensor  # (B, 1, K)
    words: Tensor  # (B, 1, K)
    to_first: Tensor  # (B, K, K) 1 from each place that has a word to the first one of its word
    parts: Tensor  # (B, U, Q, Q) as in `Copyable`
    last: Tensor  # (B, 1) the last query of each source


class Pointer(FairseqIncrementalState, nn.Module):
    """Attention to the units of each level, from the top down to words; and a gate.

    A unit is known by the code of its last query so far, as in the encoder's levels.

    Args:
        features: channels of what a decoder knows at a target position
        codes: channels of what an encoder knows of a token
        levels: 1: words of a flat source; 2: a query, then a word; 3: a session, a query, a word; …
    """

    once_per_session = True  # its memory, for all hypotheses
    get_incremental_state: Callable[..., Optional[Dict[str, Tensor]]]  # fairseq's have no types
    set_incremental_state: Callable[..., None]

    def __init__(self, features: int, codes: int, levels: int) -> None:
        super().__init__()
        size = max(codes // 2, 1)
        self.which_word = nn.Linear(features, size)
        self.word_key = nn.Linear(codes, size, bias=False)
        self.which_query = nn.Linear(features, size) if levels > 1 else None
        self.query_key = nn.Linear(codes, size, bias=False) if levels > 1 else None
        self.gate = nn.Linear(features, 1)
        above = range(3, levels + 1)  # sessions, …
        self.which_unit = nn.ModuleList(nn.Linear(features, size) for _ in above)
        self.unit_key = nn.ModuleList(nn.Linear(codes, size, bias=False) for _ in above)

    def remember(self, source: Copyable) -> Memory:
        columns = source.columns.flatten(1)
        exists = columns.ne(NO_COLUMN)
        same = columns.unsqueeze(2).eq(columns.unsqueeze(1))
        is_first = ~same.tril(-1).any(2)
        to_first = same & (is_first & exists).unsqueeze(1)
        words = _keys(self.which_word, self.word_key(source.codes.flatten(1, 2)), exists)
        has_words = exists.view_as(source.columns).any(2)
        units = self._unit_keys(source, has_words)
        nothing = ~has_words.any(1, keepdim=True)
        gate = self.gate.weight.masked_fill(nothing.unsqueeze(2), 0)
        gate_start = self.gate.bias.masked_fill(nothing, _GENERATE)
        keys, start = (torch.cat(parts, 1) for parts in zip(words, *units, (gate, gate_start)))
        queries = source.words.ne(NO_COLUMN).any(2).sum(1, keepdim=True)  # each has its end
        return Memory(
            keys.transpose(1, 2),
            start.unsqueeze(1),
            columns.masked_fill(~is_first, NO_COLUMN).unsqueeze(1),
            source.words.flatten(1).masked_fill(~exists, NO_COLUMN).unsqueeze(1),
            to_first.to(keys),
            source.parts,
            queries - 1,
        )

    def _unit_keys(self, source: Copyable, has_words: Tensor) -> List[Tuple[Tensor, Tensor]]:
        """Of queries (level 1), of sessions as far as they are there at each query (level 2), …"""
        if self.which_query is None or self.query_key is None:  # there is but one
            keys = source.codes.new_zeros(*has_words.shape, self.which_word.in_features)
            return [(keys, keys[..., 0].masked_fill(~has_words, _NEVER))]
        found = [_keys(self.which_query, self.query_key(source.query_codes), has_words)]
        for which, key, parts in zip(self.which_unit, self.unit_key, source.parts.unbind(1)):
            has_words = (parts & has_words.unsqueeze(1)).any(2)
            found.append(_keys(cast(nn.Linear, which), key(source.query_codes), has_words))
        return found

    def forward(
        self,
        features: Tensor,
        source: Sequence[Tensor],
        newest: Optional[Tensor] = None,
        incremental_state: Optional[IncrementalState] = None,
    ) -> Copying:
        """features (B, A, F): of A target positions per source -> (B, A, …), columns (B, 1, K)

        Args:
            source: the parts of `Copyable`; with a state, read once: its memory goes through beam
                search with the hypotheses, R / B of each source in features (R, 1, F)
            newest: (B, A) the last query of its source that each position knows of; all, if not
                given
        """
        kept = None
        if incremental_state is not None:
            kept = self.get_incremental_state(incremental_state, "memory")
        memory = self.remember(Copyable(*source)) if kept is None else Memory(**kept)
        if incremental_state is not None and kept is None:
            self.set_incremental_state(incremental_state, "memory", memory._asdict())
        return self.point(features.view(len(memory.words), -1, features.size(-1)), memory, newest)

    def point(self, features: Tensor, memory: Memory, newest: Optional[Tensor] = None) -> Copying:
        """features (B, A, F): of A target positions a source -> (B, A, …), columns (B, 1, K)

        Args:
            newest: (B, A) the last query that each position knows of; that of the source, if not
                given
        """
        words = memory.words
        scores = torch.baddbmm(memory.start, features, memory.keys)
        places, (levels, queries) = words.size(2), memory.parts.shape[1:3]
        place, *units, gate = scores.split([places, *[queries] * levels, 1], 2)
        place = place.view(*place.shape[:2], queries, -1)
        share = place.softmax(3)  # numbers, too, where a query has no words: `to_first` drops them
        if newest is not None or levels > 1:  # else all queries with words
            end = memory.last if newest is None else newest.clamp_max(queries - 1)  # flat: one
            parts = memory.parts[:, -1].gather(1, end.unsqueeze(2).expand(-1, -1, queries))
            units[-1] = units[-1].masked_fill(~parts, _NEVER)
        if newest is not None:
            gate = gate.masked_fill(units[-1].amax(2, keepdim=True).lt(_NEVER / 2), _GENERATE)
            query = torch.arange(queries, device=newest.device)
            seen = query.le(newest.unsqueeze(2)).unsqueeze(3)  # (B, A, Q, 1)
            words = words.view(len(words), 1, queries, -1).masked_fill(~seen, NO_COLUMN).flatten(2)
            share = share * seen
        if queries > 1:
            share = share * _choose(units, memory.parts).unsqueeze(3)
        share = torch.bmm(share.flatten(2), memory.to_first)
        return Copying(gate, share, memory.columns, words)

    def reorder_incremental_state(
        self, incremental_state: IncrementalState, new_order: Tensor
    ) -> None:
        memory = self.get_incremental_state(incremental_state, "memory")
        if memory is not None:
            moved = {name: part.index_select(0, new_order) for name, part in memory.items()}
            self.set_incremental_state(incremental_state, "memory", moved)


def _keys(query: nn.Linear, keys: Tensor, exists: Tensor) -> Tuple[Tensor, Tensor]:
    """(B, N, D), (B, N) -> (B, N, F), (B, N): what features are multiplied by, and what is added.

    (W f + b) · k is f · (Wᵀ k) + b · k, and so each step of a beam search need not compute W f.
    """
    keys = keys * keys.size(-1) ** -0.5
    start = keys @ query.bias
    return keys @ query.weight, start.masked_fill(~exists, _NEVER)


def _choose(units: Sequence[Tensor], parts: Tensor) -> Tensor:
    """Scores (B, A, Q) of each level, those of the top within what is known -> P(query) (B, A, Q).

    From the top down, the probability of a unit is shared out among its parts.
    """
    *lower, top = units
    chosen = top.softmax(2)
    for scores, own in zip(reversed(lower), reversed(parts.unbind(1)[:-1])):
        within = scores.unsqueeze(2).masked_fill(~own.unsqueeze(1), _NEVER).softmax(3)
        chosen = (chosen.unsqueeze(2) @ within).squeeze(2)
    return chosen
