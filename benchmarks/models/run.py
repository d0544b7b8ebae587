"""`make bench`: speed of training and decoding, and how cost grows with sessions and vocabulary.

    python benchmarks/models/run.py [--only training,growth,…] [--rounds N] [--output FOLDER]

Prints ratios while it runs; writes results.json, tables.md and the pictures to this folder, or to
--output. With --only, the other parts of results.json stay unchanged.
"""

import argparse
import json
import os
import platform
import tempfile
import warnings
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Callable, Dict, Iterator, List

import torch
from corpus import Shape, write_corpus
from decoding import Decoding
from fairseq.sequence_generator import SequenceGenerator
from measure import flops_per_second, matmul_flops_per_second, pairs_per_second, peak_gib, ratio
from padded_mtn import check_same
from systems import (
    HLSTM,
    MTN,
    MTN_ADAPTIVE,
    MTN_FAIRSEQ_SEARCH,
    MTN_FROZEN,
    MTN_QUERY,
    PADDED,
    PADDED_ALIKE,
    PADDED_LOGITS,
    PAIRS,
    SIZES,
    STOCK,
    STOCK_LSTM,
    UNROLLED,
    UNROLLED_ADAPTIVE,
    WITHOUT_COPYING,
    flags_of,
)
from time_shares import time_shares
from training import Training

from report import write_report

HERE = Path(__file__).parent
QUERIES = (2, 4, 8, 16, 32)
WORDS = (1_000, 5_000, 20_000, 76_000)
LEVELS = ("3", "3,2", "3,2,1", "3,2,1,1")
SMALLEST = min(SIZES)

# In two groups: at the largest size, each system needs one or two GB for weights and moments.
TRAINED = (
    (STOCK, MTN, PADDED, PADDED_ALIKE, PADDED_LOGITS, UNROLLED),
    (STOCK, MTN_QUERY, MTN_ADAPTIVE, UNROLLED_ADAPTIVE, HLSTM),
)
ANSWERING = (MTN, PADDED, MTN_FAIRSEQ_SEARCH, MTN_FROZEN, MTN_QUERY, STOCK, STOCK_LSTM, HLSTM)


class Benchmark:
    """One method per part of the results.

    Args:
        rounds: turns of each system in a comparison; the median counts
    """

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def training(self) -> List[Dict[str, Any]]:
        """Sessions of 5 queries, at three sizes."""
        return [
            row
            for words in SIZES
            for systems in TRAINED
            for row in self._train_side_by_side(words, systems)
            if row["system"] != STOCK or systems == TRAINED[0]
        ]

    def decoding(self) -> List[Dict[str, Any]]:
        """Beam 5: 64 sessions at once, and one at a time."""
        found = []
        for words, size in SIZES.items():
            with _corpus(Shape(words), sessions=200) as data:
                for batch, rounds in ((64, self.rounds), (1, 5 * self.rounds)):
                    workers = {
                        system: Decoding(
                            data,
                            flags_of(system, words, size, 4),
                            batch,
                            search=SequenceGenerator if system == MTN_FAIRSEQ_SEARCH else None,
                            frozen=system == MTN_FROZEN,
                        )
                        for system in ANSWERING
                    }
                    found += _rows(workers, rounds, STOCK, words=words, batch=batch)
        return found

    def copying(self) -> List[Dict[str, Any]]:
        """With and without `--copy-attention`, where every seventh word is unknown."""
        found = []
        for words, size in SIZES.items():
            shape = Shape(words, unknown=0.14)
            for system, same in WITHOUT_COPYING.items():
                with _corpus(shape) as data:
                    kinds: Dict[str, Callable[[List[str]], Any]] = {
                        "training": partial(Training, data),
                        "decoding, 64 at once": lambda flags: Decoding(data, flags, 64),
                        "decoding, one at a time": lambda flags: Decoding(data, flags, 1),
                    }
                    for work, worker in kinds.items():
                        each = shape.pairs_together
                        workers = {
                            name: worker(flags_of(name, words, size, each))
                            for name in (same, system)
                        }
                        rounds = self.rounds * (5 if "one" in work else 1)
                        found += _rows(workers, rounds, same, words=words, work=work)
        return [row for row in found if row["system"] in WITHOUT_COPYING]

    def growth(self) -> Dict[str, List[Dict[str, Any]]]:
        """At the smallest size: more queries per session, more words, more levels."""
        return {
            "queries": self._grow(
                {queries: Shape(SMALLEST, queries) for queries in QUERIES},
                (MTN, MTN_QUERY, UNROLLED, STOCK),
            ),
            "words": self._grow(
                {words: Shape(words) for words in WORDS}, (MTN, MTN_ADAPTIVE, STOCK)
            ),
            "levels": self._levels(),
        }

    def _grow(self, shapes: Dict[int, Shape], systems: tuple) -> List[Dict[str, Any]]:
        """All shapes take turns too, so that changing load does not bend the curve."""
        with ExitStack() as corpora:
            workers = {}
            for at, shape in shapes.items():
                data = corpora.enter_context(_corpus(shape))
                for system in systems:
                    flags = flags_of(
                        system, shape.vocabulary, SIZES[SMALLEST], shape.pairs_together
                    )
                    workers[at, system] = Training(data, flags)
            speeds = pairs_per_second(workers, self.rounds)
        return [
            _row(worker, speeds, (at, system), (at, STOCK), at=at, system=system)
            for (at, system), worker in workers.items()
        ]

    def _levels(self) -> List[Dict[str, Any]]:
        """The same data, with three levels of separators, read with one to four levels."""
        shape, size = Shape(SMALLEST, queries=27, depth=3), SIZES[SMALLEST]
        with _corpus(shape) as data:
            workers = {
                layers: Training(
                    data,
                    flags_of(MTN, SMALLEST, size, shape.pairs_together, layers, "12,5,5,5"),
                )
                for layers in LEVELS
            }
            rows = _rows(workers, self.rounds, LEVELS[0])
        return [{**row, "at": row["system"], "system": MTN} for row in rows]

    def memory(self) -> List[Dict[str, Any]]:
        """Peak memory of a process that trains for three updates or decodes three batches of 64."""
        found = []
        for words, size in SIZES.items():
            with _corpus(Shape(words)) as data:
                for system in dict.fromkeys(sum(TRAINED, ())):
                    flags = flags_of(system, words, size, 4)
                    found.append(
                        {
                            "words": words,
                            "system": system,
                            "training": peak_gib(partial(_train_some, data, flags)),
                            "decoding": peak_gib(partial(_decode_some, data, flags)),
                        }
                    )
                    print(found[-1], flush=True)
        return found

    def peak(self) -> List[Dict[str, Any]]:
        """Matrix multiplications per second, compared with the machine's peak."""
        found = []
        for words, size in SIZES.items():
            with _corpus(Shape(words)) as data:
                for system in (MTN, STOCK):
                    worker = Training(data, flags_of(system, words, size, 4))
                    worker.step()
                    before = matmul_flops_per_second()
                    reached = flops_per_second(worker, self.rounds)
                    machine = max(before, matmul_flops_per_second())
                    found.append(
                        {
                            "words": words,
                            "system": system,
                            "gigaflops": reached / 1e9,
                            "machine": machine / 1e9,
                            "share": reached / machine,
                        }
                    )
                    print(found[-1], flush=True)
        return found

    def shares(self) -> List[Dict[str, Any]]:
        """The shares of the time in training and decoding."""
        found = []
        for words, size in SIZES.items():
            with _corpus(Shape(words)) as data:
                flags = flags_of(MTN, words, size, 4)
                for work, worker in (
                    ("training", Training(data, flags)),
                    ("decoding, 64 at once", Decoding(data, flags, 64)),
                    ("decoding, one at a time", Decoding(data, flags, 1)),
                ):
                    shares = time_shares(worker, steps=4)
                    found.append({"words": words, "work": work, "shares": shares})
                    print(words, work, {kind: f"{s:.0%}" for kind, s in shares.items()}, flush=True)
        return found

    def _train_side_by_side(self, words: int, systems: tuple) -> List[Dict[str, Any]]:
        shape, size = Shape(words), SIZES[words]
        with _corpus(shape) as data:
            workers = {
                system: Training(data, flags_of(system, words, size, shape.pairs_together))
                for system in systems
            }
            for system in {PADDED, PADDED_ALIKE, PADDED_LOGITS}.intersection(systems):
                packed, padded = (workers[name].trainer for name in (MTN, system))
                check_same(packed.model, padded.model, next(workers[MTN].batches)[0])
            return _rows(workers, self.rounds, STOCK, at=words)


