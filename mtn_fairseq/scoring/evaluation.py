"""All scores of some systems on one test text, as one plain dictionary: what `--json` writes.

docs/evaluation.md says what each entry is.
"""

import hashlib
import math
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from ..data.session_pairs import Pair, read_pairs
from ..data.word_pieces import decode_pieces
from ..errors import InputError
from .generate_log import GenerateLog, read_system
from .pair_groups import Grouping, group_pairs
from .paired_bootstrap import CONFIDENCE, SAMPLES, SEED, compare
from .perplexity import read_perplexity
from .same_test_set import check_same_next_queries
from .suggestion_scores import distinct, figures, pair_rows, signature
from .unknown_words import UNKNOWN, RawText, UnknownAsToken, known_words

SCHEMA = 1  # counts up when an entry changes its meaning or goes
AT = (5, 10)

Figures = Dict[str, Optional[float]]


class System(NamedTuple):
    """One system as it was given."""

    name: str
    files: List[str]  # several where it was generated in shards
    perplexity: Optional[str] = None  # an output of fairseq-generate --score-reference


class _Text(NamedTuple):
    """The test text in one of the two ways to treat unknown words."""

    way: Union[RawText, UnknownAsToken]
    next_queries: List[str]


def evaluate(
    systems: Sequence[System],
    test: str,
    train: Optional[str] = None,
    dictionary: Optional[str] = None,
    baseline: Optional[str] = None,
    at: Sequence[int] = AT,
    samples: int = SAMPLES,
    seed: int = SEED,
    say: Callable[[str], None] = lambda note: None,
) -> dict:
    """Score every system over every pair of `TEST.session` and `TEST.next`.

    Raises:
        InputError: a file is not what it should be, or does not answer each pair exactly once.
    """
    names = [system.name for system in systems]
    _check_names(names, baseline)
    pairs = [Pair(*map(decode_pieces, pair)) for pair in read_pairs(test)]
    texts = _texts([pair.next_query for pair in pairs], dictionary)
    groups = group_pairs(pairs, train)
    say(f"{len(pairs):,} pairs of {test}")
    notes = []
    if dictionary is None:
        notes.append(f"No scores with {UNKNOWN} as a token: they need --dict.")
    if train is None:
        notes.append("No groups by seen or unseen next query: they need --train.")
    rows: Dict[str, List[np.ndarray]] = {way: [] for way in texts}
    results = []
    for system in systems:
        log = read_system(*system.files, pairs=len(pairs))
        say(f"{system.name}: at most {log.nbest} suggestions a pair")
        shown = " + ".join(system.files)
        check_same_next_queries(shown, log.pairs, test, [pair.next_query for pair in pairs])
        notes += _notes(system.name, log, at)
        result: dict = {"name": system.name, "files": system.files, "nbest": log.nbest}
        result["empty"] = sum(not pair.ranked[0] for pair in log.pairs)
        result["perplexity"] = None
        if system.perplexity is not None:
            found = read_perplexity(system.perplexity, test, [pair.next_query for pair in pairs])
            result["perplexity"] = {"file": system.perplexity, **found._asdict()}
        for way, text in texts.items():
            ranked = [list(map(text.way.suggestion, pair.ranked)) for pair in log.pairs]
            rows[way].append(pair_rows(ranked, text.next_queries, at, log.nbest))
            first = [suggestions[0] for suggestions in ranked]
            result[way] = {
                **_figures(rows[way][-1], at),
                **{f"distinct-{order}": distinct(first, order) for order in (1, 2)},
            }
        result["groups"] = {
            kind: _by_group(grouping, {way: rows[way][-1] for way in texts}, at)
            for kind, grouping in groups.items()
        }
        results.append(result)
    comparisons: List[dict] = []
    if baseline is not None and len(systems) > 1:
        say(f"{samples:,} resamples to compare with {baseline}")
        for way in texts:
            comparisons += _compare(names, rows[way], baseline, way, at, samples, seed)
    return {
        "schema": SCHEMA,
        "test": {"text": test, **_describe(pairs, texts)},
        "train": train,
        "dictionary": dictionary,
        "signature": signature(),
        "at": list(at),
        "systems": results,
        "bootstrap": {"samples": samples, "seed": seed, "confidence": CONFIDENCE}
        if comparisons
        else None,
        "comparisons": comparisons,
        "notes": notes,
    }


def _check_names(names: Sequence[str], baseline: Optional[str]) -> None:
    if len(set(names)) != len(names):
        raise InputError("two systems of one name", "name each differently")
    if baseline is not None and baseline not in names:
        raise InputError(f"no system {baseline!r} to compare with", f"one of: {', '.join(names)}")


def _texts(next_queries: List[str], dictionary: Optional[str]) -> Dict[str, _Text]:
    ways: Dict[str, Union[RawText, UnknownAsToken]] = {"raw": RawText()}
    if dictionary is not None:
        ways["unk"] = UnknownAsToken(known_words(dictionary))
    return {name: _Text(way, list(map(way.next_query, next_queries))) for name, way in ways.items()}


def _describe(pairs: Sequence[Pair], texts: Mapping[str, _Text]) -> dict:
    asked = [pair.next_query for pair in pairs]
    words = sum(len(query.split()) for query in asked)
    unknown = None
    if "unk" in texts:
        unknown = sum(query.split().count(UNKNOWN) for query in texts["unk"].next_queries)
    return {
        "pairs": len(pairs),
        "words": words,
        "unknown_words": unknown,
        "length": words / len(pairs),
        # So that figures of different test sets are not put into one table.
        "sha256": hashlib.sha256("\n".join(asked).encode("utf-8")).hexdigest(),
    }


def _notes(name: str, log: GenerateLog, at: Sequence[int]) -> List[str]:
    notes = []
    short = [str(k) for k in at if k > log.nbest]
    if short:
        notes.append(
            f"{name}: no MRR and hit at {', '.join(short)}, it has {log.nbest} suggestions a pair "
            f"at most; generate with --nbest {short[-1]}."
        )
    if all(pair.ranked == [pair.next_query.replace("<<unk>>", UNKNOWN)] for pair in log.pairs):
        notes.append(
            f"{name}: every suggestion is the next query itself. If it was made with "
            "--score-reference, it is for --perplexity, and no system."
        )
    return notes


def _figures(rows: np.ndarray, at: Sequence[int]) -> Figures:
    found = figures(rows.sum(axis=0), len(rows), at)
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def _by_group(grouping: Grouping, rows: Mapping[str, np.ndarray], at: Sequence[int]) -> List[dict]:
    label_of_pair = np.array(grouping.label_of_pair)
    groups = []
    for label in grouping.labels:
        chosen = label_of_pair == label
        by_way = {way: _figures(of_way[chosen], at) for way, of_way in rows.items()}
        groups.append({"group": label, "pairs": int(chosen.sum()), **by_way})
    return groups


def _compare(
    names: Sequence[str],
    rows: Sequence[np.ndarray],
    baseline: str,
    way: str,
    at: Sequence[int],
    samples: int,
    seed: int,
) -> List[dict]:
    others = [name for name in names if name != baseline]
    by_name = dict(zip(names, rows))
    found = compare(by_name[baseline], [by_name[name] for name in others], at, samples, seed)
    return [
        {"system": name, "baseline": baseline, "text": way, **difference._asdict()}
        for name, differences in zip(others, found)
        for difference in differences
    ]
