"""Transformer layers as nodes of a graph, with the weights of fairseq's modules."""

from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import torch
from torch import nn

from .graph import Graph

# fairseq's --activation-fn, as nodes.
_ACTIVATIONS = {
    "relu": lambda graph, x: graph.op("Relu", x),
    "gelu": lambda graph, x: graph.microsoft("Gelu", x),
    "gelu_fast": lambda graph, x: graph.microsoft("FastGelu", x),
    "gelu_accurate": lambda graph, x: graph.microsoft("FastGelu", x),
    "tanh": lambda graph, x: graph.op("Tanh", x),
    "linear": lambda graph, x: x,
}


class Source(NamedTuple):
    """The source that a decoder layer attends to."""

    key: str  # (B, H, T, C/H)
    value: str
    bias: str  # (B, H, N, T)


class Past(NamedTuple):
    """Keys and values of earlier tokens in a decoder layer."""

    key: str  # (B, H, P, C/H)
    value: str


def encoder_layer(
    graph: Graph,
    layer: Any,
    x: str,
    bias: str,
    activation: str,
    seen: Optional[List[str]] = None,
) -> str:
    """x (B, T, C), bias (B, H, T, T) -> (B, T, C)

    Args:
        seen: if given, the weights of the attention (B, T, T) are appended to it
    """

    def attend(y: str) -> str:
        query, key, value = _queries_keys_values(graph, layer.self_attn, y)
        if seen is not None:
            heads, size = layer.self_attn.num_heads, layer.self_attn.head_dim
            seen.append(graph.attention_weights(heads, size, query, key, bias))
        (mixed,) = graph.attention(layer.self_attn.num_heads, query, key, value, bias)
        return _output(graph, layer.self_attn, mixed)

    x = _residual(graph, layer, layer.self_attn_layer_norm, x, attend)
    return _feed_forward(graph, layer, x, activation)


def decoder_layer(
    graph: Graph,
    layer: Any,
    x: str,
    bias: str,
    past: Past,
    source: Source,
    activation: str,
) -> Tuple[str, Past]:
    """x (B, N, C), bias (B, H, N, P + N) -> (B, N, C), and keys and values of P + N tokens"""
    present = past

    def attend_to_targets(y: str) -> str:
        nonlocal present
        query, key, value = _queries_keys_values(graph, layer.self_attn, y)
        heads = layer.self_attn.num_heads
        mixed, *longer = graph.attention(heads, query, key, value, bias, past.key, past.value)
        present = Past(*longer)
        return _output(graph, layer.self_attn, mixed)

    def attend_to_source(y: str) -> str:
        attention = layer.encoder_attn
        query = graph.linear(y, attention.q_proj.weight, attention.q_proj.bias)
        (mixed,) = graph.attention(
            attention.num_heads, query, source.key, source.value, source.bias
        )
        return _output(graph, attention, mixed)

    x = _residual(graph, layer, layer.self_attn_layer_norm, x, attend_to_targets)
    x = _residual(graph, layer, layer.encoder_attn_layer_norm, x, attend_to_source)
    return _feed_forward(graph, layer, x, activation), present


def keys_and_values(graph: Graph, layers: List[Any], codes: str) -> List[str]:
    """codes (B, T, C) -> keys, values of all decoder layers, each (B, H, T, C/H), by one product"""
    attentions = [layer.encoder_attn for layer in layers]
    maps = [each for attention in attentions for each in (attention.k_proj, attention.v_proj)]
    weight, bias = (
        torch.cat([getattr(each, name) for each in maps]) for name in ("weight", "bias")
    )
    heads, head_size = attentions[0].num_heads, attentions[0].head_dim
    x = graph.linear(codes, weight, bias)
    x = graph.reshape(x, [0, 0, len(maps) * heads, head_size])
    return graph.split(graph.op("Transpose", x, perm=[0, 2, 1, 3]), [heads] * len(maps), axis=1)


def _queries_keys_values(graph: Graph, attention: Any, x: str) -> List[str]:
    maps = (attention.q_proj, attention.k_proj, attention.v_proj)
    weight, bias = (
        torch.cat([getattr(each, name) for each in maps]) for name in ("weight", "bias")
    )
    return graph.split(graph.linear(x, weight, bias), [attention.embed_dim] * 3, axis=-1)


def _output(graph: Graph, attention: Any, x: str) -> str:
    return graph.linear(x, attention.out_proj.weight, attention.out_proj.bias)


def _residual(
    graph: Graph, layer: Any, norm: nn.Module, x: str, sublayer: Callable[[str], str]
) -> str:
    """x + sublayer(x), with the norm before the sublayer or after the sum"""
    y = graph.op("Add", x, sublayer(graph.norm(x, norm) if layer.normalize_before else x))
    return y if layer.normalize_before else graph.norm(y, norm)


def _feed_forward(graph: Graph, layer: Any, x: str, activation: str) -> str:
    def network(y: str) -> str:
        y = _ACTIVATIONS[activation](graph, graph.linear(y, layer.fc1.weight, layer.fc1.bias))
        return graph.linear(y, layer.fc2.weight, layer.fc2.bias)

    return _residual(graph, layer, layer.final_layer_norm, x, network)
