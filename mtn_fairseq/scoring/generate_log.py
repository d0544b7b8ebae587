"""Read what `fairseq-generate` prints: the session, next query and n-best list of each pair."""

import re
from pathlib import Path
from typing import Dict, List, NamedTuple

from ..errors import InputError

# S-12<TAB>session, T-12<TAB>next query, D-12<TAB>score<TAB>suggestion in plain text
_LINE = re.compile(r"([STD])-(\d+)\t(.*)")


class Suggestions(NamedTuple):
    """One test pair and what was suggested for it, best first."""

    session: str
    next_query: str
    ranked: List[str]


def read_generate_log(path: str) -> List[Suggestions]:
    """All pairs in the order of the test file; refused when one is missing or doubled."""
    sources: Dict[int, str] = {}
    targets: Dict[int, str] = {}
    ranked: Dict[int, List[str]] = {}
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            match = _LINE.match(line.rstrip("\n"))
            if match is None:
                continue
            kind, pair, text = match[1], int(match[2]), match[3]
            if kind == "D":
                ranked.setdefault(pair, []).append(text.partition("\t")[2])
                continue
            side = sources if kind == "S" else targets
            if pair in side:
                reason = f"pair {pair} a second time"
                raise InputError(reason, "generate again into a fresh file", path, number)
            side[pair] = text
    _check_complete(path, sources, targets, ranked)
    return [Suggestions(sources[i], targets[i], ranked[i]) for i in range(len(targets))]


def _check_complete(path: str, *parts: dict) -> None:
    pairs = range(max(map(len, parts)))
    if not pairs:
        raise InputError("no suggestions in it", "give the output of fairseq-generate", Path(path))
    for part in parts:
        missing = [pair for pair in pairs if pair not in part]
        if missing:
            raise InputError(
                f"pair {missing[0]} is missing or incomplete ({len(missing)} in all)",
                "it was cut off; generate again",
                Path(path),
            )
