"""From raw search logs to the session text that fairseq-preprocess binarises.

    mtn-log-to-sessions LOG [LOG …] --output FOLDER

writes, for each split, FOLDER/train.session (queries so far), train.next (the next query), line by
line; train.whole (each training session once, for the dictionary); stats.json, the printed table;
rejects.tsv, the lines that were no rows; and manifest.json, what it was all made from.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

import numpy as np
import pyarrow as pa

from mtn_fairseq.errors import InputError
from mtn_preprocess import manifest
from mtn_preprocess.account import account, check, table
from mtn_preprocess.engines import Engine, started_engine
from mtn_preprocess.flags import Settings, settings_from
from mtn_preprocess.log_files import Log, find_log
from mtn_preprocess.log_lines import file_of, line_of
from mtn_preprocess.output_folder import check_output, scratch_folder, written_whole
from mtn_preprocess.progress import Progress
from mtn_preprocess.reasons import Reason
from mtn_preprocess.session_files import SPLIT_FILES, USERS, WHOLE, SessionFiles
from mtn_preprocess.sessions import LINES, SCHEMA, SessionBatch
from mtn_preprocess.splits import count_starts, split_by_hash, split_by_time, time_bounds
from mtn_preprocess.stopping import stoppable
from mtn_preprocess.subwords import MODEL, encode_in_subwords

STATS, REJECTS = "stats.json", "rejects.tsv"
OUR_FILES = {*SPLIT_FILES, WHOLE, USERS, STATS, REJECTS, MODEL, manifest.NAME}

_EXAMPLES = 3  # malformed lines shown


class Rejects:
    """The lines that are no rows: a file of their places and reasons, and the first of them."""

    def __init__(self, path: Path, log: Log, strict: bool) -> None:
        self.path, self.log, self.strict = path, log, strict
        self._number = 0
        self._examples: List[str] = []

    def __enter__(self) -> "Rejects":
        self._file = open(self.path, "w", encoding="utf-8", newline="\n")
        self._file.write("file\tline\treason\n")
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, places: np.ndarray, reasons: np.ndarray) -> None:
        for place, number in zip(places.tolist(), reasons.tolist()):
            address, line = self.log.files[file_of(place)].location.address, line_of(place)
            reason = Reason(number).text
            if self.strict:
                remedy = "correct the line, or leave out --strict to skip and count it"
                raise InputError(reason, remedy, address, line)
            self._file.write(f"{address}\t{line}\t{reason}\n")
            self._number += 1
            if self._number <= _EXAMPLES:
                self._examples.append(f"{address}:{line}: {reason}, line skipped")

    def show(self) -> None:
        """The first of them. At the end: an error before it is then all that is said."""
        for example in self._examples:
            print(example, file=sys.stderr)
        if self._number > _EXAMPLES:
            more = self._number - _EXAMPLES
            print(f"… and {more:,} more: see {REJECTS}", file=sys.stderr)


def prepare(settings: Settings, progress: Optional[Progress] = None) -> Dict[str, Any]:
    """Read the logs, write the folder, return the statistics.

    A folder that was made from the same input with the same flags is left as it is.
    """
    log = find_log(settings.logs, settings.columns, settings.format, settings.time_format)
    output, overwrite = settings.output, settings.overwrite
    before = None if overwrite else manifest.read(output)
    if before is None:
        check_output(output, OUR_FILES, overwrite)  # now, not after the long part
    beside = output.absolute().parent
    with scratch_folder(settings.scratch or beside) as scratch, started_engine(
        settings, scratch
    ) as engine:
        made_from = manifest.describe(settings, log, engine.checksums(log))
        if before is not None:
            manifest.refuse_other(before, made_from, output)
            return _read_stats(output)
        with written_whole(output, OUR_FILES, overwrite) as folder:
            stats = _write(folder, scratch, engine, log, settings, progress or Progress())
            (folder / STATS).write_text(json.dumps(stats, indent=2) + "\n", encoding="utf-8")
            manifest.write(folder, made_from)
    return stats


def _read_stats(folder: Path) -> Dict[str, Any]:
    try:
        return json.loads((folder / STATS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        remedy = "pass --overwrite to prepare it anew"
        raise InputError("missing or damaged", remedy, folder / STATS) from None


def _write(
    folder: Path, scratch: Path, engine: Engine, log: Log, settings: Settings, progress: Progress
) -> Dict[str, Any]:
    rules = settings.rules
    counts: Counter = Counter()
    with Rejects(folder / REJECTS, log, settings.strict) as rejects:
        found = engine.sessions(log, rules, progress)
        sessions = _accounted(found, log, counts, rejects, progress)
        if rules.split_by == "time":  # where to cut is known when all sessions are
            spool = Spool(scratch / "sessions.arrow", sessions)
            bounds = time_bounds(count_starts(spool), rules)
            sessions = iter(spool)
            files = SessionFiles(
                folder, rules, lambda some, texts: split_by_time(some, bounds), settings.users
            )
        else:
            files = SessionFiles(
                folder, rules, lambda some, texts: split_by_hash(some, texts, rules), settings.users
            )
        with files:
            for some in sessions:
                files.write(some)
    _refuse_empty(files)
    rejects.show()
    stats = account(counts, rules, files)
    check(stats)
    if settings.sentencepiece:
        stats["sentencepiece"] = encode_in_subwords(folder, settings.sentencepiece, files.splits)
    return stats


def _accounted(
    batches: Iterable[SessionBatch], log: Log, counts: Counter, rejects: Rejects, progress: Progress
) -> Iterator[pa.RecordBatch]:
    """The sessions of the batches; on the way, everything else in them is written down."""
    rows_of_file: Counter = Counter()
    with progress.finding() as found:
        for batch in batches:
            counts.update(batch.counts)
            rows_of_file.update(batch.rows_of_file)
            rejects.write(batch.rejects, batch.reject_reasons)
            yield batch.sessions
            found(batch.counts[LINES])
    for file in log.files:
        if not rows_of_file[file.location.number]:
            raise InputError(
                "not one row of a search log",
                f"expected columns for user, query and time ({', '.join(log.layout.names)}), the "
                f"time as {log.time_format}: see --format, --user-column, --time-format",
                file.location.address,
            )


def _refuse_empty(files: SessionFiles) -> None:
    """A split without sessions cannot be binarised; better said here."""
    if not sum(files.sessions.values()):
        raise InputError(
            "no session is left under these rules",
            "check the log, or relax --min-queries, --max-queries, --max-query-tokens, --min-users",
        )
    for name in files.splits:
        if not files.sessions[name]:
            raise InputError(
                f"no session falls into the {name} split",
                "take a longer log, or another --split or --seed (--split 100,0,0 is train alone)",
            )


class Spool:
    """Batches of sessions on disk, to go over them more than once."""

    def __init__(self, path: Path, batches: Iterable[pa.RecordBatch]) -> None:
        self.path = path
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SCHEMA) as spool:
            for batch in batches:
                spool.write_batch(batch)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self.path)) as file, pa.ipc.open_file(file) as spool:
            for i in range(spool.num_record_batches):
                yield spool.get_batch(i)


def main(argv: Optional[Sequence[str]] = None) -> None:
    settings = settings_from(argv)
    there_before = settings.output.exists()
    with stoppable():
        stats = prepare(settings)
    print(table(stats))
    reused = there_before and not settings.overwrite
    print(f"\n{'as before, from the same input:' if reused else 'written to'} {settings.output}")


if __name__ == "__main__":
    main()
