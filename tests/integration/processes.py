"""Run the project's commands as a user would: as processes, from the project's folder."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PLUGIN = f"--user-dir {ROOT}/mtn_fairseq --task session_to_query"
SMALL = (
    "--arch mtn_tiny --encoder-embed-dim 16 --encoder-ffn-embed-dim 16"
    " --encoder-attention-heads 2 --level-layers 1,1"
)
TRAIN = (
    "--cpu --optimizer adam --lr 0.01 --max-tokens 200 --seed 5 --log-format simple"
    " --no-epoch-checkpoints"
)


def environment(variables):
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        **variables,
    }


def run(line, stdin=None, status=0, **variables):
    """The finished process; its exit code must be `status` (None: anything but 0)."""
    done = subprocess.run(
        shlex.split(line),
        input=stdin,
        env=environment(variables),
        cwd=ROOT,
        text=True,
        encoding="utf-8",
        capture_output=True,
        timeout=600,
    )
    good = done.returncode == status if status is not None else done.returncode != 0
    assert good, (
        f"{line}\nexit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    )
    return done


def start(line, output, **variables):
    """A process that is running now; what it says goes to the file `output`."""
    with open(output, "w", encoding="utf-8") as stream:
        return subprocess.Popen(
            shlex.split(line),
            env=environment(variables),
            cwd=ROOT,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )


def prepare(folder, history=0, users=25, pieces=0):
    """Raw log -> session text -> binarised data; returns (text prefix folder, data folder)."""
    log = folder / "log.tsv"
    run(f"{sys.executable} -m mtn_fairseq.sample_log.cli --users {users} --output {log}")
    run(
        f"{sys.executable} preprocess/log_to_sessions.py {log} --output {folder}/text"
        f" --split 60,20,20 --history {history} {f'--sentencepiece {pieces}' if pieces else ''}"
    )
    run(
        f"fairseq-preprocess {PLUGIN} -s session -t next --joined-dictionary"
        f" --thresholdsrc {0 if pieces else 2}"
        f" --trainpref {folder}/text/train --validpref {folder}/text/valid"
        f" --testpref {folder}/text/test --destdir {folder}/data-bin"
    )
    return folder / "text", folder / "data-bin"


def train(data, save, flags, **options):
    return run(f"fairseq-train {data} {PLUGIN} {TRAIN} --save-dir {save} {flags}", **options)
