"""Run one preparation, from the files of a log to the files of session text."""

import json
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Optional, Set

import numpy as np
import pyarrow as pa

from mtn_preprocess import manifest, rejects
from mtn_preprocess.account import account, check
from mtn_preprocess.engines import Engine, started_engine
from mtn_preprocess.errors import InputError
from mtn_preprocess.flags import Settings
from mtn_preprocess.log_files import Log, find_log
from mtn_preprocess.output_folder import (
    check_output,
    remove_leftovers,
    scratch_folder,
    written_whole,
)
from mtn_preprocess.progress import Progress
from mtn_preprocess.reasons import Reason
from mtn_preprocess.rejects import Rejects
from mtn_preprocess.rules import SPLITS, Rules
from mtn_preprocess.session_files import ALL_FILES, SessionFiles
from mtn_preprocess.sessions import LINES, SCHEMA, SessionBatch
from mtn_preprocess.splits import count_starts, split_by_hash, split_by_time, time_bounds
from mtn_preprocess.subwords import MODEL, encode_in_subwords
from mtn_preprocess.text import display_forms, text_settings
from mtn_preprocess.text.typed_queries import QueryReader
from mtn_preprocess.time_checks import swapped_days

STATS = "stats.json"
OUR_FILES = {
    *ALL_FILES,
    STATS,
    rejects.NAME,
    MODEL,
    manifest.NAME,
    text_settings.NAME,
    display_forms.NAME,
}

_MIN_SESSIONS = 50  # scores on fewer sessions mean little
_LARGE_SHARE = 10  # percent; a larger split would take too much from training


def prepare(settings: Settings, progress: Optional[Progress] = None) -> Dict[str, Any]:
    """Read the logs, write the folder, return the statistics.

    A folder made from the same input with the same flags is left unchanged.
    """
    log = find_log(
        settings.logs,
        settings.columns,
        settings.format,
        settings.time_format,
        settings.delimiter,
        settings.time_range,
    )
    output, overwrite = settings.output, settings.overwrite
    remove_leftovers(output)
    before = None if overwrite else manifest.read(output)
    if before is None:
        check_output(output, OUR_FILES, overwrite)  # before the long part
    beside = output.absolute().parent
    with scratch_folder(settings.scratch or beside, output) as scratch, started_engine(
        settings, scratch
    ) as engine:
        made_from = manifest.describe(settings, log, engine.checksums(log))
        if before is not None:
            manifest.refuse_other(before, made_from, output)
            return _read_stats(output)
        with written_whole(output, OUR_FILES, overwrite) as folder:
            stats = _write(folder, scratch, engine, log, settings, progress or Progress())
            (folder / STATS).write_text(json.dumps(stats, indent=2) + "\n", encoding="utf-8")
            text_settings.write_settings(folder, settings.rules.text)
            manifest.write(folder, made_from)
    return stats


def _read_stats(folder: Path) -> Dict[str, Any]:
    try:
        return json.loads((folder / STATS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        remedy = "pass --overwrite to prepare it anew"
        raise InputError("missing or damaged", remedy, folder / STATS) from None


def _write(
    folder: Path, scratch: Path, engine: Engine, log: Log, settings: Settings, progress: Progress
) -> Dict[str, Any]:
    rules = settings.rules
    users = settings.users, settings.user_keys
    counts: Counter = Counter()
    days: Set[int] = set()
    with Rejects(folder / rejects.NAME, log, settings.strict) as rejected:
        found = engine.sessions(log, rules, progress)
        sessions = _recorded(found, counts, rejected, settings.max_bad_rows, progress)
        if rules.split_by == "time":  # the cuts depend on all sessions
            spool = Spool(scratch / "sessions.arrow", sessions)
            bounds = time_bounds(count_starts(spool, rules.test_bounds), rules)
            sessions = iter(spool)
            files = SessionFiles(
                folder, rules, lambda some, texts: split_by_time(some, bounds), *users
            )
        else:
            files = SessionFiles(
                folder, rules, lambda some, texts: split_by_hash(some, texts, rules), *users
            )
        with files:
            for some in sessions:
                files.write(some)
                days.update(np.unique(some["start"].to_numpy() // (24 * 60 * 60)).tolist())
    _refuse_empty(files)
    if "train" in files.splits:
        display_forms.write_forms(folder, files.forms.shown(QueryReader(rules.text)))
    rejected.show()
    for warning in [swapped_days(days, log.time_format), *_small_splits(files, rules)]:
        if warning:
            print(f"warning: {warning}", file=sys.stderr)
    stats = account(counts, rules, files, log.is_aols)
    check(stats)
    if settings.sentencepiece:
        names = files.text_names()
        stats["sentencepiece"] = encode_in_subwords(folder, settings.sentencepiece, names)
    return stats


def _recorded(
    batches: Iterable[SessionBatch],
    counts: Counter,
    rejected: Rejects,
    max_bad_rows: Decimal,
    progress: Progress,
) -> Iterator[pa.RecordBatch]:
    """Yield the sessions of the batches; record counts and rejects on the way."""
    rows_of_file: Counter = Counter()
    with progress.finding() as found:
        for batch in batches:
            counts.update(batch.counts)
            rows_of_file.update(batch.rows_of_file)
            rejected.write(batch.rejects, batch.reject_reasons)
            yield batch.sessions
            found(batch.counts[LINES])
    rejected.refuse_no_rows(rows_of_file)
    rejected.refuse_many(counts[LINES] - counts[Reason.HEADER], max_bad_rows)


def _refuse_empty(files: SessionFiles) -> None:
    """A split without sessions cannot be binarised; report it here."""
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


def _small_splits(files: SessionFiles, rules: Rules) -> Iterator[str]:
    """Warnings about splits that are too small to measure anything."""
    total = files.sessions_for_test
    for name, share in zip(SPLITS, rules.split):
        number = files.sessions[name]
        if name == "train" or name not in files.splits or number >= _MIN_SESSIONS:
            continue
        remedy = "take a longer log"
        if share < _LARGE_SHARE:
            more = max(total * _LARGE_SHARE // 100, 1)
            remedy = f"--split 80,10,10 would give it about {more:,}; or {remedy}"
        yield (
            f"the {name} split has {number} session{'s' * (number != 1)}, too few to measure "
            f"anything: of {total:,} in all, {remedy}"
        )


class Spool:
    """Batches of sessions on disk, so that they can be read more than once."""

    def __init__(self, path: Path, batches: Iterable[pa.RecordBatch]) -> None:
        self.path = path
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SCHEMA) as spool:
            for batch in batches:
                spool.write_batch(batch)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self.path)) as file, pa.ipc.open_file(file) as spool:
            for i in range(spool.num_record_batches):
                yield spool.get_batch(i)
