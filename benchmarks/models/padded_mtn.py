"""`mtn` with ordinary padding: the same layers and parameters, computed at every batch position.

The plugin feeds only real tokens to its layers. Here the same layers get rows of equal length, and
attention masks the padding: (B·Q, L) query positions and (B·K, T') target positions, where K is the
largest number of targets per session. Copying is not supported.
"""

from typing import Any, Dict, Optional, Tuple

import torch
from fairseq.models import register_model
from fairseq.tasks import FairseqTask
from torch import Tensor

from mtn_fairseq.description import ModelDescription
from mtn_fairseq.models.mtn import MTNConfig, MTNModel
from mtn_fairseq.modules.encoded import Encoded
from mtn_fairseq.modules.mtn_encoder import MTNEncoder
from mtn_fairseq.modules.packed_attention import AttentionPlan, Grid
from mtn_fairseq.modules.packed_layers import PackedDecoder
from mtn_fairseq.modules.session_layout import SessionLayout, query_tokens
from mtn_fairseq.modules.target_plans import TargetPlan


class DenseLayout(SessionLayout):
    """All sources have equally many queries, all queries equally many tokens: `(B·Q·L, C)`."""

    def __init__(self, src_tokens: Tensor, *others: Any) -> None:
        super().__init__(src_tokens, *others)
        sources, queries = self.slots_exist.shape
        length = int(self.token_position.max()) + 1
        row = self.token_source * queries + self.token_row - self.first_row[self.token_source]
        self.grid = Grid(sources * queries, length, row * length + self.token_position)
        self.exists = self.grid.pad(torch.ones_like(row, dtype=torch.bool), False)  # (B·Q, L)

    def rows(self, tokens: Tensor, padding: float = 0) -> Tensor:
        """(B·Q·L, C) -> (B·Q, L, C)"""
        return tokens.unflatten(0, self.exists.shape).masked_fill(
            ~self.exists.unsqueeze(2), padding
        )

    def slots(self, queries: Tensor) -> Tensor:
        """(B·Q, C) -> (B, Q, C)"""
        return queries.unflatten(0, self.slots_exist.shape)


class PaddedEncoder(MTNEncoder):
    def encode_sources(self, src_tokens: Tensor) -> Encoded:
        layout = DenseLayout(src_tokens, self.separators, self.padding_idx)
        grid, exists = layout.grid, layout.exists
        tokens = query_tokens(src_tokens, layout, self.separators, self.dictionary.eos())
        dense = Grid(grid.rows, grid.length)
        # Attention needs at least one visible position, also in a row without a query.
        visible = (exists | ~exists.any(1, keepdim=True)).unsqueeze(1)
        codes = self.query_encoder.encode(
            grid.pad(tokens, self.padding_idx).flatten(),
            _positions(grid.rows, grid.length, tokens),
            AttentionPlan(dense, dense, visible),
        )
        from_above = self._levels_down(self._levels_up(codes, layout)).flatten(0, 1)  # (B·Q, C)
        codes = self.norms[0](codes.unflatten(0, exists.shape) + from_above.unsqueeze(1))
        last_query_only = self.decoder_context == "query"
        return Encoded(grid.unpad(codes), layout, last_query_only)


class PaddedDecoder(PackedDecoder):
    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Any,
        incremental_state: Optional[Dict[str, Any]] = None,
        *others: Any,
        target_rows: Optional[Tensor] = None,
        packed: bool = False,
        **options: Any,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        if incremental_state is not None:  # one token per hypothesis: nothing to pad
            return super().forward(
                prev_output_tokens, encoder_out, incremental_state, *others, **options
            )
        layout = encoder_out.layout
        rows = layout.last_row if target_rows is None else target_rows  # (P,)
        targets = Grid.of(layout.query_source[rows], len(layout.queries))  # (B, K)
        tokens = targets.pad(prev_output_tokens, self.padding_idx).flatten(0, 1)  # (B·K, T')
        features, _ = self.decode(
            tokens.flatten(), self._plan(encoder_out, targets, rows, *tokens.shape)
        )
        # (B·K·T', C) -> (B, K, T', C) -> (P, T', C)
        features = features.unflatten(0, (targets.rows, targets.length, tokens.size(1)))
        features, extra = targets.unpad(features), {"attn": [None], "copying": None}
        if packed:
            extra["real_positions"] = prev_output_tokens.ne(self.padding_idx)
            features = features[extra["real_positions"]]
        return self.output_layer(features), extra

    def _plan(
        self, encoded: Encoded, targets: Grid, rows: Tensor, count: int, length: int
    ) -> TargetPlan:
        """The plan for `count` x `length` target positions."""
        layout = encoded.layout
        beyond_all = int(layout.last_row[-1]) + 1  # as in `plan_targets`
        newest = targets.pad(rows, beyond_all).repeat_interleave(length, 1)  # (B, K·T')
        row = torch.full_like(layout.tokens_exist, beyond_all, dtype=torch.long)  # (B, T)
        row[layout.tokens_exist] = layout.token_row
        newest, row = newest.unsqueeze(2), row.unsqueeze(1)
        seen = row.le(newest)
        if encoded.last_query_only:
            seen &= row.eq(newest) | newest.eq(beyond_all)
        own, side_by_side = Grid(count, length), Grid(targets.rows, targets.length * length)
        earlier = torch.ones(1, length, length, dtype=torch.bool, device=rows.device).tril()
        return TargetPlan(
            _positions(count, length, rows),
            layout.flat(encoded.codes).flatten(0, 1),  # (n, C) -> (B·T, C)
            AttentionPlan(own, own, earlier),
            AttentionPlan(side_by_side, Grid(*layout.tokens_exist.shape), seen),
        )


def _positions(rows: int, length: int, like: Tensor) -> Tensor:
    return torch.arange(length, device=like.device).repeat(rows)


@register_model("mtn_padded", dataclass=MTNConfig)
class PaddedMTN(MTNModel):
    skips_padding = False
    packs_logits = True  # the output layer gets only real tokens, as in all our models

    @classmethod
    def build_model(cls, cfg: MTNConfig, task: FairseqTask) -> "MTNModel":
        model = super().build_model(cfg, task)
        # Same layers, different computation.
        model.encoder.__class__, model.decoder.__class__ = PaddedEncoder, PaddedDecoder
        return model

    @property
    def description(self) -> ModelDescription:
        return super().description._replace(packs_logits=self.packs_logits)


@register_model("mtn_padded_logits", dataclass=MTNConfig)
class PaddedMTNWithLogits(PaddedMTN):
    packs_logits = False


def check_same(packed: MTNModel, padded: PaddedMTN, sample: Dict[str, Any]) -> None:
    """Check that both models have the same parameters and the same logits."""
    was_training = packed.training
    packed.eval(), padded.eval()
    padded.load_state_dict(packed.state_dict())
    packed.load_state_dict(padded.state_dict())
    real = sample["target"].ne(packed.decoder.padding_idx)
    with torch.no_grad():
        expected, found = (model(**sample["net_input"])[0][real] for model in (packed, padded))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    packed.train(was_training), padded.train(was_training)
