"""Parts of a long experiment: each fills a folder once, and resumes after an interruption."""

import math
import os
import re
import shlex
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Callable, Iterable, List, Optional

from mtn_preprocess.commands.user_dir import plugin_folder
from mtn_preprocess.files.result_file import write_result_file

ROOT = Path(__file__).resolve().parents[2]
DONE = "done"
_USER_DIR = "$(mtn-user-dir)"  # as printed
PLUGIN = f'--user-dir "{_USER_DIR}" --task session_to_query'
_VALID_LOSS = re.compile(r"\| valid \|.*?\| nll_loss (\S+) ")
_DIVERGED = "FloatingPointError: gradients are Nan/Inf"  # in fairseq-train's last lines

# By default glibc returns the memory of each large tensor and requests it again at the next update,
# which costs a tenth of the time.
_KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(64 << 20),
}

_print_lock = threading.Lock()


class Part:
    """A folder that some commands fill.

    Args:
        folder: of this part only
        commands: (name, command), in order; the output goes to `NAME.log`
        after: a part to run first, if it is not done
    """

    def __init__(self, folder: Path, commands: List[tuple], after: Optional["Part"] = None) -> None:
        self.folder, self.commands, self.after = folder, commands, after

    def all_commands(self) -> List[str]:
        before = self.after.all_commands() if self.after else []
        return [*before, *(command for _, command in self.commands)]

    @property
    def done(self) -> bool:
        return (self.folder / DONE).is_file()

    def run(self) -> None:
        if not self.done:
            self.run_again()

    def run_again(self) -> None:
        if self.after:
            self.after.run()
        self.folder.mkdir(parents=True, exist_ok=True)
        seconds = 0.0
        for name, command in self.commands:
            seconds += self._command(name, command)
        write_whole(self.folder / DONE, f"{seconds:.0f} seconds in this call\n")

    def _command(self, name: str, command: str) -> float:
        tell(f"{self.folder.name}: {command}")
        start = perf_counter()
        log = self.folder / f"{name}.log"
        # Training resumes from its checkpoint, so its log is continued; other logs start again.
        with open(log, "a" if name == "train" else "w", encoding="utf-8") as printed:
            ended = subprocess.run(
                words_of(command),
                stdout=printed,
                stderr=subprocess.STDOUT,
                env=environment(),
                cwd=ROOT,
            )
        if ended.returncode:
            last = "".join(log.open(encoding="utf-8").readlines()[-5:])
            raise SystemExit(f"{log}: failed, and can be called again; its last lines:\n{last}")
        return perf_counter() - start


class Training(Part):
    """A run of fairseq-train with --save-dir in its folder.

    Args:
        asked: the checkpoint used afterwards
    """

    def __init__(
        self, folder: Path, commands: List[tuple], asked: str = "checkpoint_best.pt"
    ) -> None:
        super().__init__(folder, commands)
        self.checkpoint = folder / asked

    @property
    def log(self) -> Path:
        return self.folder / "train.log"


class Try(Training):
    """A training only for its validation loss; divergence counts as an infinite loss."""

    def _command(self, name: str, command: str) -> float:
        try:
            return super()._command(name, command)
        except SystemExit:
            if not self._diverged():
                raise
            tell(f"{self.folder.name}: diverged")
            return 0.0

    def loss(self) -> float:
        return math.inf if self._diverged() else validation_loss(self.log)

    def _diverged(self) -> bool:
        return _DIVERGED in self.log.read_text(encoding="utf-8")


def validation_loss(log: Path) -> float:
    """The lowest loss in bits per token in fairseq-train's output; infinite if there is none."""
    losses = map(float, _VALID_LOSS.findall(log.read_text(encoding="utf-8")))
    return min(filter(math.isfinite, losses), default=math.inf)


def run_all(parts: Iterable[Part], at_once: int) -> None:
    """Run several parts in parallel, one core each. The first failure cancels waiting parts."""
    waiting = [part for part in parts if not part.done]
    with ThreadPoolExecutor(at_once) as pool:
        running = [pool.submit(part.run) for part in waiting]
        try:
            for number, (part, future) in enumerate(zip(waiting, running), 1):
                future.result()
                tell(f"[{number} of {len(waiting)}] {part.folder.name}: done")
        except BaseException:
            for future in running:
                future.cancel()
            raise


def once(path: Path, make: Callable[[], str]) -> str:
    """The text of a small file, which is created if it does not exist."""
    if not path.is_file():
        write_whole(path, make())
    return path.read_text(encoding="utf-8")


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears only when complete; creates its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_result_file(str(path), text)


def words_of(command: str) -> List[str]:
    """Split a command like the shell, and insert the plugin's folder."""
    return [word.replace(_USER_DIR, str(plugin_folder())) for word in shlex.split(command)]


def environment() -> dict:
    """An environment with the commands of this Python, and one core per command."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    one_core = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    return {"OMP_WAIT_POLICY": "PASSIVE", **os.environ, "PATH": path, **one_core, **_KEEP_MEMORY}


def tell(text: str) -> None:
    with _print_lock:
        print(text, flush=True)
