#!/usr/bin/env python3
"""One request through each engine: text of a session in, the texts of a beam out.

Models are untrained and as large as those of `benchmarks/models`; every search has as many steps.
CTranslate2 has no encoder of two levels: it runs a flat Transformer of as many layers. All of them
answer the same sessions in turn, in one process, so that a busy machine slows all of them alike;
CPU time is measured. Engines that are not installed are left out, and the table says so.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are imported

import torch
from fairseq import options, tasks

import mtn_fairseq  # noqa: F401  (registers the task and the models)
from mtn_preprocess.text.dictionary_file import SYMBOLS
from mtn_serving.export.export_model import write_model
from mtn_serving.onnx_engine.exported_model import ExportedModel
from mtn_serving.torch_engine.trained_model import TrainedModel

Engine = Callable[[List[str]], List[List[str]]]  # sessions -> hypotheses

BEAM, WORDS = 5, 4  # hypotheses; words of each
LEVELS, DECODER_LAYERS = (3, 2), 3
WIDTHS = {5_000: 128, 20_000: 256, 76_000: 512}  # channels, by words of the dictionary
WORDS_PER_QUERY = [0.16, 0.27, 0.24, 0.14, 0.09, 0.05, 0.03, 0.02]  # 1 to 8, as in AOL's log


def main() -> None:
    args = parse_args()
    torch.set_num_threads(args.threads)
    print(
        "CPU milliseconds of one request (median, p95), and sessions per CPU second, 64 at once\n"
    )
    print("| words / channels | engine | one request | p95 | 64 at once |")
    print("|---|---|---|---|---|")
    for words in args.words:
        with tempfile.TemporaryDirectory() as folder:
            engines = engines_of(Path(folder), words, args.copying, args.threads)
            sessions = random_sessions(words, args.requests + 5)
            one = times(engines, [[session] for session in sessions])
            many = times(engines, [random_sessions(words, 64, seed) for seed in range(3, 8)])
        for name in engines:
            ordered = sorted(one[name][5:])  # the first warm up
            print(
                f"| {words:,} / {WIDTHS[words]} | {name} | {statistics.median(ordered):.1f} ms "
                f"| {ordered[int(0.95 * len(ordered))]:.1f} ms "
                f"| {64_000 / statistics.median(many[name][1:]):.0f} per s |",
                flush=True,
            )


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--words", type=int, nargs="+", default=[*WIDTHS], choices=[*WIDTHS])
    parser.add_argument("--requests", type=int, default=40, help="that are measured per engine")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--copying", action="store_true", help="models that copy words")
    return parser.parse_args()


def random_sessions(words: int, count: int, seed: int = 1) -> List[str]:
    """Four queries each."""
    rng = random.Random(seed)

    def query() -> str:
        (length,) = rng.choices(range(1, 9), WORDS_PER_QUERY)
        return " ".join(f"w{rng.randrange(words)}" for _ in range(length))

    return [" <q> ".join(query() for _ in range(4)) for _ in range(count)]


def times(engines: Dict[str, Engine], batches: List[List[str]]) -> Dict[str, List[float]]:
    """Milliseconds of each batch, all engines in turn."""
    found: Dict[str, List[float]] = {name: [] for name in engines}
    for batch in batches:
        for name, engine in engines.items():
            start = time.process_time()
            answers = engine(batch)
            found[name].append(1000 * (time.process_time() - start))
            assert [len(each) for each in answers] == [BEAM] * len(batch), name
    return found


def engines_of(folder: Path, words: int, copying: bool, threads: int) -> Dict[str, Engine]:
    task, model = untrained(folder, words, copying)
    engines: Dict[str, Engine] = {"torch": torch_engine(model, task)}
    for number_type in ("float32", "int8"):
        exported = folder / number_type
        exported.mkdir()
        write_model(model, task, exported, int8=number_type == "int8")
        engines[f"ONNX Runtime, {number_type}"] = onnx_engine(exported, threads)
    try:
        from flat_rival import ctranslate2_engine
    except ImportError as error:
        print(f"without CTranslate2: {error}", file=sys.stderr)
        return engines
    for number_type in ("float32", "int8"):
        name = f"CTranslate2 (flat), {number_type}"
        engines[name] = ctranslate2_engine(folder, words, WIDTHS[words], number_type, threads)
    return engines


def untrained(folder: Path, words: int, copying: bool) -> tuple:
    """`mtn` whose searches go on to the greatest length."""
    lines = [f"{word} 1\n" for word in ("<q>", "<session>", *(f"w{i}" for i in range(words)))]
    for language in ("session", "next"):
        (folder / f"dict.{language}.txt").write_text("".join(lines), encoding="utf-8")
    width = WIDTHS[words]
    flags = (
        f"{folder} --task session_to_query --arch mtn --level-layers {LEVELS[0]},{LEVELS[1]}"
        f" --decoder-layers {DECODER_LAYERS} --encoder-embed-dim {width}"
        f" --encoder-ffn-embed-dim {2 * width} --encoder-attention-heads {max(4, width // 64)}"
        f" --query-projection linear{' --copy-attention' if copying else ''}"
    )
    args = options.parse_args_and_arch(options.get_training_parser(), flags.split())
    task = tasks.setup_task(args)
    torch.manual_seed(1)
    model = task.build_model(args).eval()
    with torch.no_grad():
        model.decoder.output_projection.bias[: len(SYMBOLS) + 2] = -100.0  # what is no word
    return task, model


def torch_engine(model: torch.nn.Module, task: tasks.FairseqTask) -> Engine:
    trained = TrainedModel(model, task)
    beam = trained.beam_search(BEAM)
    beam.generator.min_len = beam.generator.max_len_b = WORDS
    return lambda sessions: beam(trained.sources(sessions))


def onnx_engine(folder: Path, threads: int) -> Engine:
    exported = ExportedModel.load(folder, threads)
    exported.max_words = WORDS
    return lambda sessions: exported.beam_search(BEAM)(exported.sources(sessions))


if __name__ == "__main__":
    main()
