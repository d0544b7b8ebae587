#!/usr/bin/env python3
"""A session that grows by a query: encoded as a whole, and its new query alone at level 1.

Models of `synthetic_models` of two levels, and of three with a history of five sessions of three
queries. Each way answers ten sessions in a row, in an order that is drawn; the first of them
warms up. CPU time of encoding, and of a request: with a beam of five, five steps, behind it.
"""

import argparse
import logging
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are imported

import torch
from model_engines import BEAM, WORDS
from synthetic_models import WIDTHS, random_query, write_mtn

from mtn_serving.export.export_model import write_model
from mtn_serving.onnx_engine.exported_model import ExportedModel

LEVELS = {2: "", 3: "--level-layers 3,2,1 --level-sizes 12,10,6"}
HISTORY, QUERIES_BEFORE = 5, 3  # sessions, and queries of each
IN_A_ROW = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--words", type=int, nargs="+", default=[5_000, 20_000], choices=[*WIDTHS])
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable()
    print("CPU milliseconds, medians\n")
    print("| words | levels | queries | whole | new query alone | a request | saved share |")
    print("|---|---|---|---:|---:|---:|---:|")
    for words in args.words:
        for levels, flags in LEVELS.items():
            with tempfile.TemporaryDirectory() as folder:
                model = exported(Path(folder), words, flags)
            for queries in (3, 10):
                whole, alone, beam = measured(model, words, levels, queries, args.rounds)
                print(
                    f"| {words:,} | {levels} | {queries} | {whole:.2f} | {alone:.2f} "
                    f"| {whole + beam:.2f} | {(whole - alone) / (whole + beam):.0%} |",
                    flush=True,
                )


def exported(folder: Path, words: int, flags: str) -> ExportedModel:
    model, task = write_mtn(folder, words, copying=False, more_flags=flags)
    write_model(model, task, folder, int8=False)
    read = ExportedModel.load(folder)
    read.max_words = WORDS
    return read


def measured(
    model: ExportedModel, words: int, levels: int, queries: int, rounds: int
) -> Tuple[float, ...]:
    """Of one session: encoding all of it, its last query alone, and the beam; medians."""
    rng = random.Random(1)
    times: Dict[str, List[float]] = {"whole": [], "alone": [], "beam": []}

    def session(count: int) -> str:
        return " <q> ".join(random_query(words, rng) for _ in range(count))

    for _ in range(rounds):
        history = [session(QUERIES_BEFORE) for _ in range(HISTORY if levels == 3 else 0)]
        lines = [" <session> ".join([*history, session(queries)]) for _ in range(IN_A_ROW)]
        shorter = [model.sources([line.rsplit(" <q> ", 1)[0]]) for line in lines]
        ways: Dict[str, Callable[[int], Any]] = {
            "whole": lambda i, lines=lines: model.sources([lines[i]]),
            "alone": lambda i, lines=lines, shorter=shorter: model.longer(lines[i], shorter[i]),
        }
        for name in rng.sample(list(ways), len(ways)):
            taken = [timed(ways[name], model, i) for i in range(IN_A_ROW)][1:]
            times[name] += [encoding for encoding, _ in taken]
            times["beam"] += [beam for _, beam in taken]
    return tuple(map(statistics.median, times.values()))


def timed(encode: Callable[[int], Any], model: ExportedModel, number: int) -> Tuple[float, float]:
    """Encoding, and the beam"""
    start = time.process_time()
    sources = encode(number)
    encoded = time.process_time()
    model.beam_search(BEAM)(sources)
    return 1000 * (encoded - start), 1000 * (time.process_time() - encoded)


if __name__ == "__main__":
    main()
