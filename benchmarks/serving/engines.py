#!/usr/bin/env python3
"""First part of `make bench-serve`: what one request costs, each engine beside the others.

    engines.py [--words 5000 …] [--threads 1 2] [--demo runs/demo]
               [--output FOLDER] [--docs PAGE]

Models: untrained, of three sizes; a session in, the texts of a beam out, five decoder steps.
Lists: suggestions and completions of what `make demo` wrote; PECOS=python adds PECOS.

All engines answer the same sessions in turn, so that a busy machine slows all of them alike; CPU
time is measured. Start-up and memory are of a process that does nothing else. What is not
installed is left out and named. Writes engines.json and engines.md.
"""

import argparse
import importlib.util
import json
import logging
import os
import platform
import sys
import tempfile
from datetime import date
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are imported
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import list_engines
import model_engines
from converted_model import check_converted_model
from engines_report import markdown, show_in
from measuring import WARM_UP, Taken, fresh, in_turn, many_requests, one_request
from synthetic_models import WIDTHS, random_sessions, write_models

HERE = Path(__file__).resolve().parent
INTERACTIVE = "fairseq-interactive"
TOGETHER = 64
BATCHES = 3  # of so many sessions; the first warms up
Rows = List[Dict[str, Any]]


def main() -> None:
    args = parse_args()
    logging.disable(logging.WARNING)  # fairseq reports what it loads
    left_out: List[str] = []
    results: Dict[str, Any] = {"machine": machine(args), "left_out": left_out}
    if args.words:
        results["models"], results["converted"] = [], []
    for words in args.words:
        print(f"== models of {words:,} words", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            write_models(Path(folder), words, args.copying)
            kinds = dict(model_engines.ENGINES)
            if importlib.util.find_spec("ctranslate2") is None:
                name_left_out(left_out, "CTranslate2: pip install -e '.[bench]'")
                kinds = {n: kind for n, kind in kinds.items() if "CTranslate2" not in n}
            else:
                found = check_converted_model(Path(folder), words)
                results["converted"].append({"words": words, **found})
            requests = partial(random_sessions, words)
            rows = measure("model_engines", kinds, Path(folder), requests, args)
            results["models"] += [{"words": words, "width": WIDTHS[words], **row} for row in rows]
            save(results, args.output)
    results["lists"] = lists(args, left_out)
    save(results, args.output)
    if args.docs is not None:
        show_in(args.docs, results)
    print(markdown(results))


def save(results: Dict[str, Any], folder: Path) -> None:
    results["machine"]["load_after"] = os.getloadavg()[0]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "engines.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "engines.md").write_text(markdown(results), encoding="utf-8")


def lists(args: argparse.Namespace, left_out: List[str]) -> Rows:
    demo = args.demo.resolve()
    if not (demo / list_engines.FLOAT).is_dir():
        name_left_out(left_out, f"lists: {args.demo} has no bundle: make demo")
        return []
    print("== lists", flush=True)
    list_engines.make_bundles(demo)
    asked = list_engines.requests_of(demo)
    kinds, pecos = dict(list_engines.ENGINES), os.environ.get("PECOS")
    if pecos:
        kinds[list_engines.PECOS] = partial(list_engines.pecos_engine, pecos)
    else:
        name_left_out(left_out, "PECOS: give its Python in PECOS, see rival_pecos.py")

    def requests(count: int, seed: int = 0) -> List[str]:
        return [asked[(seed * TOGETHER + place) % len(asked)] for place in range(count)]

    return measure("list_engines", kinds, demo, requests, args)


def name_left_out(left_out: List[str], note: str) -> None:
    if note not in left_out:
        left_out.append(note)
        print(f"left out: {note}", file=sys.stderr, flush=True)


def measure(
    module: str,
    kinds: Dict[str, model_engines.Loader],
    folder: Path,
    requests: Callable[..., List[str]],
    args: argparse.Namespace,
) -> Rows:
    """A row per engine and number of threads; start-up and memory by one thread.

    Args:
        requests: so many of them, of a seed
    """
    started = {
        name: fresh(module, name, folder, requests(1)[0])
        for name in kinds
        if name != list_engines.PECOS  # it is trained as it starts
    }
    rows: Rows = []
    for threads in args.threads:
        if threads > 1:  # PECOS has one
            kinds = {name: load for name, load in kinds.items() if name != list_engines.PECOS}
        one, many = times(kinds, folder, threads, requests, args.requests)
        for name in kinds:
            figures = {**one_request(one[name]), **many_requests(many[name], TOGETHER)}
            more = started.get(name, {}) if threads == args.threads[0] else {}
            rows.append({"engine": name, "threads": threads, **figures, **more})
            print(rows[-1], flush=True)
    return rows


def times(
    kinds: Dict[str, model_engines.Loader],
    folder: Path,
    threads: int,
    requests: Callable[..., List[str]],
    count: int,
) -> Tuple[Dict[str, List[Taken]], Dict[str, List[Taken]]]:
    """Of single requests, and of batches, by engine."""
    engines = {name: load(folder, threads, 1) for name, load in kinds.items()}
    one = in_turn(engines, [[each] for each in requests(count + WARM_UP)])
    if INTERACTIVE in kinds:  # it waits until its buffer is full
        engines[INTERACTIVE].end()
        engines[INTERACTIVE] = kinds[INTERACTIVE](folder, threads, TOGETHER)
    batches = [requests(TOGETHER, seed) for seed in range(3, 3 + BATCHES)]
    many = in_turn(engines, batches)
    for engine in engines.values():
        engine.end()
    return one, many


def machine(args: argparse.Namespace) -> Dict[str, Any]:
    packages = ("onnxruntime", "torch", "ctranslate2", "numpy")
    return {
        "date": str(date.today()),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages if importlib.util.find_spec(name)},
        "requests": args.requests,
        "copying": args.copying,
        "load_before": os.getloadavg()[0],
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--words", type=int, nargs="*", default=[*WIDTHS], choices=[*WIDTHS], help="sizes")
    add("--requests", type=int, default=40, help="measured per engine (default: %(default)s)")
    add("--threads", type=int, nargs="+", default=[1, 2], help="(default: 1 2)")
    add("--copying", action="store_true", help="models that copy words")
    add("--demo", type=Path, default=HERE.parents[1] / "runs/demo", help="what `make demo` wrote")
    add("--output", type=Path, default=HERE, help="folder for the results (default: %(default)s)")
    add("--docs", type=Path, help="a page that shows the goals between its marks")
    return parser.parse_args()


if __name__ == "__main__":
    main()
