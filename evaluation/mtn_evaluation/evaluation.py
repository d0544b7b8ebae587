"""All scores of several systems on one test text, as one plain dictionary, as `--json` writes it.

docs/evaluation.md describes each entry.
"""

import math
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import Pair, read_pairs_in_words

from .evaluation_notes import comparison_notes, log_notes, perplexity_notes
from .pair_groups import Grouping, group_pairs
from .paired_bootstrap import CONFIDENCE, SAMPLES, SEED, compare
from .people import people_of
from .perplexity import read_perplexity
from .same_test_set import fingerprint, read_answers
from .suggestion_scores import distinct, figures, pair_rows, signature
from .unknown_words import UNKNOWN, RawText, UnknownAsToken, known_words

SCHEMA = 1  # increased when an entry changes its meaning or is removed
AT = (1, 3, 10)

Figures = Dict[str, Optional[float]]


class System(NamedTuple):
    """One system as given on the command line."""

    name: str
    files: List[str]  # several if generated in shards
    perplexity: Optional[str] = None  # output of fairseq-generate --score-reference
    with_unk: Optional[str] = None  # another output, to be scored with <unk> as a token


class _Text(NamedTuple):
    """The test text under one of the two treatments of unknown words."""

    way: Union[RawText, UnknownAsToken]
    next_queries: List[str]


class _Test(NamedTuple):
    """The test set that all systems are scored on."""

    prefix: str
    pairs: List[Pair]
    next_queries: List[str]  # in words, as asked
    texts: Dict[str, _Text]
    groups: Dict[str, Grouping]
    people: Optional[List[int]]  # the person of each pair, if TEST.user exists
    at: Sequence[int]


class _Scored(NamedTuple):
    result: dict
    rows: Dict[str, np.ndarray]  # see `pair_rows`; one array per treatment of unknown words
    notes: List[str]


def evaluate(
    systems: Sequence[System],
    test: str,
    train: Optional[str] = None,
    dictionary: Optional[str] = None,
    baseline: Union[str, Sequence[str], None] = None,
    at: Sequence[int] = AT,
    samples: int = SAMPLES,
    seed: int = SEED,
    say: Callable[[str], None] = lambda note: None,
    runs: Optional[Mapping[str, Sequence[str]]] = None,
) -> dict:
    """Score every system over every pair of `TEST.session` and `TEST.next`.

    Args:
        baseline: compare the other systems with it; several are used in turn
        runs: names for groups of systems that are runs with different seeds; the means of their
            figures are compared, not the single runs

    Raises:
        InputError: a file is invalid, or does not answer each pair exactly once.
    """
    baselines = [baseline] if isinstance(baseline, str) else list(dict.fromkeys(baseline or []))
    _check_given(systems, dictionary)
    compared = _compared_names([system.name for system in systems], runs or {}, baselines)
    truth = _read_test(test, train, dictionary, at)
    say(f"{len(truth.pairs):,} pairs of {test}")
    notes = []
    if dictionary is None:
        notes.append(f"No scores with {UNKNOWN} as a token: they need --dict.")
    if train is None:
        notes.append("No groups by seen or unseen next query: they need --train.")
    scored = {}
    for system in systems:
        scored[system.name] = _score_system(system, truth)
        notes += scored[system.name].notes
        nbest = scored[system.name].result["nbest"]
        say(f"{system.name}: at most {nbest} suggestions per pair")
    notes += perplexity_notes([found.result for found in scored.values()])
    bootstrap = None
    if baselines:
        bootstrap = _bootstrap(truth, samples, seed)
        notes += comparison_notes(bootstrap["units"], bootstrap["unit"])
    comparisons: List[dict] = []
    for name in baselines:
        say(f"{samples:,} resamples to compare with {name}")
        for way in truth.texts:
            rows = {
                each: np.stack([scored[run].rows[way] for run in of_name])
                for each, of_name in compared.items()
            }
            comparisons += _compare(rows, name, way, truth, samples, seed)
    return {
        "schema": SCHEMA,
        "test": _describe(truth),
        "train": train,
        "dictionary": dictionary,
        "signature": signature(),
        "at": list(at),
        "systems": [found.result for found in scored.values()],
        "runs": {name: list(of_name) for name, of_name in (runs or {}).items()},
        "bootstrap": bootstrap,
        "comparisons": comparisons,
        "notes": notes,
    }


def _check_given(systems: Sequence[System], dictionary: Optional[str]) -> None:
    if not systems:
        raise InputError("no system to score", "give one")
    for system in systems:
        if not system.files:
            raise InputError(f"{system.name}: no file", "give an output of fairseq-generate")
        if system.with_unk is not None and dictionary is None:
            raise InputError(
                f"{system.name}: another output to be scored with {UNKNOWN} as a token, "
                "and no dictionary",
                "give that too",
            )


