"""Copying words of the session (`mtn_fairseq.copying.pointer`), as nodes of both graphs.

The encoder turns codes into keys once per session; the decoder multiplies its features by them.
Words are at places of Q queries with L tokens each; a flat model has one query. There are
R = Q·L + U·Q scores: for the places, then for the units of each level, from queries up.
"""

from typing import Any, List, Tuple

import torch
from torch import Tensor, nn

from .graph import INTEGER, Graph


def pointer_keys(graph: Graph, pointer: Any, codes: str) -> Tuple[str, str]:
    """codes (B, T, C) -> keys (B, F, R), and a bias of the scores (B, 1, R)"""
    places = graph.input("pointer_places", ["B", "K", "T"])  # 1 at the token of each place
    parts = [_keys(graph, pointer.which_word, pointer.word_key, graph.op("MatMul", places, codes))]
    if pointer.which_query is not None:
        ends = graph.input("pointer_ends", ["B", "Q", "T"])  # 1 at the last token of each query
        query_codes = graph.op("MatMul", ends, codes)
        which = [pointer.which_query, *pointer.which_unit]
        key = [pointer.query_key, *pointer.unit_key]
        parts += [_keys(graph, *maps, query_codes) for maps in zip(which, key)]
    both = graph.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    both = graph.op("Transpose", both, perm=[0, 2, 1])  # (B, F + 1, R)
    keys, start = graph.split(both, [pointer.gate.in_features, 1], axis=1)
    mask = graph.input("pointer_mask", ["B", 1, "R"])  # far below 0 without words
    return keys, graph.op("Add", start, mask)


def _keys(graph: Graph, which: nn.Linear, key: nn.Linear, codes: str) -> str:
    """codes (B, S, C) -> (B, S, F + 1): (W f + b) · (K c) is f · (Wᵀ K c) + b · (K c)"""
    weight: Tensor = torch.cat([which.weight.t(), which.bias.unsqueeze(0)])  # (F + 1, D)
    return graph.linear(codes, weight @ key.weight * key.out_features**-0.5)


def copied_and_generating(graph: Graph, pointer: Any, features: str) -> Tuple[str, str]:
    """features (B, N, F) -> log-probability of copying each of W words (B, N, W), and of
    generating (B, N, 1)."""
    levels = 0 if pointer.which_query is None else 1 + len(pointer.which_unit)
    keys = graph.input("pointer_keys", ["B", pointer.gate.in_features, "R"])
    start = graph.input("pointer_start", ["B", 1, "R"])
    scores = graph.op("Add", graph.op("MatMul", features, keys), start)
    to_word = graph.input("pointer_to_word", ["B", "K", "W"])  # 1 from each place to its word
    if levels == 0:
        shares = graph.op("Softmax", scores, axis=-1)
    else:
        sizes = graph.input("pointer_sizes", [levels + 1], INTEGER)  # Q·L, then Q per level
        place, *units = graph.ops("Split", scores, sizes, outputs=levels + 1, axis=2)
        by_query = graph.input("pointer_by_query", [4], INTEGER)  # the shape B, N, Q, L
        place = graph.op("Softmax", graph.op("Reshape", place, by_query), axis=-1)
        chosen = graph.op("Unsqueeze", _choose(graph, units), graph.weights([3]))  # (B, N, Q, 1)
        shares = graph.reshape(graph.op("Mul", place, chosen), [0, 0, -1])
    shares = graph.op("MatMul", shares, to_word)  # (B, N, W)
    gate = graph.linear(features, pointer.gate.weight, pointer.gate.bias)
    gate = graph.op("Add", gate, graph.input("pointer_gate", ["B", 1, 1]))  # high without words
    copied = graph.op("Sub", graph.op("Log", shares), graph.op("Softplus", gate))
    return copied, graph.op("Neg", graph.op("Softplus", graph.op("Neg", gate)))


def _choose(graph: Graph, units: List[str]) -> str:
    """Scores (B, N, Q) of each level -> P(query) (B, N, Q): from the top down, the probability of a
    unit is divided among its parts."""
    *lower, top = units
    chosen = graph.op("Softmax", top, axis=-1)
    for level in range(len(lower), 0, -1):
        own = graph.input(f"pointer_parts_{level}", ["B", 1, "Q", "Q"])  # far below 0: not a part
        axis = graph.weights([2])
        scores = graph.op("Add", graph.op("Unsqueeze", lower[level - 1], axis), own)
        within = graph.op("Softmax", scores, axis=-1)  # (B, N, Q, Q)
        chosen = graph.op("MatMul", graph.op("Unsqueeze", chosen, axis), within)
        chosen = graph.op("Squeeze", chosen, axis)
    return chosen
