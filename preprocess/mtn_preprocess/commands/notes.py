"""Notes on standard error, each with the name of its command."""

import sys
from typing import Callable, Iterable, Iterator, TypeVar

PROGRESS_EVERY = 1_000_000  # pairs

Item = TypeVar("Item")


def notes_of(command: str) -> Callable[[str], None]:
    """A function that prints a note."""

    def say(note: str) -> None:
        print(f"{command}: {note}", file=sys.stderr)

    return say


def counted(items: Iterable[Item], what: str, say: Callable[[str], None]) -> Iterator[Item]:
    """Yield the items; report the count every `PROGRESS_EVERY` items and at the end."""
    number = 0
    for number, item in enumerate(items, 1):
        yield item
        if number % PROGRESS_EVERY == 0:
            say(f"{number:,} {what} so far")
    say(f"{number:,} {what}")
