"""One small log, and the command run on it: for tests of reading and of bad input."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence

from mtn_preprocess.flags import settings_from
from mtn_preprocess.preparation import prepare

BY_NAME = ["--user-column", "uid", "--query-column", "q", "--time-column", "ts"]
AOL_HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"


class Asked(NamedTuple):
    user: int
    query: str
    time: datetime

    @property
    def clock(self) -> str:
        return str(self.time)

    @property
    def epoch(self) -> int:
        return (self.time - datetime(1970, 1, 1)) // timedelta(seconds=1)


_QUERIES = {
    7: ['12" pizza, "thin"', "-", "pizza\\oven", '"', "hôtel 日本", "cheap, cheap"],
    12: ["it's", "", 'he said ""hi""', ",", "naïve 🙂 smile"],
    300: ["one", "two", "three"],
    301: ["1", "2.50", "null", "true"],
}
ROWS: List[Asked] = [
    Asked(user, query, datetime(2006, 3, 26, 0, 58, 30) + timedelta(minutes=i, seconds=user))
    for user, queries in _QUERIES.items()
    for i, query in enumerate(queries)
]
# The sessions of the log above, one per user, sorted by user as text.
SESSIONS = [
    "it s <q> he said hi <q> naïve smile",
    "one <q> two <q> three",
    "1 <q> 2 50 <q> null <q> true",
    "12 pizza thin <q> pizza oven <q> hôtel 日本 <q> cheap cheap",
]


def aol_lines(rows: Sequence[Asked] = ROWS) -> List[str]:
    return [f"{row.user}\t{row.query}\t{row.clock}\t\t" for row in rows]


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode("utf-8")


def aol_log(*more: str) -> bytes:
    """The small log in AOL's format; further lines come after line 19."""
    return lines(AOL_HEADER, *aol_lines(), *more)


class Prepared(NamedTuple):
    """The output of the command."""

    files: Dict[str, bytes]  # session text
    rejects: List[str]  # without the header
    stats: Dict

    @property
    def sessions(self) -> List[str]:
        return self.files["train.whole"].decode("utf-8").splitlines()


def prepared(folder: Path, *arguments: object, split: str = "100,0,0") -> Prepared:
    """Run the command on logs and flags, into a new folder beside the logs.

    In such a small log, one malformed line exceeds the default of --max-bad-rows.
    """
    output = folder / f"prepared-{len(list(folder.glob('prepared-*')))}"
    flags = ["--output", output, "--split", split, "--threads", "1", "--max-bad-rows", "100%"]
    stats = prepare(settings_from([str(each) for each in (*flags, *arguments)]))
    names = ("train.whole", "train.session", "train.next", "valid.session", "valid.next")
    rejects = (output / "rejects.tsv").read_bytes().decode("utf-8").split("\n")
    assert rejects[0] == "file\tline\treason" and rejects[-1] == ""
    files = {name: (output / name).read_bytes() for name in names if (output / name).exists()}
    return Prepared(files, rejects[1:-1], stats)


def malformed(prepared: Prepared) -> Dict[str, int]:
    """The faults that occurred."""
    return {fault: n for fault, n in prepared.stats["lines"]["malformed"].items() if n}
