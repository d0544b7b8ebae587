"""The steps from a raw log to suggestions; each is a command that you can run yourself."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional

from mtn_evaluation import Suggestions, read_generate_log, score
from mtn_preprocess.commands.user_dir import plugin_folder
from mtn_sample_log import BestPossible, read_pairs

ROOT = Path(__file__).resolve().parents[2]
USER_DIR = "$(mtn-user-dir)"  # as printed
# Passive waiting is for busy cores: threads that spin while waiting take time from others. On idle
# cores spinning is faster (docs/speed.md).
BUSY = {"OMP_WAIT_POLICY": "PASSIVE"}
PLUGIN = f'--user-dir "{USER_DIR}" --task session_to_query'

# The lines of fairseq's output to show; a file keeps all of it.
PROGRESS = ("| train_inner |", "| valid |", "model params", "Wrote preprocessed", "Generate test")

# Training flags of all architectures in the examples.
TRAINING = (
    "--cpu --num-workers 0 --optimizer fused_adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0"
    " --lr-scheduler polynomial_decay --max-tokens 500 --dropout 0"
    " --no-epoch-checkpoints --log-format simple --log-interval 100"
)


def new_folder(output: Path) -> Path:
    """A new empty folder, relative to the project's folder, where all commands run."""
    os.chdir(ROOT)  # so that the printed commands work unchanged
    run = Path(os.path.relpath(output))
    if run.exists():
        if not (run / "log.tsv").exists():
            sys.exit(f"{run} is not of an earlier run; remove it or name another --output")
        shutil.rmtree(run)
    run.mkdir(parents=True)
    return run


def make_log(run: Path, users: int, seed: int) -> Path:
    log = run / "log.tsv"
    command(f"mtn-sample-log --users {users} --seed {seed} --output {log}")
    return log


def find_sessions(run: Path, history: int = 0) -> None:
    flags = f" --history {history}" if history else ""
    command(
        f"python preprocess/log_to_sessions.py {run}/log.tsv --output {run}/text"
        f" --split 98,1,1{flags}"
    )


def binarise(run: Path) -> None:
    command(
        f"fairseq-preprocess {PLUGIN}"
        " --source-lang session --target-lang next --joined-dictionary --thresholdsrc 8"
        f" --trainpref {run}/text/train --validpref {run}/text/valid --testpref {run}/text/test"
        f" --destdir {run}/data-bin --workers 2",
        keep=run / "preprocess.log",
    )


def train(run: Path, flags: str, updates: int, seed: int, into: Path) -> None:
    """Train; checkpoints and log go to the folder `into`."""
    into.mkdir(parents=True, exist_ok=True)
    schedule = f"--max-update {updates} --total-num-update {updates}"
    command(
        f"fairseq-train {run}/data-bin {PLUGIN}"
        f" {TRAINING} {flags} --seed {seed} {schedule}"
        f" --warmup-updates {updates // 10} --save-dir {into}/checkpoints",
        keep=into / "train.log",
    )


def suggest(run: Path, into: Path, count: int = 5) -> List[Suggestions]:
    """Generate this many next queries for every test session."""
    command(
        f"fairseq-generate {run}/data-bin {PLUGIN}"
        f" --path {into}/checkpoints/checkpoint_best.pt --cpu --batch-size 128"
        f" --beam {count} --nbest {count} --lenpen 0",
        keep=into / "generate.log",
    )
    return read_generate_log(str(into / "generate.log"))


def suggest_by_counting(run: Path, method: str, into: Path) -> List[Suggestions]:
    """The same with a count baseline."""
    into.mkdir(exist_ok=True)
    command(
        f"mtn-yardstick {method} --train {run}/text/train --test {run}/text/test",
        keep=into / "generate.log",
    )
    return read_generate_log(str(into / "generate.log"))


def make_bundle(run: Path) -> Path:
    """The folder for `mtn-serve`: model, counts of next queries, and a ranker for both."""
    model = f"{run}/checkpoints/checkpoint_best.pt --data {run}/data-bin"
    command(f"mtn-count-next --train {run}/text/train --output {run}/next-queries")
    command(
        f"mtn-fit-ranker --model {model} --counts {run}/next-queries --beam 10"
        f" --valid {run}/text/valid --output {run}/ranker"
    )
    command(
        f"mtn-export --checkpoint {model} --counts {run}/next-queries --ranker {run}/ranker"
        f" --test {run}/text/test --samples examples/sample_log/samples.txt"
        f" --output {run}/bundle"
    )
    return run / "bundle"


def measure(pairs: List[Suggestions], text: Path) -> Dict[str, float]:
    """The scores, and the best possible scores on the sample log."""
    best = BestPossible().measure(read_pairs(str(text)))
    assert len(pairs) == best.pairs, "every test pair is answered"
    return {
        **score(pairs),
        "pairs": best.pairs,
        "best_last_query": 100 * best.actual_last_query,
        "best_last_and_place": 100 * best.actual_last_and_place,
        "best_whole_session": 100 * best.actual_whole_session,
    }


def exact_by_place(pairs: List[Suggestions]) -> Dict[int, float]:
    """Exact match in percent, by the place of the next query in its session."""
    hits: Dict[int, List[bool]] = {}
    for pair in pairs:
        hits.setdefault(_place(pair), []).append(pair.ranked[0] == pair.next_query)
    return {place: 100 * sum(each) / len(each) for place, each in sorted(hits.items())}


def best_by_place(pairs: List[Suggestions]) -> Dict[int, float]:
    """The same for the best possible prediction."""
    best = BestPossible()
    places = sorted({_place(pair) for pair in pairs})
    groups = {at: [pair for pair in pairs if _place(pair) == at] for at in places}
    return {
        place: 100
        * best.measure((_queries(pair), pair.next_query) for pair in group).actual_whole_session
        for place, group in groups.items()
    }


def _queries(pair: Suggestions) -> List[str]:
    """The queries of the last session, which at two levels is the only one."""
    return pair.session.split(" <session> ")[-1].split(" <q> ")


def _place(pair: Suggestions) -> int:
    return len(_queries(pair)) + 1


def title(text: str) -> None:
    print(f"\n=== {text}", flush=True)


def command(line: str, keep: Optional[Path] = None) -> None:
    """Print a command and run it; with `keep`, write its output there and show only progress."""
    computes = line.startswith(("fairseq-train", "fairseq-generate"))
    settings = BUSY if computes and os.getloadavg()[0] > 0.3 * (os.cpu_count() or 1) else {}
    print("$ " + "".join(f"{k}={v} " for k, v in settings.items()) + line, flush=True)
    words = [word.replace(USER_DIR, str(plugin_folder())) for word in shlex.split(line)]
    # Use the commands of this Python's environment, even if it is not activated.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**settings, **os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
    if keep is None:
        subprocess.run(words, check=True, env=environment)
        return
    partial = keep.with_name(keep.name + ".part")  # a file with the final name is complete
    with open(partial, "w", encoding="utf-8") as log, subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for output in process.stdout:
            log.write(output)
            if any(mark in output for mark in PROGRESS):
                print("  " + output.split(" | INFO | ")[-1].strip()[:150], flush=True)
    if process.returncode:
        last_lines = "".join(partial.open().readlines()[-15:])
        sys.exit(f"failed; the last lines of {partial}:\n{last_lines}")
    partial.replace(keep)


def show_first_lines(path: Path, count: int) -> None:
    print(f"first lines of {path}:")
    with open(path, encoding="utf-8") as stream:
        for _ in range(count):
            print("  " + next(stream).rstrip("\n").replace("\t", "  "))
