"""Completions of a test text in mtn-complete's format: one JSON object per line.

    {"pair": 0, "typed": 3, "completions": ["london hotels", "london eye"]}
    …
    {"pairs": 6427, "characters": [1, 2, 3], "nbest": 10}

`pair` counts from 0; `typed` is the number of characters typed of its next query. The last line
gives the totals: without it, the file is truncated.
"""

import json
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence, TextIO, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.standard_streams import standard_input

_REMEDY = "run mtn-complete again, into a fresh file"


class CompletionLog(NamedTuple):
    lists: Dict[Tuple[int, int], List[str]]  # by pair and characters typed, best first
    characters: List[int]  # typed, ascending
    nbest: int


def write_completions(pair: int, typed: int, completions: Sequence[str], out: TextIO) -> None:
    line = {"pair": pair, "typed": typed, "completions": list(completions)}
    out.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_end(pairs: int, characters: Sequence[int], nbest: int, out: TextIO) -> None:
    out.write(json.dumps({"pairs": pairs, "characters": list(characters), "nbest": nbest}) + "\n")


def prefixes_of(next_query: str, characters: Iterable[int]) -> List[Tuple[int, str]]:
    """(characters, prefix) for all prefixes that leave something to type."""
    return [(typed, next_query[:typed]) for typed in characters if typed < len(next_query)]


def read_completions(path: str, next_queries: Sequence[str]) -> CompletionLog:
    """Read the lists; raises unless every list of every next query is there."""
    lists: Dict[Tuple[int, int], List[str]] = {}
    end: Dict[str, Any] = {}
    for number, line in enumerate(_lines(path), 1):
        found = _parsed(line, path, number)
        if "pair" not in found:
            end = found
            continue
        end = {}
        key = (found["pair"], found["typed"])
        if key in lists:
            raise InputError(f"pair {key[0]} with {key[1]} typed, twice", _REMEDY, path, number)
        lists[key] = found["completions"]
    if not end:
        raise InputError("its last line is missing: it was cut off", _REMEDY, path)
    log = CompletionLog(lists, sorted(end["characters"]), end["nbest"])
    _check_complete(log, end["pairs"], path, next_queries)
    return log


def _parsed(line: str, path: str, number: int) -> Dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not (_is_list(found) or _is_end(found)):
        raise InputError("no line of mtn-complete", _REMEDY, path, number)
    return found


def _is_list(found: Dict[str, Any]) -> bool:
    return (
        found.keys() == {"pair", "typed", "completions"}
        and _are_whole([found["pair"], found["typed"]])
        and isinstance(found["completions"], list)
        and all(isinstance(text, str) for text in found["completions"])
    )


def _is_end(found: Dict[str, Any]) -> bool:
    return (
        found.keys() == {"pairs", "characters", "nbest"}
        and isinstance(found["characters"], list)
        and _are_whole([found["pairs"], found["nbest"], *found["characters"]])
    )


def _are_whole(numbers: Sequence[Any]) -> bool:
    return all(type(number) is int and number >= 0 for number in numbers)


def _check_complete(log: CompletionLog, pairs: int, path: str, next_queries: Sequence[str]) -> None:
    if pairs != len(next_queries):
        raise InputError(
            f"of {pairs:,} pairs, but the test text has {len(next_queries):,}",
            "it is of another test set; complete the queries of this one",
            path,
        )
    expected = {
        (pair, typed)
        for pair, query in enumerate(next_queries)
        for typed, _ in prefixes_of(query, log.characters)
    }
    if expected != log.lists.keys():
        pair, typed = min(expected ^ log.lists.keys())
        reason = "missing" if (pair, typed) in expected else "none of this test text"
        raise InputError(f"pair {pair} with {typed} characters typed is {reason}", _REMEDY, path)


def _lines(path: str) -> Iterable[str]:
    try:
        with standard_input() if path == "-" else open(path, encoding="utf-8") as stream:
            yield from stream
    except FileNotFoundError:
        raise InputError("no such file", "give the output of mtn-complete", Path(path)) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8", _REMEDY, Path(path)) from None
