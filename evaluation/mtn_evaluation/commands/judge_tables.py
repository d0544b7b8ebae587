"""Counted verdicts and shares as Markdown tables, without any query."""

from typing import Iterator, Optional

from ..judging.form import KINDS, VERDICTS
from ..judging.shares import HEAD, TOP
from .markdown_tables import MISSING, titled

# The shares with their headings: of lists, and of suggestions.
_OF_LISTS = {
    "generic": f"generic in the top {HEAD}",
    "last_query": "first is the last query",
    "shortened": "first is the last query shortened",
}
_OF_SUGGESTIONS = {
    "made_up": "asked by nobody",
    "one_person": "asked by one person",
    "unrelated": "unrelated to the session",
}


def verdict_tables(result: dict) -> Iterator[str]:
    """Yield the output line by line."""
    yield f"{result['pairs']:,} pairs of {result['test']}, drawn: {result['drawn']}."
    rows = [["", "lists", "empty", *VERDICTS]]
    kinds = [["", *KINDS]]
    for system in result["systems"]:
        cells = [
            f"{found['count']} ({found['low']:.0f} … {found['high']:.0f} %)"
            for found in (system[verdict] for verdict in VERDICTS)
        ]
        rows.append([system["name"], str(system["lists"]), str(system["empty"]), *cells])
        kinds.append([system["name"], *(str(system["kinds"][kind]) for kind in KINDS)])
    yield from titled(f"Lists by verdict, with {result['confidence']} % intervals (Wilson)", rows)
    yield from titled("Bad lists by kind; a list may be of several", kinds)


def share_tables(result: dict) -> Iterator[str]:
    """Yield the output line by line."""
    yield f"{result['pairs']:,} pairs of {result['test']}, every one counted; in percent."
    of_lists = [["", *_OF_LISTS.values(), "suggestions per list", "empty lists"]]
    of_suggestions = [["", *_OF_SUGGESTIONS.values()]]
    for system in result["systems"]:
        name = system["name"]
        lists = [_percent(system[share]) for share in _OF_LISTS]
        rest = [f"{system['mean_length']:.1f}", f"{system['empty']:,}"]
        of_lists.append([name, *lists, *rest])
        of_suggestions.append([name, *(_percent(system[share]) for share in _OF_SUGGESTIONS)])
    yield from titled("Shares of all lists", of_lists)
    yield from titled(f"Shares of all suggestions in the top {TOP}", of_suggestions)
    yield (
        f"\nGeneric: one of the {result['generic']} most asked queries of training, no word of the "
        "session, and not asked after its last query by two people or more."
    )
    if result["unit"] == "times":
        yield "\nNote: TRAIN.user does not exist. Times are counted, not people."


def _percent(share: Optional[float]) -> str:
    return MISSING if share is None else f"{share:.1f}"
