"""Progress on standard error: rows, and the time left."""

import sys
from contextlib import contextmanager
from typing import Callable, Iterator, Optional

from tqdm import tqdm


class Progress:
    """Progress bars on a terminal, nothing elsewhere.

    Args:
        shown: whether to show the bars; default: if standard error is a terminal
    """

    def __init__(self, shown: Optional[bool] = None) -> None:
        self.shown = sys.stderr.isatty() if shown is None else shown
        self.lines = 0  # read so far

    @contextmanager
    def reading(self, size: int) -> Iterator[Callable[[int, int], None]]:
        """A bar over the bytes of the input; yields a function to call with new bytes and lines."""
        with self._bar("reading", size, "B") as bar:

            def watch(more_bytes: int, more_lines: int) -> None:
                self.lines += more_lines
                bar.set_postfix_str(f"{self.lines:,} lines", refresh=False)
                bar.update(more_bytes)

            yield watch

    @contextmanager
    def finding(self) -> Iterator[Callable[[int], None]]:
        """A bar over the sorted rows while sessions are found; it appears with the first row."""
        bar: Optional[tqdm] = None

        def watch(more_rows: int) -> None:
            nonlocal bar
            if bar is None:  # not `bar or …`: a bar of unknown length has no truth value
                bar = self._bar("sessions", self.lines or None, " rows")
            bar.update(more_rows)

        try:
            yield watch
        finally:
            if bar is not None:
                bar.close()

    def _bar(self, what: str, total: Optional[int], unit: str) -> tqdm:
        return tqdm(
            desc=what, total=total, unit=unit, unit_scale=True, disable=not self.shown, leave=True
        )
