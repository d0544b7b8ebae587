"""A pointer into the source, hierarchical like the encoder: session, then query, then word.

    P(word) = g · P_vocabulary(word) + (1 - g) · P_copied(word)
    P_copied(word) = Σ P(session) · P(query | session) · P(place | query)

summed over the places of the word in the source. A model of two levels chooses no session; a flat
model chooses neither session nor query.
"""

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, cast

import torch
from fairseq.incremental_decoding_utils import FairseqIncrementalState
from torch import Tensor, nn
from torch.nn import functional as F

from ..modules.packed_attention import IncrementalState
from .mixture import FLOOR, add_copied
from .words import NO_COLUMN, Copyable

_GENERATE = -2 * FLOOR  # log odds of the vocabulary if nothing can be copied
_NEVER = -3e4  # a score with probability 0 after softmax, finite in half precision, too


class Copying(NamedTuple):
    """How each target position copies from the K places of its session."""

    gate: Tensor  # (…, 1) log odds of the vocabulary against copying
    share: Tensor  # (…, K) P_copied of a word at its first place, 0 at its other places
    columns: Tensor  # (…, K), or once per source; `NO_COLUMN` except at the first place of a word
    words: Tensor  # (…, K), or once per source; `NO_COLUMN` where no word is visible

    def mix(self, logits: Tensor) -> Tensor:
        """Logits (…, V) -> log probabilities (…, V + SLOTS) of the mixture.

        In beam search logits are (R, 1, V), but the parts of `Copying` group R rows by source.
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
        """A copy with columns and words for each position."""
        columns, words = (part.expand_as(self.share) for part in (self.columns, self.words))
        return self._replace(columns=columns, words=words)

    def map(self, function: Callable[[Tensor], Tensor]) -> "Copying":
        """Apply a function that rearranges positions to each part."""
        return Copying(*map(function, self))

    @property
    def log_share(self) -> Tensor:
        """(…, K) log of the copied part of each probability."""
        precise = _precise(self.share)  # in half precision the smallest share would be 0
        return self.share.to(precise).clamp_min(1e-30).log() + F.logsigmoid(-self.gate.to(precise))


def _precise(numbers: Tensor) -> torch.dtype:
    """At least single precision, with --fp16 and --amp, too."""
    return torch.promote_types(numbers.dtype, torch.float)


class Memory(NamedTuple):
    """The pointer's keys for the sources of a batch; K counts the places of all queries.

    One multiplication scores the K places, the parts of units on U levels, and the gate. A part has
    one score per query: the score of the part up to this query.
    """

    keys: Tensor  # (B, F, K + U·Q + 1)
    start: Tensor  # (B, 1, K + U·Q + 1) added to scores; `_NEVER` for places or parts without words
    columns: Tensor  # (B, 1, K)
    words: Tensor  # (B, 1, K)
    to_first: Tensor  # (B, K, K) 1 from each place of a word to its first place
    parts: Tensor  # (B, U, Q, Q) as in `Copyable`
    last: Tensor  # (B, 1) the last query of each source


class Pointer(FairseqIncrementalState, nn.Module):
    """Attention over the units of each level, from the top down to words, and a gate.

    The code of its last query so far represents a unit, as in the encoder's levels.

    Args:
        features: channels of the decoder's features
        codes: channels of the encoder's codes
        levels: 1: words of a flat source; 2: a query, then a word; 3: a session, a query, a word; …
    """

    once_per_session = True  # all hypotheses of a session share its memory
    get_incremental_state: Callable[..., Optional[Dict[str, Tensor]]]  # untyped in fairseq
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
        queries = source.words.ne(NO_COLUMN).any(2).sum(1, keepdim=True)  # each has an end token
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
        """Keys of queries (level 1), of sessions up to each query (level 2), …"""
        if self.which_query is None or self.query_key is None:  # a flat source is a single query
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
        """features (B, A, F) of A target positions per source -> (B, A, …), columns (B, 1, K)

        Args:
            source: the parts of `Copyable`; with a state, read in the first step only. Features are
                then (R, 1, F), with R / B hypotheses per source
            newest: (B, A) the last query that each position may read; default: all queries
        """
        kept = None
        if incremental_state is not None:
            kept = self.get_incremental_state(incremental_state, "memory")
        memory = self.remember(Copyable(*source)) if kept is None else Memory(**kept)
        if incremental_state is not None and kept is None:
            self.set_incremental_state(incremental_state, "memory", memory._asdict())
        return self.point(features.view(len(memory.words), -1, features.size(-1)), memory, newest)

    def point(self, features: Tensor, memory: Memory, newest: Optional[Tensor] = None) -> Copying:
        """features (B, A, F) of A target positions per source -> (B, A, …), columns (B, 1, K)

        Args:
            newest: (B, A) the last query that each position may read; default: all queries
        """
        words = memory.words
        scores = torch.baddbmm(memory.start, features, memory.keys)
        places, (levels, queries) = words.size(2), memory.parts.shape[1:3]
        place, *units, gate = scores.split([places, *[queries] * levels, 1], 2)
        place = place.view(*place.shape[:2], queries, -1)
        share = place.softmax(3)  # arbitrary for a query without words; `to_first` drops it
        if newest is not None or levels > 1:  # otherwise all queries are visible
            end = memory.last if newest is None else newest.clamp_max(queries - 1)  # 0 if flat
            parts = memory.parts[:, -1].gather(1, end.unsqueeze(2).expand(-1, -1, queries))
            units[-1] = units[-1].masked_fill(~parts, _NEVER)
        if newest is not None:
            gate = gate.masked_fill(units[-1].amax(2, keepdim=True).lt(_NEVER / 2), _GENERATE)
            query = torch.arange(queries, device=newest.device)
            seen = query.le(newest.unsqueeze(2)).unsqueeze(3)  # (B, A, Q, 1)
            words = words.view(len(words), 1, queries, -1).masked_fill(~seen, NO_COLUMN).flatten(2)
            share = share * seen
        if queries > 1:
            share = share * _query_probability(units, memory.parts).unsqueeze(3)
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
    """(B, N, D), (B, N) -> (B, N, F), (B, N): factors of the features, and a constant term.

    (W f + b) · k = f · (Wᵀ k) + b · k, so the steps of beam search do not compute W f.
    """
    keys = keys * keys.size(-1) ** -0.5
    start = keys @ query.bias
    return keys @ query.weight, start.masked_fill(~exists, _NEVER)


def _query_probability(units: Sequence[Tensor], parts: Tensor) -> Tensor:
    """Scores (B, A, Q) of each level, with the top level masked -> P(query) (B, A, Q).

    From the top down, the probability of each unit is divided among its parts.
    """
    *lower, top = units
    chosen = top.softmax(2)
    for scores, own in zip(reversed(lower), reversed(parts.unbind(1)[:-1])):
        within = scores.unsqueeze(2).masked_fill(~own.unsqueeze(1), _NEVER).softmax(3)
        chosen = (chosen.unsqueeze(2) @ within).squeeze(2)
    return chosen
