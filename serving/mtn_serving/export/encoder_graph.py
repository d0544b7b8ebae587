"""The encoder as a graph: embedded tokens of sessions -> codes that the decoder attends to.

Everything that depends on the structure of sessions (attention masks, the query of each token) is
an input made from `onnx_engine.session_layout`. B sessions, T tokens, N of them new to level 1, Q
queries, at most P parts per unit, C channels, H heads.
"""

from typing import Any, List

from mtn_fairseq.modules.mtn_encoder import MTNEncoder
from mtn_fairseq.modules.unit_projection import LinearProjection

from ..onnx_engine.model_files import ATTENTION
from ..onnx_engine.token_codes import INPUT, OUTPUT
from .graph import Graph
from .layers import encoder_layer, keys_and_values
from .pointer_graph import pointer_keys


def encoder_graph(model: Any, int8: bool) -> Graph:
    graph = Graph(int8)
    decoder = model.decoder
    codes = _codes(graph, model.encoder)
    layers = list(decoder.layers)
    shape = ["B", layers[0].encoder_attn.num_heads, "T", layers[0].encoder_attn.head_dim]
    found = keys_and_values(graph, layers, codes)
    for number in range(len(layers)):
        graph.output(f"source_key_{number}", found[2 * number], shape)
        graph.output(f"source_value_{number}", found[2 * number + 1], shape)
    if decoder.pointer is not None:
        keys, start = pointer_keys(graph, decoder.pointer, codes)
        graph.output("pointer_keys", keys, ["B", decoder.pointer.gate.in_features, "R"])
        graph.output("pointer_start", start, ["B", 1, "R"])
    return graph


def _codes(graph: Graph, encoder: Any) -> str:
    """-> (B, T, C): the codes of a flat model, or of `mtn`, level by level"""
    if not isinstance(encoder, MTNEncoder):
        return _token_level(graph, encoder)
    codes = _token_level(graph, encoder.query_encoder)
    if not graph.int8:  # int8 rounding depends on all tokens of a call
        codes = _after_known(graph, codes, encoder.query_encoder.embed_tokens.embedding_dim)
    if not len(encoder.levels):
        return codes
    units, activation = [codes], str(encoder.query_encoder.cfg.activation_fn)
    for level, (projection, masked) in enumerate(zip(encoder.projections, encoder.levels), 2):
        units.append(_upper_level(graph, level, projection, masked, units[-1], activation))
    top = units[-1]
    if encoder.add_back == "every":
        for lower, norm in zip(units[-2:0:-1], list(encoder.norms)[:0:-1]):
            top = graph.norm(graph.op("Add", lower, top), norm)
    query_of_token = graph.input("query_of_token", ["B", "T", "Q"])  # 1 at the token's query
    from_above = graph.op("MatMul", query_of_token, top)
    return graph.norm(graph.op("Add", codes, from_above), encoder.norms[0])


def _token_level(graph: Graph, encoder: Any) -> str:
    x = graph.input("tokens", ["B", "N", encoder.embed_tokens.embedding_dim])
    x = graph.norm(x, encoder.layernorm_embedding)
    layers = list(encoder.layers)
    bias = graph.input("token_bias", ["B", layers[0].self_attn.num_heads, "N", "N"])
    for layer in layers:
        x = encoder_layer(graph, layer, x, bias, str(encoder.cfg.activation_fn))
    return graph.norm(x, encoder.layer_norm)


def _after_known(graph: Graph, codes: str, channels: int) -> str:
    """Append the codes of new tokens to those of E known tokens, usually none."""
    known = graph.input(INPUT, ["B", "E", channels])
    codes = graph.op("Concat", known, codes, axis=1)
    graph.output(OUTPUT, codes, ["B", "T", channels])
    return codes


def _upper_level(
    graph: Graph, level: int, projection: Any, masked: Any, below: str, activation: str
) -> str:
    """Codes of the level below -> (B, Q, C)"""
    # linear: (B, Q·P, S), 1 at each part; vector: (B, Q, S), the weight of each part
    parts = graph.op("MatMul", graph.input(f"parts_{level}", ["B", "U", "S"]), below)
    if isinstance(projection, LinearProjection):
        inputs, channels = projection.map.in_features, projection.map.out_features
        units = graph.linear(
            graph.reshape(parts, [0, -1, inputs]), projection.map.weight, projection.map.bias
        )
    else:
        units, channels = parts, masked.layers[0].self_attn.embed_dim
    positions = graph.input(f"positions_{level}", ["B", "Q", channels])
    heads = masked.layers[0].self_attn.num_heads
    bias = graph.input(f"bias_{level}", ["B", heads, "Q", "Q"])
    x = graph.op("Add", units, positions)
    seen: List[str] = []
    for layer in masked.layers:
        x = encoder_layer(graph, layer, x, bias, activation, seen if level == 2 else None)
    if seen:
        mean = graph.op("Mean", *seen)
        graph.output(ATTENTION, mean, ["B", "Q", "Q"])
    return graph.norm(x, masked.final_norm)
