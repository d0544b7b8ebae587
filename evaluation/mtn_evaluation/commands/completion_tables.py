"""Completion scores as Markdown tables, aligned for the terminal."""

from typing import Iterator, List, Optional

from .markdown_tables import MISSING, Row, titled


def completion_tables(result: dict) -> Iterator[str]:
    """Yield the output line by line."""
    at, systems = result["at"], result["systems"]
    yield (
        f"{result['test']['pairs']:,} next queries of {result['test']['text']}, "
        f"{result['characters']:,} characters, typed one by one; figures in percent."
    )
    for figure, title in {
        f"mrr@{at}": f"MRR@{at} by number of characters typed",
        f"hit@{at}": f"hit@{at} by number of characters typed",
        "saved": "Saved of the characters that are left, by number of characters typed",
    }.items():
        yield from titled(title, _by_typed(systems, figure))
    rows = [["", "saved"], *([each["name"], f"{each['saved']:.1f}"] for each in systems)]
    yield from titled("Saved keystrokes, a list after each character", rows)
    if result["comparisons"]:
        bootstrap = result["bootstrap"]
        title = (
            f"How many times as high MRR@{at} is, with {bootstrap['confidence']} % interval by "
            f"paired bootstrap, {bootstrap['samples']:,} resamples of {bootstrap['units']:,} "
            f"{bootstrap['unit']}, seed {bootstrap['seed']}"
        )
        yield from titled(title, _compared(result["comparisons"]))


def _by_typed(systems: List[dict], figure: str) -> List[Row]:
    rows = [["typed", "pairs", *(each["name"] for each in systems)]]
    for place, first in enumerate(systems[0]["typed"]):
        values = [f"{each['typed'][place][figure]:.1f}" for each in systems]
        rows.append([str(first["typed"]), f"{first['pairs']:,}", *values])
    return rows


def _compared(comparisons: List[dict]) -> List[Row]:
    rows = [["", "typed", "times", "interval"]]
    for found in comparisons:
        low, high = _two_digits(found["low"]), _two_digits(found["high"])
        name = f"{found['system']} / {found['baseline']}"
        rows.append([name, str(found["typed"]), _two_digits(found["ratio"]), f"{low} … {high}"])
    return rows


def _two_digits(value: Optional[float]) -> str:
    return MISSING if value is None else f"{value:.2f}"
