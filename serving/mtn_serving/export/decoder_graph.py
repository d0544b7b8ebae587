"""The decoder as one graph: prefixes of next queries -> log-probabilities of next words.

Prefixes form a tree with one node per prefix, which sees its ancestors. So a beam search never
reorders its cached keys and values, and the same graph scores many candidates. B sessions, N new
nodes, P earlier nodes, T tokens of a source, V words, C channels, H heads.
"""

from typing import Any, Optional

from .graph import INTEGER, Graph
from .layers import Past, Source, decoder_layer
from .pointer_graph import copied_and_generating

MAX_BYTES = 1 << 26  # per matrix


def decoder_graph(model: Any, int8: bool, said: Optional[int] = None) -> Graph:
    """Args:
    said: number of words in the output layer, the first of the dictionary; None for all
    """
    graph, decoder = Graph(int8), model.decoder
    attention = decoder.layers[0].self_attn
    heads, head_size = attention.num_heads, attention.head_dim
    x = graph.input("nodes", ["B", "N", attention.embed_dim])
    x = graph.norm(x, decoder.layernorm_embedding)
    bias = graph.input("bias", ["B", heads, "N", "P+N"])
    source_bias = graph.input("source_bias", ["B", heads, "N", "T"])
    activation = str(decoder.cfg.activation_fn)
    for number, layer in enumerate(decoder.layers):
        shape, source_shape = ["B", heads, "P", head_size], ["B", heads, "T", head_size]
        past = Past(*(graph.input(f"past_{kind}_{number}", shape) for kind in ("key", "value")))
        key, value = (
            graph.input(f"source_{kind}_{number}", source_shape) for kind in ("key", "value")
        )
        x, present = decoder_layer(
            graph, layer, x, bias, past, Source(key, value, source_bias), activation
        )
        for kind, value in zip(("key", "value"), present):
            graph.output(f"present_{kind}_{number}", value, ["B", heads, "P+N", head_size])
    features = graph.norm(x, decoder.layer_norm)
    _add_output_layer(graph, decoder, features, said)
    return graph


def _add_output_layer(graph: Graph, decoder: Any, features: str, said: Optional[int]) -> None:
    """Add outputs: the best words of each node, and the log-probabilities of wanted words. With a
    pointer, they are log-probabilities of generating the words."""
    scores = _scores_of_words(graph, decoder.output_projection, features, said)
    words = graph.op("LogSoftmax", scores, axis=-1)  # (B, N, V)
    best, which = graph.ops(
        "TopK", words, graph.input("best", [1], INTEGER), outputs=2, axis=-1, largest=1, sorted=0
    )
    wanted = graph.op(
        "GatherElements", words, graph.input("wanted", ["B", "N", "M"], INTEGER), axis=2
    )
    if decoder.pointer is not None:
        copied, generating = copied_and_generating(graph, decoder.pointer, features)
        best, wanted = (graph.op("Add", each, generating) for each in (best, wanted))
        graph.output("copied", copied, ["B", "N", "W"])
    graph.output("best_scores", best, ["B", "N", "K"])
    graph.output("best_words", which, ["B", "N", "K"], INTEGER)
    graph.output("wanted_scores", wanted, ["B", "N", "M"])


def _scores_of_words(graph: Graph, layer: Any, features: str, said: Optional[int]) -> str:
    """features (B, N, F) -> (B, N, V), in parts of the vocabulary: when onnxruntime opens a graph,
    it rearranges one matrix at a time, which is then in memory twice."""
    weight, bias = layer.weight[:said], None if layer.bias is None else layer.bias[:said]
    words, inputs = weight.shape
    at_once = max(1, MAX_BYTES // (inputs * (1 if graph.int8 else 4)))
    parts = [slice(start, start + at_once) for start in range(0, words, at_once)]
    scores = [
        graph.linear(features, weight[part], None if bias is None else bias[part]) for part in parts
    ]
    return scores[0] if len(scores) == 1 else graph.op("Concat", *scores, axis=-1)
