"""Read the tables of committed result files, which are Markdown."""

from pathlib import Path
from typing import Dict, List


def read_table(path: Path, heading: str) -> Dict[str, Dict[str, str]]:
    """The first table below a heading: first cell of a row -> heading of a column -> cell."""
    lines = path.read_text(encoding="utf-8").splitlines()
    below = lines[lines.index(heading) + 1 :]
    start = next(i for i, line in enumerate(below) if line.startswith("|"))
    rows: List[List[str]] = []
    for line in below[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    head, _, *body = rows
    return {row[0]: dict(zip(head, row)) for row in body}
