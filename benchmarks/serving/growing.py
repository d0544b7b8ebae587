#!/usr/bin/env python3
"""A session that grows by a query: encoded as a whole, and its new query alone at level 1.

Untrained models as of `engines.py`, of two levels, and of three with a history of five sessions of
three queries. Each way answers ten sessions in a row, in an order that is drawn; the first of them
warms up. CPU time: encoding, and with a beam of five words behind it.
"""

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import torch
from engines import BEAM, WIDTHS, WORDS, random_query, untrained

from mtn_serving.export.export_model import write_model
from mtn_serving.onnx_engine.encoder import Encoded
from mtn_serving.onnx_engine.exported_model import ExportedModel

THREE_LEVELS = "--level-layers 3,2,1 --level-sizes 12,10,6"
HISTORY, QUERIES_BEFORE = 5, 3  # sessions, and queries of each
IN_A_ROW = 10

Way = Callable[[int], Encoded]  # of one of IN_A_ROW sessions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--words", type=int, nargs="+", default=[5_000, 20_000], choices=[*WIDTHS])
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("CPU milliseconds, median: the whole session, the new query alone\n")
    print("| words | levels | queries | encoding | with a beam | saved |")
    print("|---|---|---|---|---|---|")
    for words in args.words:
        for levels in (2, 3):
            with tempfile.TemporaryDirectory() as folder:
                model = exported(Path(folder), words, THREE_LEVELS if levels == 3 else "")
            for queries in (3, 10):
                whole, grown = measured(model, words, levels, queries, args.rounds)
                both = zip(whole, grown)
                encoding, request = (f"{before:.2f} → {after:.2f}" for before, after in both)
                saved = 1 - grown[1] / whole[1]
                what = "3, with a history" if levels == 3 else "2"
                print(
                    f"| {words:,} | {what} | {queries} | {encoding} | {request} | {saved:.0%} |",
                    flush=True,
                )


def exported(folder: Path, words: int, flags: str) -> ExportedModel:
    task, model = untrained(folder, words, copying=False, flags=flags)
    write_model(model, task, folder, int8=False)
    read = ExportedModel.load(folder)
    read.max_words = WORDS
    return read


def measured(
    model: ExportedModel, words: int, levels: int, queries: int, rounds: int
) -> List[Tuple[float, ...]]:
    """(encoding, with a beam) of each way, medians"""
    rng = random.Random(1)
    beam = model.beam_search(BEAM)
    times: Dict[str, List[Tuple[float, float]]] = {"whole": [], "grown": []}

    def session(count: int) -> str:
        return " <q> ".join(random_query(words, rng) for _ in range(count))

    for _ in range(rounds):
        before = "".join(f"{session(QUERIES_BEFORE)} <session> " for _ in range(HISTORY))
        start = before if levels == 3 else ""
        lines = [start + session(queries) for _ in range(IN_A_ROW)]
        shorter = [model.sources([line.rsplit(" <q> ", 1)[0]]) for line in lines]
        ways: Dict[str, Way] = {
            "whole": lambda i, lines=lines: model.sources([lines[i]]),
            "grown": lambda i, lines=lines, shorter=shorter: model.longer(lines[i], shorter[i]),
        }
        for name in rng.sample(list(ways), len(ways)):
            times[name] += [timed(ways[name], beam, i) for i in range(IN_A_ROW)][1:]
    return [tuple(map(statistics.median, zip(*each))) for each in times.values()]


def timed(way: Way, beam: Callable, number: int) -> Tuple[float, float]:
    start = time.process_time()
    sources = way(number)
    encoded = time.process_time()
    beam(sources)
    return 1000 * (encoded - start), 1000 * (time.process_time() - start)


if __name__ == "__main__":
    main()
