"""What the queries of a session attend to, read off a trained encoder as it stands."""

from typing import Any, List, Tuple

import torch
from torch import Tensor, nn

from .mtn_encoder import MTNEncoder
from .packed_attention import AttentionPlan


@torch.no_grad()
def session_attention(encoder: MTNEncoder, src_tokens: Tensor) -> List[Tensor]:
    """One source (T,) -> (Q, Q) for each layer of the session level, the mean of its heads.

    [i, j] is how much query i takes from query j: rows sum to one, later queries get nothing.
    """
    level: Any = encoder.levels[0]
    inputs: List[Tuple[Tensor, AttentionPlan]] = []  # x (Q, C) of each layer

    def see_layer(module: nn.Module, given: Tuple[Tensor, AttentionPlan]) -> None:
        inputs.append(given)

    hooks = [layer.register_forward_pre_hook(see_layer) for layer in level.layers]
    try:
        encoder(src_tokens.unsqueeze(0))
    finally:
        for hook in hooks:
            hook.remove()
    return [_weights(layer, *given) for layer, given in zip(level.layers, inputs)]


def _weights(layer: Any, x: Tensor, plan: AttentionPlan) -> Tensor:
    """The layer's own attention once more, this time to return its weights."""
    if layer.normalize_before:
        x = layer.self_attn_layer_norm(x)
    _, weights = layer.self_attn(x, x, plan, need_weights=True)
    return weights[0]
