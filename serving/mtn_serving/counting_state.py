"""The state of the counting, kept beside a table so that more text can be added.

    next-queries/              the table: for serving
    next-queries.state/1f…e2/  the state: only for `mtn-count-next --add`

The state has every query and who asked it, so it is as personal as a log. It is never part of a
table or of a bundle, and only its owner may read it. To get rid of it, delete the folder.

A state is written before its table, and the previous state is removed after it. So a run that is
killed at any moment leaves a table with its state: the old pair or the new pair.
"""

import hashlib
import os
import re
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator, NamedTuple, Optional, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.ownership import locked
from mtn_preprocess.text.text_checks import numbered_lines
from mtn_preprocess.text.text_settings import settings_of

from .array_folder import file_of, open_arrays, save_arrays
from .counted_text import CountedText, TextFacts
from .kept_folder import HEADER, Kind, check_output
from .next_queries import NextQueries

KIND = Kind("counted text", 1, "mtn-count-next", frozenset(map(file_of, CountedText.types())))

_KEY_LENGTH = 16


class State(NamedTuple):
    counted: CountedText
    checksums: Tuple[str, ...]  # of the texts, to detect a text that was added before
    people_by: Optional[str]  # see `counted_people`; None if people are not known

    @property
    def key(self) -> str:
        """A hash of the content, by which a table finds its state."""
        digest = hashlib.sha256(repr((self.counted.facts, self.checksums, self.people_by)).encode())
        arrays = self.counted.arrays()
        for name, kept_as in CountedText.types().items():
            digest.update(name.encode())
            digest.update(arrays[name].astype(kept_as, copy=False).tobytes())
        return digest.hexdigest()[:_KEY_LENGTH]


def state_folder(table: Path) -> Path:
    place = Path(os.path.realpath(table))  # the target of a link
    return place.with_name(f"{place.name}.state")


def save_with_state(table: NextQueries, state: State, folder: Path) -> None:
    """Save both, or neither.

    Args:
        table: has the key of `state`
        folder: of the table; an older table is replaced
    """
    parent = state_folder(folder)
    place = parent / state.key
    is_new = not place.exists()
    facts = state.counted.facts._asdict()
    settings = state.counted.facts.settings
    _make_private(parent)
    save_arrays(
        place,
        KIND,
        {
            "facts": {**facts, "settings": settings and settings._asdict()},
            "checksums": list(state.checksums),
            "people_by": state.people_by,
        },
        state.counted.arrays(),
        CountedText.types(),
    )
    try:
        table.save(folder)
    except BaseException:
        if is_new:  # otherwise it belongs to the existing table
            shutil.rmtree(place, ignore_errors=True)
            _remove_if_empty(parent)
        raise
    _remove_all_but(parent, place.name)


def save_without_state(table: NextQueries, folder: Path) -> bool:
    """Save only the table, and delete the state of an older table, which is no longer useful.

    Returns:
        whether there was a state
    """
    table.save(folder)
    parent = state_folder(folder)
    there = parent.is_dir()
    _remove_all_but(parent, None)
    return there


def open_state(table: NextQueries, folder: Path) -> State:
    """Open the state of a table.

    Args:
        folder: of the table
    """
    key = table.facts.get("state")
    place = state_folder(folder) / str(key)
    if key is None or not place.is_dir():
        raise InputError(
            f"nothing can be added: {place.parent.name} does not have what was counted",
            "count all text again with --keep-state",
            folder,
        )
    header, arrays = open_arrays(place, KIND, CountedText.types(), verify=True)
    try:
        facts = TextFacts(**header["facts"])
        settings = settings_of(facts.settings, place / HEADER)
        checksums, people_by = tuple(header["checksums"]), header["people_by"]
    except (KeyError, TypeError):
        raise InputError("damaged", KIND.again, place / HEADER) from None
    counted = CountedText.from_arrays(
        facts._replace(settings=settings), arrays, people_by is not None
    )
    return State(counted, checksums, people_by)


@contextmanager
def nobody_else_adds(folder: Path) -> Iterator[None]:
    """Lock a table: of two runs at the same time, one would lose the text that the other added.

    Args:
        folder: of the table
    """
    place = state_folder(folder)
    with locked(place) as is_locked:
        if is_locked is False and place.exists():
            raise InputError("another run is adding to it", "wait for its end", folder)
        yield


def text_checksum(prefix: str) -> str:
    """The checksum of the pairs of a text."""
    digest = hashlib.sha256()
    for end in ("session", "next"):
        for number, line in numbered_lines(Path(f"{prefix}.{end}")):
            digest.update(f"{end} {number} {line}\n".encode())
    return digest.hexdigest()


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise InputError(reason, "check its permissions and the free space", folder) from None


def _remove_all_but(parent: Path, kept: Optional[str]) -> None:
    """Remove the states of older tables, which are useless; other files stay."""
    for place in sorted(parent.iterdir()) if parent.is_dir() else ():
        if re.fullmatch(f"[0-9a-f]{{{_KEY_LENGTH}}}", place.name) and place.name != kept:
            check_output(place, KIND)
            shutil.rmtree(place)
    _remove_if_empty(parent)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # not empty, or missing
        folder.rmdir()
