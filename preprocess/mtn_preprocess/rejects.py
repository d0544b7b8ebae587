"""Record malformed lines with place and reason, and refuse a log that has too many."""

import sys
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from pathlib import Path
from typing import Dict, List, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mtn_preprocess.errors import InputError
from mtn_preprocess.log_files import Log
from mtn_preprocess.log_layout import first_columns
from mtn_preprocess.log_lines import file_of, line_of, read_lines
from mtn_preprocess.reasons import Reason
from mtn_preprocess.time_checks import likely_formats, seconds_of, shown

NAME = "rejects.tsv"

_EXAMPLES = 3  # malformed lines shown
_PLACES = 1000  # malformed lines remembered, to guess the time format from their times
_TIMES = (Reason.TIME, Reason.TIME_RANGE)

Fault = Tuple[int, Reason]  # number of a file, and a fault of its lines


class Rejects:
    """Writes place and reason of malformed lines, and refuses a log with too many of them."""

    def __init__(self, path: Path, log: Log, strict: bool) -> None:
        self.path, self.log, self.strict = path, log, strict
        self._examples: List[str] = []
        self._numbers: Dict[Fault, int] = defaultdict(int)
        self._places: Dict[Fault, List[int]] = defaultdict(list)  # the first places of each fault

    def __enter__(self) -> "Rejects":
        self._file = open(self.path, "w", encoding="utf-8", newline="\n")
        self._file.write("file\tline\treason\n")
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, places: np.ndarray, reasons: np.ndarray) -> None:
        """Add lines, in the order of their places."""
        for place, number in zip(places.tolist(), reasons.tolist()):
            file, line, reason = file_of(place), line_of(place), Reason(number)
            address = self.log.files[file].location.address
            if self.strict:
                remedy = "correct the line, or leave out --strict to skip and count it"
                raise InputError(reason.text, remedy, address, line)
            self._file.write(f"{address}\t{line}\t{reason.text}\n")
            self._numbers[file, reason] += 1
            if len(self._places[file, reason]) < _PLACES:
                self._places[file, reason].append(place)
            if len(self._examples) < _EXAMPLES:
                self._examples.append(f"{address}:{line}: {reason.text}, line skipped")

    def show(self) -> None:
        """Print the first malformed lines; last of all, so that other errors are printed alone."""
        for example in self._examples:
            print(example, file=sys.stderr)
        more = sum(self._numbers.values()) - len(self._examples)
        if more:
            print(f"… and {more:,} more: see {NAME}", file=sys.stderr)

    def refuse_no_rows(self, rows_of_file: Counter) -> None:
        """Refuse a file without a single row."""
        what = "not one row of a search log"
        remedy = (
            f"expected columns for user, query and time ({', '.join(self.log.layout.names)}), the "
            f"time as {self.log.time_format}: see --format, --delimiter, --user-column, "
            "--time-format"
        )
        for file in self.log.files:
            if not rows_of_file[file.location.number]:
                faults = [fault for fault in self._numbers if fault[0] == file.location.number]
                if not faults:
                    raise InputError(what, remedy, file.location.address)
                raise self._error(self._commonest(faults), what, remedy)

    def refuse_many(self, rows: int, most: Decimal) -> None:
        """Refuse a log if more than `most` percent of its rows are malformed: probably misread.

        Args:
            rows: number of lines that are not headers
        """
        number = sum(self._numbers.values())
        if 100 * number > most * rows:
            what = f"{number:,} of {rows:,} rows are malformed"
            skip = f"; or skip such rows: --max-bad-rows {ceil(100 * number / rows)}%"
            remedy = "see --format, --delimiter and the flags for columns"
            raise self._error(self._commonest(list(self._numbers)), what, remedy, skip)

    def _commonest(self, faults: List[Fault]) -> Fault:
        return max(faults, key=lambda fault: self._numbers[fault])

    def _error(self, fault: Fault, what: str, remedy: str, skip: str = "") -> InputError:
        """An error about the most frequent fault; for a time, with its value and the likely format.

        Args:
            remedy: for other faults
            skip: an alternative remedy, for all faults
        """
        (file, reason), number, places = fault, self._numbers[fault], self._places[fault]
        location = self.log.files[file].location
        there = first_columns(location, self.log.layout)
        line = line_of(places[0])
        if reason not in _TIMES:
            lines = "1 line" if number == 1 else f"{number:,} lines"
            what = f"{what}: {lines}: {reason.text}{there}"
            return InputError(what, (reason.remedy or remedy) + skip, location.address, line)
        text = reason.text if number == 1 else reason.text.replace("time", "times")
        values = self._values(fault)
        what = f"{what}: columns found, {number:,} {text}, first: {shown(values[0])}"
        if reason == Reason.TIME_RANGE:
            seconds = seconds_of(values[0], self.log.time_format) or 0
            what += f", read as {datetime(1970, 1, 1) + timedelta(seconds=seconds)}"
        likely = likely_formats(values, self.log.times)[:2]
        if likely:
            remedy = f"pass --time-format {' or '.join(map(repr, likely))}"
        else:
            asked = f"--time-format (now {self.log.time_format!r})"
            remedy = f"see {asked}, --time-column and --time-range"
        return InputError(what + there, remedy + skip, location.address, line)

    def _values(self, fault: Fault) -> List[str]:
        """The times of the malformed lines; rereads the file up to the last of them."""
        places = pa.array(self._places[fault])
        column = self.log.layout.columns[2] - 1
        values: List[str] = []
        for batch in read_lines(self.log.files[fault[0]].location, self.log.layout):
            texts = batch.column("text").filter(pc.is_in(batch.column("place"), places))
            values += [text.split("\t")[column].strip(" ") for text in texts.to_pylist()]
            if len(values) == len(places):
                break
        return values
