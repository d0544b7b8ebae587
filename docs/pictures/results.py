#!/usr/bin/env python3
"""Draws the results: results-light.svg and results-dark.svg, beside this script.

python docs/pictures/results.py

All numbers are read from committed files: results/ of experiments/aol_lists and aol_completion.
"""

from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from result_tables import read_table
from svg_drawing import Drawing

ROOT = Path(__file__).resolve().parents[2]
LISTS = ROOT / "experiments/aol_lists/results"
COMPLETIONS = ROOT / "experiments/aol_completion/results"

WIDTH = 880
LABELS = 236  # right edge of the labels
RIGHT = 868
ROW, BAR = 27, 17  # heights
GAP = 52  # between two columns, with room for the number behind a bar

# Ours blue, baselines grey.
THEMES: Dict[str, Dict[str, str]] = {
    "light": {
        "text": "#1f2328",
        "quiet": "#59636e",
        "axis": "#818b98",
        "ours": "#0072b2",
        "baseline": "#aab2bb",
    },
    "dark": {
        "text": "#f0f6fc",
        "quiet": "#9198a1",
        "axis": "#7d8590",
        "ours": "#5db7ee",
        "baseline": "#5a626c",
    },
}

OURS = "our lists"
PAST = "own past, then counting"
# Name in the picture -> name in the table of scores.
STRANGERS = {
    OURS: "strangers",
    "earlier queries, then counting": "back-first",
    "counting, then earlier queries": "back",
    "PECOS": "pecos",
    "counting": "session",
}
KNOWN = {**STRANGERS, OURS: "known", PAST: "personal"}
LIST_ROWS = [OURS, PAST, *list(STRANGERS)[1:]]

TYPED = {"1": "after 1 letter", "2": "after 2 letters", "3": "after 3 letters"}
COMPLETION_ROWS = {
    "our completions": "counts",
    "the same, no display rules": "free",
    "earlier queries, then popular": "session",
    "most popular": "popular",
    "PECOS": "pecos",
}


class Column(NamedTuple):
    title: str
    subtitle: str
    values: Dict[str, Optional[float]]  # by label


def lists_column(split: str, title: str, people: str, systems: Dict[str, str]) -> Column:
    path = LISTS / f"{split}-scores.md"
    scores = read_table(path, "Raw text: an <unk> never matches")
    values = {label: float(scores[name]["MRR@10"]) for label, name in systems.items()}
    pairs = path.read_text(encoding="utf-8").split()[0]
    return Column(title, f"{people}, {pairs} pairs", {**dict.fromkeys(LIST_ROWS), **values})


def completion_column(typed: str, title: str) -> Column:
    scores = read_table(COMPLETIONS / "user.md", "MRR@10 by number of characters typed")[typed]
    values = {label: float(scores[name]) for label, name in COMPLETION_ROWS.items()}
    return Column(title, "", dict(values))


def draw(colours: Dict[str, str]) -> str:
    lists = [
        lists_column("user", "Next query of a stranger", "not in the training data", STRANGERS),
        lists_column("time", "Next query tomorrow", "known people with their past", KNOWN),
    ]
    completions = [completion_column(typed, title) for typed, title in TYPED.items()]
    drawing = Drawing(WIDTH, 474, colours)
    drawing.text(16, 26, "MRR@10 on real queries, percent", size=17, anchor="start", weight="600")
    draw_columns(drawing, 64, lists, ours=[OURS])
    top = 292
    drawing.text(LABELS + 12, top, "Completing what a stranger types", anchor="start", weight="600")
    draw_columns(drawing, top + 22, completions, ours=list(COMPLETION_ROWS)[:2])
    return drawing.svg(
        "MRR@10 of our lists and completions beside baselines, on real queries: "
        + "; ".join(f"{each.title}: {_spoken(each)}" for each in [*lists, *completions])
    )


def _spoken(column: Column) -> str:
    return ", ".join(f"{label} {value}" for label, value in column.values.items() if value)


def draw_columns(drawing: Drawing, top: int, columns: List[Column], ours: List[str]) -> None:
    """Columns of bars with one scale; their rows share the labels on the left."""
    width = (RIGHT - LABELS - GAP * len(columns)) / len(columns)
    highest = max(value or 0 for column in columns for value in column.values.values())
    below = top + (24 if any(column.subtitle for column in columns) else 4)
    for number, column in enumerate(columns):
        left = LABELS + 12 + number * (width + GAP)
        is_heading = bool(column.subtitle)
        weight, colour = ("600", "text") if is_heading else ("400", "quiet")
        drawing.text(left, top, column.title, colour, anchor="start", weight=weight)
        drawing.text(left, top + 20, column.subtitle, "quiet", 14, anchor="start")
        for row, (label, value) in enumerate(column.values.items()):
            y = below + 8 + ROW * row
            is_ours = label in ours
            if number == 0:
                style = {"anchor": "end", "weight": "600" if is_ours else "400"}
                drawing.text(LABELS, y + BAR - 4, label, **style)
            if value is None:
                drawing.text(left + 6, y + BAR - 4, "past not known", "quiet", 14, anchor="start")
                continue
            length = width * value / highest
            drawing.bar(left, y, length, BAR, "ours" if is_ours else "baseline")
            weight = "600" if is_ours else "400"
            number_at = left + length + 6
            drawing.text(number_at, y + BAR - 4, f"{value:.1f}", anchor="start", weight=weight)
        drawing.line(f"M{left:g} {below + 4} v{ROW * len(column.values) + 4}", "axis")


def main() -> None:
    for name, colours in THEMES.items():
        path = Path(__file__).parent / f"results-{name}.svg"
        path.write_text(draw(colours), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
