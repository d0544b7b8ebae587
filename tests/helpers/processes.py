"""Run the project's commands as a user would: as processes, from the project's folder."""

import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile

import forking
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
ROOMS = ("", "preprocess", "evaluation", "serving", "report", "sample_log")
PYTHONPATH = os.pathsep.join(str(ROOT / room) for room in ROOMS)
PLUGIN = f"--user-dir {ROOT}/mtn_fairseq --task session_to_query"
SMALL = (
    "--arch mtn_tiny --encoder-embed-dim 16 --encoder-ffn-embed-dim 16"
    " --encoder-attention-heads 2 --level-layers 1,1"
)
TRAIN = (
    "--cpu --optimizer adam --lr 0.01 --max-tokens 200 --seed 5 --log-format simple"
    " --no-epoch-checkpoints"
)

# A limit of processor time stops a command that loops, however busy the machine is; a long timeout
# stops a command that waits for ever.
CPU_SECONDS = 900
PATIENCE = 3600

# Variables that Python and torch read at start, before any line of a command runs.
READ_AT_START = ("PYTHON", "LC_", "LANG", "OMP_", "PATH")
QUIET = {"PYTHONWARNINGS": "ignore"}  # a forked process can apply it later


# Values for `status` of `run`.
FAILURE, ANY = None, object()


def environment(variables):
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]),
        "PYTHONPATH": PYTHONPATH,
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        **variables,
    }


def run(line, stdin="", status=0, folder=ROOT, **variables):
    """Run to the end; the exit code must be `status`: a number, FAILURE or ANY.

    `stdin` is text or bytes.
    """
    words = shlex.split(line)
    with ExitStack() as stack:
        streams = [stack.enter_context(TemporaryFile()) for _ in range(3)]
        streams[0].write(stdin.encode("utf-8") if isinstance(stdin, str) else stdin)
        streams[0].seek(0)
        process = _begin(words, streams, folder, variables)
        try:
            code = process.wait(timeout=PATIENCE)
        finally:
            process.kill()
        said, complained = (_text(stream) for stream in streams[1:])
    good = code == status or status is ANY or (status is FAILURE and code != 0)
    assert good, f"{line}\nexit code {code}\n{said[-3000:]}\n{complained[-3000:]}"
    return subprocess.CompletedProcess(words, code, said, complained)


def start(line, output, **variables):
    """Start a process whose output goes to the file `output`."""
    with open(output, "w", encoding="utf-8") as said, open(os.devnull) as nothing:
        return _begin(shlex.split(line), [nothing, said, said], ROOT, variables)


def start_anew(line, output, **variables):
    """The same without forking, for tests of how a process starts or is stopped."""
    with open(output, "w", encoding="utf-8") as said, open(os.devnull) as nothing:
        return _popen(shlex.split(line), [nothing, said, said], ROOT, variables)


def start_with_pipes(line):
    """The same with pipes for all three streams."""
    return _popen(shlex.split(line), [subprocess.PIPE] * 3, ROOT, {})


def _begin(words, streams, folder, variables):
    """Start a process, by forking where that makes no difference."""
    script = _python_words(words)
    if script is None or _matters_at_start(variables):
        return _popen(words, streams, folder, variables)
    return forking.start(script, streams, folder, environment(variables), CPU_SECONDS)


def _popen(words, streams, folder, variables):
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment(variables),
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        preexec_fn=_as_from_a_terminal,
    )


def _matters_at_start(variables):
    return any(name.startswith(READ_AT_START) for name, value in variables.items() - QUIET.items())


def _python_words(words):
    """The arguments of this interpreter to run these words; None for other programs."""
    command = shutil.which(words[0], path=environment({})["PATH"])
    if command is None:
        return None
    if Path(command).parent == BIN and Path(command).name.startswith("python"):
        return words[1:] if words[1] == "-m" or words[1].endswith(".py") else None
    with open(command, "rb") as script:
        ours = script.readline().rstrip() == f"#!{sys.executable}".encode()
    return [command, *words[1:]] if ours else None


def _as_from_a_terminal():
    """Limit processor time and restore Ctrl-C, which a shell disables for tests started by `&`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def _text(stream):
    stream.seek(0)
    return stream.read().decode("utf-8").replace("\r\n", "\n")


def prepare(folder, history=0, users=25, pieces=0):
    """Raw log -> session text -> binarised data; return (text folder, data folder)."""
    log = folder / "log.tsv"
    run(f"{sys.executable} -m mtn_sample_log.cli --users {users} --output {log}")
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


def prepared(tmp_path_factory, **options):
    """The read-only output of `prepare`, shared by all files and workers of a test run."""
    name = "-".join(["prepared", *(f"{key}{value}" for key, value in sorted(options.items()))])
    folder = shared_folder(tmp_path_factory) / name
    with FileLock(f"{folder}.lock"):
        if not (folder / "done").exists():
            folder.mkdir(exist_ok=True)
            prepare(folder, **options)
            (folder / "done").touch()
    return folder / "text", folder / "data-bin"


def shared_folder(tmp_path_factory):
    """The folder that all workers of this test run share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
