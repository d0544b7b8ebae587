"""Markdown tables, aligned for the terminal."""

from typing import Callable, Dict, Iterator, List

Row = List[str]

MISSING = "–"


def titled(title: str, rows: List[Row]) -> Iterator[str]:
    """The lines of a title and its table; the first row is the heading."""
    yield f"\n{title}\n"
    widths = [max(3, *map(len, column)) for column in zip(*rows)]
    # Text is left-aligned, numbers are right-aligned.
    numbers = [all(_is_number(cell) for cell in column) for column in zip(*rows[1:])]
    align: Dict[bool, Callable[[str, int], str]] = {True: str.rjust, False: str.ljust}
    rule = ["-" * (width - 1) + (":" if n else "-") for width, n in zip(widths, numbers)]
    for i, row in enumerate(rows):
        cells = (align[n](cell, width) for cell, width, n in zip(row, widths, numbers))
        yield f"| {' | '.join(cells)} |"
        if i == 0:
            yield f"| {' | '.join(rule)} |"


def _is_number(cell: str) -> bool:
    return cell in ("", MISSING) or cell.replace(",", "").lstrip("+-").replace(".", "").isdigit()
