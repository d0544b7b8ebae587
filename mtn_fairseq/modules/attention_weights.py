"""What the queries of a session attend to, read off a trained encoder as it stands."""

from typing import Any, List, Tuple

import torch
from torch import Tensor, nn

from .mtn_encoder import MTNEncoder
from .session_layout import LevelView


@torch.no_grad()
def session_attention(encoder: MTNEncoder, src_tokens: Tensor) -> List[Tensor]:
    """One source (T,) -> (Q, Q) for each layer of the session level, the mean of its heads.

    [i, j] is how much query i takes from query j: rows sum to one, later queries get nothing.
    """
    level: Any = encoder.levels[0]
    views: List[LevelView] = []
    inputs: List[Tensor] = []  # (Q, 1, C) each

    def see_level(module: nn.Module, given: Tuple[Tensor, LevelView]) -> None:
        views.append(given[1])

    def see_layer(module: nn.Module, given: Tuple[Tensor]) -> None:
        inputs.append(given[0])

    hooks = [level.register_forward_pre_hook(see_level)]
    hooks += [layer.register_forward_pre_hook(see_layer) for layer in level.layers]
    try:
        encoder(src_tokens.unsqueeze(0))
    finally:
        for hook in hooks:
            hook.remove()
    hidden = ~views[0].visible[0]
    return [_weights(layer, x, hidden) for layer, x in zip(level.layers, inputs)]


def _weights(layer: Any, x: Tensor, hidden: Tensor) -> Tensor:
    """The layer's own attention once more, this time to tell what it weighs x (Q, 1, C) by."""
    if layer.normalize_before:
        x = layer.self_attn_layer_norm(x)
    _, weights = layer.self_attn(x, x, x, attn_mask=hidden, need_weights=True)
    return weights[0]
