"""CTranslate2 with a flat Transformer as large as `mtn`, its weights random."""

from pathlib import Path
from typing import Any, Callable, List

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, model_spec, transformer_spec

BEAM, WORDS = 5, 4
_LAYERS = (5, 3)  # of encoder and decoder


def ctranslate2_engine(
    folder: Path, words: int, width: int, number_type: str, threads: int
) -> Callable[[List[str]], List[List[str]]]:
    model = folder / f"flat-{number_type}"
    model.mkdir()
    _write(model, words, width, number_type)
    translator = ctranslate2.Translator(
        str(model), compute_type=number_type, inter_threads=1, intra_threads=threads
    )

    def answer(sessions: List[str]) -> List[List[str]]:
        found = translator.translate_batch(
            [[*session.split(), "</s>"] for session in sessions],
            beam_size=BEAM,
            num_hypotheses=BEAM,
            min_decoding_length=WORDS,
            max_decoding_length=WORDS,
        )
        return [[" ".join(words) for words in each.hypotheses] for each in found]

    return answer


def _write(folder: Path, words: int, width: int, number_type: str) -> None:
    spec = transformer_spec.TransformerSpec.from_config(
        _LAYERS, max(4, width // 64), pre_norm=False, activation=common_spec.Activation.RELU
    )
    vocabulary = ["<s>", "<blank>", "</s>", "<unk>", "<q>", *(f"w{i}" for i in range(words))]
    random = np.random.default_rng(1)
    _fill(spec.encoder, random, width, len(vocabulary))
    _fill(spec.decoder, random, width, len(vocabulary))
    spec.register_source_vocabulary(vocabulary)
    spec.register_target_vocabulary(vocabulary)
    spec.validate()
    spec.optimize(quantization=number_type if number_type == "int8" else None)
    spec.save(str(folder))


def _fill(part: Any, random: np.random.Generator, width: int, words: int) -> None:
    """Weights of every layer below."""

    def matrix(rows: int, columns: int) -> np.ndarray:
        return random.normal(scale=columns**-0.5, size=(rows, columns)).astype(np.float32)

    def set_linear(layer: Any, rows: int, columns: int) -> None:
        layer.weight, layer.bias = matrix(rows, columns), np.zeros(rows, np.float32)

    def visit(name: str, layer: Any) -> None:
        if isinstance(layer, common_spec.LayerNormSpec):
            layer.gamma, layer.beta = np.ones(width, np.float32), np.zeros(width, np.float32)
        elif isinstance(layer, common_spec.EmbeddingsSpec):
            layer.weight = matrix(words, width)
        elif isinstance(layer, common_spec.LinearSpec):
            rows, columns = _shape(name, width, words)
            set_linear(layer, rows, columns)
        elif isinstance(layer, transformer_spec.PositionEncoderSpec):
            layer.encodings = matrix(1024, width)
        elif isinstance(layer, list):
            for number, each in enumerate(layer):
                visit(f"{name}_{number}", each)
        elif isinstance(layer, model_spec.LayerSpec):
            for key, value in list(vars(layer).items()):
                visit(f"{name}.{key}", value)

    visit("", part)
    part.scale_embeddings = True


def _shape(name: str, width: int, words: int) -> tuple:
    """(outputs, inputs) of a product, by its place."""
    if name.endswith("projection"):
        return words, width
    if name.endswith("ffn.linear_0"):
        return 2 * width, width
    if name.endswith("ffn.linear_1"):
        return width, 2 * width
    if name.endswith("self_attention.linear_0"):
        return 3 * width, width
    if name.endswith("attention.linear_1") and "self" not in name:
        return 2 * width, width  # keys and values of the source
    return width, width