def _read_test(
    test: str, train: Optional[str], dictionary: Optional[str], at: Sequence[int]
) -> _Test:
    ways: Dict[str, Union[RawText, UnknownAsToken]] = {"raw": RawText()}
    if dictionary is not None:
        ways["unk"] = UnknownAsToken(known_words(dictionary))
    pairs = list(read_pairs_in_words(test))
    asked = [pair.next_query for pair in pairs]
    if not all(asked):
        line = asked.index("") + 1
        raise InputError(
            "a next query without words", "prepare the text again", f"{test}.next", line
        )
    texts = {name: _Text(way, list(map(way.next_query, asked))) for name, way in ways.items()}
    return _Test(
        test, pairs, asked, texts, group_pairs(pairs, train), people_of(test, len(pairs)), at
    )


def _score_system(system: System, test: _Test) -> _Scored:
    log = read_answers(system.files, test.prefix, test.next_queries)
    logs = {"raw": log, "unk": log}
    if system.with_unk is not None and "unk" in test.texts:
        logs["unk"] = read_answers([system.with_unk], test.prefix, test.next_queries)
    perplexity = None
    if system.perplexity is not None:
        found = read_perplexity(system.perplexity, test.prefix, test.next_queries)
        perplexity = {"file": system.perplexity, **found._asdict()}
    rows = {}
    by_way = {}
    for name, text in test.texts.items():
        ranked = [list(map(text.way.suggestion, pair.ranked)) for pair in logs[name].pairs]
        rows[name] = pair_rows(ranked, text.next_queries, test.at, logs[name].nbest)
        first = [suggestions[0] for suggestions in ranked]
        by_way[name] = {
            **_figures(rows[name], test.at),
            **{f"distinct-{order}": distinct(first, order) for order in (1, 2)},
        }
    result = {
        "name": system.name,
        "files": system.files,
        "with_unk": system.with_unk,
        "nbest": log.nbest,
        "empty": sum(not pair.ranked[0] for pair in log.pairs),
        "perplexity": perplexity,
        **by_way,
        "groups": {
            kind: _by_group(grouping, rows, test.at) for kind, grouping in test.groups.items()
        },
    }
    notes = [note for each in logs.values() for note in log_notes(system.name, each, test.at)]
    return _Scored(result, rows, list(dict.fromkeys(notes)))


def _compared_names(
    systems: Sequence[str], runs: Mapping[str, Sequence[str]], baselines: Sequence[str]
) -> Dict[str, List[str]]:
    """The systems behind each name in the comparison: all runs of a group, or one system."""
    if len(set(systems)) != len(systems):
        raise InputError("two systems of one name", "name each differently")
    of_runs = [run for several in runs.values() for run in several]
    for run in of_runs:
        if run not in systems:
            raise InputError(f"no system {run!r} to be a run", f"name one of {', '.join(systems)}")
        if of_runs.count(run) > 1:
            raise InputError(f"{run!r} is a run twice", "name it once")
    alone = [name for name in systems if name not in of_runs]
    for name in runs:
        if name in systems:
            raise InputError(f"runs of the name of a system, {name!r}", "name each differently")
    names = {**{name: [name] for name in alone}, **{name: list(runs[name]) for name in runs}}
    for baseline in baselines:
        if baseline not in names:
            raise InputError(
                f"no system {baseline!r} to compare with", f"name one of {', '.join(names)}"
            )
        if len(names) == 1:
            raise InputError(f"nothing to compare {baseline!r} with", "give a second system")
    return names


def _describe(test: _Test) -> dict:
    words = sum(len(query.split()) for query in test.next_queries)
    unknown = unknown_sha256 = None
    if "unk" in test.texts:
        unknown_sha256 = fingerprint(test.texts["unk"].next_queries)
        unknown = sum(query.split().count(UNKNOWN) for query in test.texts["unk"].next_queries)
    return {
        "text": test.prefix,
        "pairs": len(test.pairs),
        "words": words,
        "unknown_words": unknown,
        "length": words / len(test.pairs),
        "sha256": fingerprint(test.next_queries),
        "sessions_sha256": fingerprint(["\t".join(pair.queries()) for pair in test.pairs]),
        "unknown_sha256": unknown_sha256,
    }


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


def _bootstrap(test: _Test, samples: int, seed: int) -> dict:
    unit, units = "pairs", len(test.pairs)
    if test.people is not None:
        unit, units = "people", len(set(test.people))
    return {
        "samples": samples, "seed": seed, "confidence": CONFIDENCE, "unit": unit, "units": units
    }  # fmt: skip


def _compare(
    rows: Mapping[str, np.ndarray],
    baseline: str,
    way: str,
    test: _Test,
    samples: int,
    seed: int,
) -> List[dict]:
    others = [name for name in rows if name != baseline]
    systems = [rows[name] for name in others]
    found = compare(rows[baseline], systems, test.at, samples, seed, test.people)
    return [
        {"system": name, "baseline": baseline, "text": way, **difference._asdict()}
        for name, differences in zip(others, found)
        for difference in differences
    ]
