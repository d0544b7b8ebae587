#!/usr/bin/env python3
"""What a shortlist saves: an untrained model with all its words, and with the first N in its beam.

    shortlist.py [--words 76000] [--shortlist 10000] [--requests 25]

Prints CPU milliseconds of one request, median: of the model alone (beam of 5, five decoder steps),
and of what one list needs from the model: a beam of 30, and scores of 10 of its hypotheses and 16
other texts, which need all words. The first requests do not count.
"""

import argparse
import logging
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Dict, List

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and onnxruntime are imported
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from measuring import WARM_UP, in_turn, one_request
from model_engines import BEAM, WORDS, Engine
from synthetic_models import NUMBER_TYPES, WIDTHS, random_sessions, write_mtn

from mtn_serving.export.export_model import write_model
from mtn_serving.onnx_engine.exported_model import ExportedModel

LIST_BEAM, HYPOTHESES, OTHERS = 30, 10, 16


def main() -> None:
    args = parse_args()
    logging.disable(logging.WARNING)  # fairseq reports what it loads
    batches = [[each] for each in random_sessions(args.words, args.requests + WARM_UP)]
    with tempfile.TemporaryDirectory() as folder:
        models = exported(Path(folder), args.words, args.shortlist)
        alone = {name: engine(partial(beam_alone, each)) for name, each in models.items()}
        lists = {name: engine(partial(asked_by_list, each)) for name, each in models.items()}
        taken = [in_turn(engines, batches) for engines in (alone, lists)]
        sizes = {name: weights_of(Path(folder) / name) for name in models}
    print("| model | beam alone | one list | weights |")
    print("|---|---|---|---|")
    for name, size in sizes.items():
        found = (f"{one_request(each[name])['median_ms']:.1f} ms" for each in taken)
        print(f"| {name} | {' | '.join(found)} | {size:.0f} MB |")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, default=76_000, choices=[*WIDTHS])
    parser.add_argument("--shortlist", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=25)
    return parser.parse_args()


def exported(folder: Path, words: int, shortlist: int) -> Dict[str, ExportedModel]:
    model, task = write_mtn(folder, words, copying=False)
    found = {}
    for number_type in NUMBER_TYPES:
        for said in (0, shortlist):
            name = f"{number_type}, {f'{said:,} words in the beam' if said else 'all words'}"
            (folder / name).mkdir()
            write_model(model, task, folder / name, number_type == "int8", said)
            found[name] = ExportedModel.load(folder / name)
            found[name].max_words = WORDS
    return found


def weights_of(folder: Path) -> float:
    """Megabytes of the graphs' weights."""
    return sum(each.stat().st_size for each in folder.glob("*.weights")) / 1e6


def engine(answer: Any) -> Engine:
    return Engine(answer, os.getpid(), Path())


def beam_alone(model: ExportedModel, sessions: List[str]) -> List[Any]:
    return model.beam_search(BEAM)(model.sources(sessions))


def asked_by_list(model: ExportedModel, sessions: List[str]) -> List[Any]:
    sources = model.sources(sessions)
    (found,) = model.beam_search(LIST_BEAM)(sources)
    words = " ".join(sessions).replace("<q>", "").split()
    others = [f"{words[i % len(words)]} w{i} w{i + 1}" for i in range(OTHERS)]
    return model.scores(sources, [[*found.texts[:HYPOTHESES], *others]], [found])


if __name__ == "__main__":
    main()
