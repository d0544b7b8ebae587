"""Parts of a long experiment: each a folder, done once, and resumed where it was cut."""

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
_USER_DIR = "$(mtn-user-dir)"  # as it is printed
PLUGIN = f'--user-dir "{_USER_DIR}" --task session_to_query'
_VALID_LOSS = re.compile(r"\| valid \|.*?\| nll_loss (\S+) ")
_DIVERGED = "FloatingPointError: gradients are Nan/Inf"  # fairseq-train's last words

# glibc would give the memory of each large tensor back, and ask for it again at the next update: a
# tenth of the time.
_KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(64 << 20),
}

_say = threading.Lock()


class Part:
    """A folder that some commands fill.

    Args:
        folder: of this part alone
        commands: in order; what they print is added to `NAME.log` of (name, command)
        after: what has to be done before, if it is not yet
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
        # Training goes on from its checkpoint, so its log does as well; all else starts again.
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
    """Of fairseq-train, with --save-dir in its folder.

    Args:
        asked: the checkpoint to ask afterwards
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
    """A training for its validation loss alone: that it diverges is a result, and a bad one."""

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
    """The lowest, in bits a token, from what fairseq-train printed; infinite if there is none."""
    losses = map(float, _VALID_LOSS.findall(log.read_text(encoding="utf-8")))
    return min(filter(math.isfinite, losses), default=math.inf)


def run_all(parts: Iterable[Part], at_once: int) -> None:
    """Several at a time, a core each. The first failure stops what has not begun."""
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
    """The text of a small file, made the first time."""
    if not path.is_file():
        write_whole(path, make())
    return path.read_text(encoding="utf-8")


def write_whole(path: Path, text: str) -> None:
    """A file that appears under its name only when complete, in a folder that is made for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_result_file(str(path), text)


def words_of(command: str) -> List[str]:
    """As the shell would split it, with the folder of the plugin in its place."""
    return [word.replace(_USER_DIR, str(plugin_folder())) for word in shlex.split(command)]


def environment() -> dict:
    """The commands of the environment that runs this, one core each."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    one_core = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    return {"OMP_WAIT_POLICY": "PASSIVE", **os.environ, "PATH": path, **one_core, **_KEEP_MEMORY}


def tell(text: str) -> None:
    with _say:
        print(text, flush=True)
