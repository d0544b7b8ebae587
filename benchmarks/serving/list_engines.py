"""The engines that make lists of what `make demo` wrote: whole suggestions, not a beam alone.

A request is a session, a tab, and the query that was asked next; completions know half of it.
"""

import json
import os
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Dict, List

from model_engines import Engine, Loader, interactive, read_line, send

HERE = Path(__file__).resolve().parent
NBEST = 5
FLOAT, INT8, COUNTS = "bundle", "bundle-int8", "bundle-counts"  # folders


def make_bundles(demo: Path) -> None:
    """The demo's bundle with weights of one byte, and one of its counts alone; made once."""
    model = f"--checkpoint {demo}/checkpoints/checkpoint_best.pt --data {demo}/data-bin"
    counts = f"--counts {demo}/next-queries"
    completion = demo / "completion-ranker"
    rankers = f"--ranker {demo}/ranker" + (
        f" --completion-ranker {completion}" if completion.is_dir() else ""
    )
    make(demo / INT8, f"mtn-export {model} {counts} {rankers} --int8")
    make(demo / "ranker-counts", f"mtn-fit-ranker {counts} --valid {demo}/text/valid")
    make(demo / COUNTS, f"mtn-export {counts} --ranker {demo}/ranker-counts")


def make(folder: Path, command: str) -> None:
    if not folder.is_dir():
        line = f"{command} --output {folder}"
        print(f"$ {line}", flush=True)
        program, *words = line.split()
        subprocess.run([Path(sys.executable).with_name(program), *words], check=True)


def requests_of(demo: Path) -> List[str]:
    """Distinct sessions of the demo's test text, shuffled."""
    sides = [
        (demo / f"text/test.{side}").read_text(encoding="utf-8").splitlines()
        for side in ("session", "next")
    ]
    found = [f"{session}\t{following}" for session, following in dict(zip(*sides)).items()]
    random.Random(1).shuffle(found)  # the text has the sessions of one person together
    return found


def _sessions(requests: List[str]) -> List[str]:
    return [request.partition("\t")[0] for request in requests]


def _prefixes(requests: List[str]) -> List[str]:
    queries = [request.partition("\t")[2] for request in requests]
    return [query[: max(1, len(query) // 2)] for query in queries]


def bundle_engine(bundle: str, method: str, demo: Path, threads: int, together: int) -> Engine:
    from mtn_serving import Suggester

    suggester = Suggester.load(demo / bundle, threads=threads)

    def answer(requests: List[str]) -> List[Any]:
        if method == "complete":
            return suggester.complete_many(_sessions(requests), _prefixes(requests), NBEST)
        return suggester.suggest_many(_sessions(requests), NBEST)

    weights = demo / bundle / ("next-queries" if bundle == COUNTS else "model")
    return Engine(answer, os.getpid(), weights)


def torch_engine(demo: Path, threads: int, together: int) -> Engine:
    import torch

    from mtn_serving import Suggester

    checkpoint = demo / "checkpoints/checkpoint_best.pt"
    suggester = Suggester.load(
        model=checkpoint,
        data=demo / "data-bin",
        counts=demo / "next-queries",
        ranker=demo / "ranker",
    )

    def answer(requests: List[str]) -> List[Any]:
        torch.set_num_threads(threads)
        return suggester.suggest_many(_sessions(requests), NBEST)

    return Engine(answer, os.getpid(), checkpoint)


def interactive_engine(demo: Path, threads: int, together: int) -> Engine:
    """Hypotheses of the model only, as many as the ranker takes."""
    manifest = json.loads((demo / FLOAT / "manifest.json").read_text(encoding="utf-8"))
    beam = manifest["ranker"]["beam"]
    flags = f"--path {demo}/checkpoints/checkpoint_best.pt --beam {beam} --nbest {beam}"
    ask = interactive(demo / "data-bin", flags, threads, together)
    return ask._replace(answer=lambda requests: ask.answer(_sessions(requests)))


def pecos_engine(python: str, demo: Path, threads: int, together: int) -> Engine:
    """Trained here, before anything is measured; it reads the last query only."""
    process = subprocess.Popen(
        [python, str(HERE / "pecos_server.py"), str(demo / "text/train"), str(NBEST)],
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "experiments/aol_small")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert read_line(process) == "ready\n"

    def answer(requests: List[str]) -> List[Any]:
        send(process, _sessions(requests))
        return [json.loads(read_line(process)) for _ in requests]

    return Engine(answer, process.pid, HERE / "pecos_server.py", process)


ENGINES: Dict[str, Loader] = {
    "suggest, float32": partial(bundle_engine, FLOAT, "suggest"),
    "suggest, int8": partial(bundle_engine, INT8, "suggest"),
    "suggest, without the model": partial(bundle_engine, COUNTS, "suggest"),
    "suggest, torch": torch_engine,
    "complete, float32": partial(bundle_engine, FLOAT, "complete"),
    "complete, int8": partial(bundle_engine, INT8, "complete"),
    "complete, without the model": partial(bundle_engine, COUNTS, "complete"),
    "fairseq-interactive": interactive_engine,
}
PECOS = "PECOS, last query"
