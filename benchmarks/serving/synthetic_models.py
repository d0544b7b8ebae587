"""Untrained models of three sizes, for every engine, and sessions of random words.

`mtn` has three layers over tokens, two over queries, three in the decoder. `stock` is fairseq's own
flat Transformer with as many parameters in its layers. CTranslate2 runs that one: it has no encoder
of two levels and no pointer.
"""

import importlib.util
import random
import warnings
from pathlib import Path
from typing import Any, List, Tuple

WIDTHS = {5_000: 128, 20_000: 256, 76_000: 512}  # channels, by words of the dictionary
WORDS_PER_QUERY = [0.16, 0.27, 0.24, 0.14, 0.09, 0.05, 0.03, 0.02]  # 1 to 8, as in AOL's log
NUMBER_TYPES = ("float32", "int8")
LAYERS = (6, 3)  # of encoder and decoder of the stock Transformer


def random_sessions(words: int, count: int, seed: int = 1) -> List[str]:
    """Four queries each."""
    rng = random.Random(seed)
    return [" <q> ".join(random_query(words, rng) for _ in range(4)) for _ in range(count)]


def random_query(words: int, rng: random.Random) -> str:
    (length,) = rng.choices(range(1, 9), WORDS_PER_QUERY)
    return " ".join(f"w{rng.randrange(words)}" for _ in range(length))


def write_models(folder: Path, words: int, copying: bool) -> None:
    """mtn.pt, stock.pt, their dictionaries, and what is made of them for the other engines."""
    from mtn_serving.export.export_model import write_model

    width = WIDTHS[words]
    mtn, task = write_mtn(folder, words, copying)
    for number_type in NUMBER_TYPES:
        exported = folder / f"onnx-{number_type}"
        exported.mkdir()
        write_model(mtn, task, exported, int8=number_type == "int8")
    stock, task = _write_checkpoint(folder / "stock.pt", _stock_flags(width))
    if importlib.util.find_spec("ctranslate2") is not None:
        for number_type in NUMBER_TYPES:
            _convert(folder / f"ctranslate2-{number_type}", stock, task, width, number_type)


def write_mtn(folder: Path, words: int, copying: bool, more_flags: str = "") -> Tuple[Any, Any]:
    """mtn.pt and its dictionaries; returns the model and its task."""
    lines = [f"{word} 1\n" for word in ("<q>", "<session>", *(f"w{i}" for i in range(words)))]
    for language in ("session", "next"):
        (folder / f"dict.{language}.txt").write_text("".join(lines), encoding="utf-8")
    flags = f"--task session_to_query {mtn_flags(WIDTHS[words], copying)} {more_flags}"
    return _write_checkpoint(folder / "mtn.pt", flags)


def mtn_flags(width: int, copying: bool) -> str:
    return (
        "--arch mtn --level-layers 3,2 --decoder-layers 3"
        f" --encoder-embed-dim {width} --encoder-ffn-embed-dim {2 * width}"
        f" --encoder-attention-heads {max(4, width // 64)}"
        f" --query-projection linear{' --copy-attention' if copying else ''}"
    )


def _stock_flags(width: int) -> str:
    """As benchmarks/models/systems.py has it."""
    heads = max(4, width // 64)
    return (
        "--task translation -s session -t next --arch transformer --share-all-embeddings"
        f" --encoder-layers {LAYERS[0]} --encoder-embed-dim {width}"
        f" --encoder-ffn-embed-dim {round(width * 7 / 3)} --encoder-attention-heads {heads}"
        f" --decoder-layers {LAYERS[1]} --decoder-embed-dim {width}"
        f" --decoder-ffn-embed-dim {2 * width} --decoder-attention-heads {heads}"
    )


def _write_checkpoint(path: Path, flags: str) -> Tuple[Any, Any]:
    """What fairseq-train would save before its first update; returns the model and its task."""
    import torch
    from fairseq import options, tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.trainer import Trainer

    import mtn_fairseq  # noqa: F401  (registers the task and the models)
    from mtn_preprocess.text.dictionary_file import SYMBOLS

    warnings.filterwarnings("ignore", category=UserWarning)
    line = f"{path.parent} {flags} --cpu --optimizer adam --no-save-optimizer-state"
    cfg = convert_namespace_to_omegaconf(
        options.parse_args_and_arch(options.get_training_parser(), line.split())
    )
    torch.manual_seed(1)
    task = tasks.setup_task(cfg.task)
    model = task.build_model(cfg.model)
    if model.decoder.output_projection.bias is not None:
        with torch.no_grad():  # searches go on to the greatest length
            model.decoder.output_projection.bias[: len(SYMBOLS) + 2] = -100.0  # what is no word
    Trainer(cfg, task, model, task.build_criterion(cfg.criterion)).save_checkpoint(str(path), {})
    return model.eval(), task


def _convert(folder: Path, stock: Any, task: Any, width: int, number_type: str) -> None:
    """For CTranslate2, by its own fairseq converter, from the model in memory."""
    import torch
    from ctranslate2.converters.fairseq import set_transformer_decoder, set_transformer_encoder
    from ctranslate2.specs import common_spec, transformer_spec

    spec = transformer_spec.TransformerSpec.from_config(
        LAYERS, max(4, width // 64), pre_norm=False, activation=common_spec.Activation.RELU
    )
    with torch.no_grad():
        set_transformer_encoder(spec.encoder, stock.encoder)
        set_transformer_decoder(spec.decoder, stock.decoder)
    symbols = ["<blank>" if each == "<pad>" else each for each in task.source_dictionary.symbols]
    spec.register_source_vocabulary(symbols)
    spec.register_target_vocabulary(symbols)
    spec.config.decoder_start_token, spec.config.add_source_eos = "</s>", True
    spec.validate()
    spec.optimize(quantization=number_type if number_type == "int8" else None)
    folder.mkdir()
    spec.save(str(folder))
