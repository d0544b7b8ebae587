"""Attention weights between the queries of a session, from a trained encoder."""

from typing import Any, List, Tuple

import torch
from torch import Tensor, nn

from .mtn_encoder import MTNEncoder
from .packed_attention import AttentionPlan


@torch.no_grad()
def session_attention(encoder: MTNEncoder, src_tokens: Tensor) -> List[Tensor]:
    """One source (T,) -> weights (Q, Q) of each layer of the session level, averaged over heads.

    [i, j] is the weight of query j for query i: rows sum to one, later queries have weight zero.
    """
    level: Any = encoder.levels[0]
    inputs: List[Tuple[Tensor, AttentionPlan]] = []  # x (Q, C) and plan of each layer

    def record_inputs(module: nn.Module, given: Tuple[Tensor, AttentionPlan]) -> None:
        inputs.append(given)

    hooks = [layer.register_forward_pre_hook(record_inputs) for layer in level.layers]
    try:
        encoder(src_tokens.unsqueeze(0))
    finally:
        for hook in hooks:
            hook.remove()
    return [_weights(layer, *given) for layer, given in zip(level.layers, inputs)]


def _weights(layer: Any, x: Tensor, plan: AttentionPlan) -> Tensor:
    """Run the layer's attention again, to get its weights."""
    if layer.normalize_before:
        x = layer.self_attn_layer_norm(x)
    _, weights = layer.self_attn(x, x, plan, need_weights=True)
    return weights[0]
