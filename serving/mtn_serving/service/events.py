"""Record what was shown, chosen and asked, in files of one JSON object per line.

    events.DAY.PROCESS.jsonl    lists shown and suggestions chosen: ids and places, no text
    queries.DAY.PROCESS.jsonl   queries, and who asked them: input of mtn-log-to-sessions

Field names are those of User Behavior Insights (UBI) 1.3. Typed prefixes are never recorded:
completions are answered and forgotten.
"""

import json
import os
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

from mtn_preprocess.errors import InputError

from .batching import Full, Lane, TooLate
from .errors import log_error
from .event_names import EVENTS, FILE, QUERIES, QUERY_ID
from .metrics import Metrics
from .schemas import Event

SEARCH = "search"
_WRITE_SECONDS = 5.0
_MAX_WAITING = 256
_SECOND = 1_000_000  # microseconds
_BEGINNING = datetime(1970, 1, 1, tzinfo=timezone.utc)

Row = Tuple[str, Dict[str, Any]]  # (name of the file, content)


class NotWritten(Exception):
    """The events could not be written, as on a full disk."""


class EventLog:
    """Appends rows to files of this process; each file has the rows that came on one day.

    Args:
        folder: created if needed
        keep_days: older files are deleted
        clock: seconds since 1970; if it goes backwards, the log continues from its latest time
    """

    def __init__(
        self, folder: Path, keep_days: int, clock: Callable[[], float] = time.time
    ) -> None:
        self.folder, self.keep_days, self.clock = folder, keep_days, clock
        self._latest = 0  # microseconds since 1970
        self._day = ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"cannot be made ({error.strerror})"
            raise InputError(reason, "give --events another folder", folder) from None

    def append(self, rows: Sequence[Row]) -> None:
        """Append all rows of a file, or none: a full disk leaves no partial line."""
        first = max(self._latest + 1, int(self.clock() * _SECOND))
        self._latest = first + len(rows) - 1
        now = _time_of(self._latest)
        day = now.strftime("%Y-%m-%d")
        if day != self._day:
            self._delete_before(now - timedelta(days=self.keep_days))
            self._day = day
        times = [_time_of(each).strftime("%Y-%m-%dT%H:%M:%S.%fZ") for each in _times(first, rows)]
        for name in (EVENTS, QUERIES):
            lines = [
                json.dumps({**row, "timestamp": timestamp}) + "\n"
                for (file, row), timestamp in zip(rows, times)
                if file == name
            ]
            if lines:
                path = self.folder / f"{name}.{day}.{os.getpid()}.jsonl"
                _append(path, "".join(lines).encode("utf-8"))

    def _delete_before(self, limit: datetime) -> None:
        for path in self.folder.iterdir():
            found = FILE.fullmatch(path.name)
            if found and found.group(1) < limit.strftime("%Y-%m-%d"):
                path.unlink()


def _times(first: int, rows: Sequence[Row]) -> List[int]:
    """Increasing times of rows that came together, in microseconds since 1970.

    `mtn-log-to-sessions` reads whole seconds. So two searches of one client are at least a second
    apart: the earlier one moves back, with all rows before it.
    """
    times: List[int] = []
    back = 0
    clients: Set[str] = set()  # whose searches moved back equally far
    for place, (_, row) in reversed(list(enumerate(rows))):
        client = row.get("client_id")  # of searches only
        if client in clients:
            back += _SECOND
            clients.clear()
        if client is not None:
            clients.add(client)
        times.append(first + place - back)
    return times[::-1]


def _time_of(microseconds: int) -> datetime:
    return _BEGINNING + timedelta(microseconds=microseconds)


def _append(path: Path, content: bytes) -> None:
    with open(path, "ab", buffering=0, opener=_for_the_owner) as stream:
        before = stream.tell()
        try:
            written = stream.write(content)
            if written != len(content):
                raise OSError(f"{written} of {len(content)} bytes could be written")
        except OSError:
            stream.truncate(before)
            raise


def _for_the_owner(path: str, flags: int) -> int:
    """Queries are private: no other user of the machine reads them."""
    return os.open(path, flags, 0o600)


class Events:
    """Writes the log in a separate thread, so that a slow disk delays no list."""

    def __init__(self, folder: Path, keep_days: int, metrics: Metrics) -> None:
        self.metrics = metrics
        self.log = EventLog(folder, keep_days)
        self._lane: Lane = Lane(self._append_each, 64, _MAX_WAITING, metrics.watch("events"))

    async def keep(self, events: Sequence[Event]) -> None:
        """Raises:
        InputError: an event is invalid
        Full, TooLate: too many events are waiting; none was written
        NotWritten: none was written
        """
        rows = [row_of(event) for event in events]
        try:
            error = await self._lane.ask(rows, _WRITE_SECONDS)
        except (Full, TooLate):
            self.metrics.events.labels("lost").inc(len(rows))
            raise
        if error is not None:
            self.metrics.events.labels("lost").inc(len(rows))
            log_error(error, self.metrics)
            raise NotWritten
        self.metrics.events.labels("kept").inc(len(rows))

    def _append_each(self, requests: List[List[Row]]) -> List[Any]:
        return [self._append(rows) for rows in requests]

    def _append(self, rows: List[Row]) -> Any:
        try:
            self.log.append(rows)
        except OSError as error:
            return error
        return None

    async def close(self) -> None:
        await self._lane.close()


def row_of(event: Event) -> Row:
    """The part of an event to keep: only searches keep their text."""
    row: Dict[str, Any] = {"action_name": event.action_name, "application": event.application}
    if event.session_id is not None:
        row["session_id"] = event.session_id
    if event.action_name == SEARCH:
        # A session is no person: one person in two sessions would count as two who asked a query.
        if not event.client_id or not event.message or not event.message.strip():
            raise InputError(
                "a search without its query or without who asked it",
                "give `message`, and `client_id`: the same in all sessions of a person or browser",
            )
        return QUERIES, {**row, "client_id": event.client_id, "user_query": event.message}
    if event.query_id is None or not QUERY_ID.fullmatch(event.query_id):
        raise InputError(
            f"{event.action_name} without a query_id of this service",
            "give that of the answer with the list",
        )
    row["query_id"] = event.query_id
    attributes = event.event_attributes
    position = None if attributes is None else attributes.position
    if position is not None:
        row["event_attributes"] = {"position": {"ordinal": position.ordinal}}
    return EVENTS, row