def _rows(workers: Dict[str, Any], rounds: int, to: str, **at: Any) -> List[Dict[str, Any]]:
    speeds = pairs_per_second(workers, rounds)
    return [
        _row(worker, speeds, system, to, **at, system=system) for system, worker in workers.items()
    ]


def _row(worker: Any, speeds: Dict[Any, Any], one: Any, to: Any, **known: Any) -> Dict[str, Any]:
    row = {
        **known,
        "parameters": worker.parameters,
        "pairs_per_second": median(speeds[one]),
        "ratio": ratio(speeds, one, to),
    }
    what = ", ".join(f"{key} {value}" for key, value in known.items())
    print(f"{what:<60} {row['pairs_per_second']:>9.1f} pairs/s {row['ratio']:>6.2f}", flush=True)
    return row


@contextmanager
def _corpus(shape: Shape, sessions: int = 0) -> Iterator[Path]:
    """Temporary data for one comparison; the number of pairs does not depend on session length."""
    with tempfile.TemporaryDirectory() as folder:
        count = sessions or 20 * PAIRS // (shape.queries - 1)
        yield write_corpus(Path(folder) / "data-bin", shape, count)


def _train_some(data: Path, flags: List[str]) -> None:
    worker = Training(data, flags)
    for _ in range(3):
        worker.step()


def _decode_some(data: Path, flags: List[str]) -> None:
    worker = Decoding(data, flags, batch=64)
    for _ in range(3):
        worker.step()


def machine() -> Dict[str, Any]:
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "seed": 1,
        "mtn_fairseq": version("mtn_fairseq"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ["training", "decoding", "copying", "growth", "memory", "peak", "shares"]
    parser.add_argument("--only", default=",".join(parts), help="parts (%(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="turns per system (%(default)s)")
    parser.add_argument("--output", type=Path, default=HERE, help="folder for the results")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    args.output.mkdir(parents=True, exist_ok=True)
    path = args.output / "results.json"
    results = json.loads(path.read_text()) if path.is_file() else {}
    benchmark = Benchmark(args.rounds)
    for part in args.only.split(","):
        if part not in parts:
            parser.error(f"no part {part!r}: choose from {', '.join(parts)}")
        print(f"== {part}", flush=True)
        results[part] = getattr(benchmark, part)()
        results.setdefault("machine", {})[part] = {**machine(), "rounds": args.rounds}
        path.write_text(json.dumps(results, indent=1) + "\n")
    write_report(results, args.output)
    print((args.output / "tables.md").read_text())


if __name__ == "__main__":
    main()
