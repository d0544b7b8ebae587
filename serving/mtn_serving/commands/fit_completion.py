"""`mtn-fit-ranker --completion`: fit a ranker of completions on prefixes from validation text."""

from collections import Counter
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence

import numpy as np

from mtn_evaluation.suggestion_scores import rank_of
from mtn_preprocess.commands.notes import notes_of
from mtn_preprocess.commands.time_left import TimeLeft
from mtn_preprocess.errors import InputError

from ..completion.lists import completer_of, requests_of
from ..completion.ranker import CompletionRanker
from ..fitting import AT, Fitted, fit_ranker
from ..suggester import Described, Suggester, batches
from .personal_pairs import PersonalPairs
from .suggester_flags import say_held_back

FEW_CHARACTERS = 3  # each next query gives a prefix of at most this length and a longer one

_say = notes_of("mtn-fit-ranker")


class Example(NamedTuple):
    line: str  # the session, with the history before it
    prefix: str
    next_query: str
    person: int


def run_completion(
    suggester: Suggester,
    valid: str,
    output: str,
    people: Sequence[int],
    seed: int,
    use_history: bool,
) -> List[str]:
    """Write the ranker; return the lines of its report.

    If people have a history, each prefix is learned with and without it.

    Args:
        people: the person of each pair of the validation text
    """
    suggester.check_text(valid)
    known = PersonalPairs(valid, use_history, suggester.model_reads, _say)
    groups = [PersonalPairs(valid, False, suggester.model_reads, _say)]
    if known.with_history:
        groups.append(known)
    examples = [each for group in groups for each in _examples(group, people, seed)]
    described = _describe(suggester, examples)
    if not any(each.candidates for each in described):
        raise InputError("no completions of any prefix", "add counts of more text", valid)
    fitted = fit_ranker(
        described,
        [each.next_query for each in examples],
        [each.person for each in examples],
        suggester.conditions,
        seed=seed,
        progress=TimeLeft(_say),
        kind=CompletionRanker,
    )
    fitted.ranker.save(Path(output))
    _say(f"{output} is fitted on {len(examples):,} prefixes")
    return report(fitted, examples)


def cut(next_query: str, random: np.random.RandomState) -> List[str]:
    """A short prefix and a longer one, if there are any, each shorter than the query."""
    last = len(next_query) - 1
    ranges = [(1, min(FEW_CHARACTERS, last)), (FEW_CHARACTERS + 1, last)]
    return [next_query[: random.randint(first, end + 1)] for first, end in ranges if first <= end]


def _examples(group: PersonalPairs, people: Sequence[int], seed: int) -> List[Example]:
    random = np.random.RandomState(seed)
    lines = [each.line for batch in group.batches() for each in batch]
    return [
        Example(line, prefix, pair.next_query, person)
        for line, pair, person in zip(lines, group.pairs, people)
        for prefix in cut(pair.next_query, random)
    ]


def _describe(suggester: Suggester, examples: Sequence[Example]) -> List[Described]:
    pipeline, progress = suggester.pipeline, TimeLeft(_say)
    completer = completer_of(pipeline)
    held_back: Counter[str] = Counter()
    described: List[Described] = []
    for batch in batches(examples):
        asked = requests_of(
            pipeline, [each.line for each in batch], [each.prefix for each in batch]
        )
        for found in completer.described(asked, held_back):
            candidates = [each.candidate for each in found.completions]
            described.append(Described(candidates, found.features))
        progress("prefixes", len(described), len(examples))
    say_held_back(held_back, _say)
    return described


def report(fitted: Fitted, examples: Sequence[Example]) -> List[str]:
    """MRR without and with the ranker, cross-validated by person."""
    lines = [f"{f'MRR@{AT} by characters typed':30}{'prefixes':>9}{'no ranker':>11}{'ranker':>9}"]
    for name, chosen in _by_characters(examples).items():
        in_turn, ranked = [], []
        for number in chosen:
            texts = [each.text for each in fitted.examples.pairs[number]]
            predicted = fitted.predicted[fitted.examples.rows(number)]
            best_first = [texts[row] for row in np.argsort(-predicted, kind="stable")]
            in_turn.append(_reciprocal(examples[number].next_query, texts))
            ranked.append(_reciprocal(examples[number].next_query, best_first))
        figures = f"{100 * np.mean(in_turn):11.2f}{100 * np.mean(ranked):9.2f}"
        lines.append(f"{name:30}{len(chosen):9,}{figures}")
    return lines


def _by_characters(examples: Sequence[Example]) -> Dict[str, List[int]]:
    groups: Dict[str, List[int]] = {}
    for number, each in enumerate(examples):
        few = len(each.prefix) <= FEW_CHARACTERS
        name = str(len(each.prefix)) if few else f"{FEW_CHARACTERS + 1} and more"
        groups.setdefault(name, []).append(number)
    return dict(sorted(groups.items()))


def _reciprocal(next_query: str, ranked: Sequence[str]) -> float:
    rank = rank_of(next_query, ranked[:AT])
    return 0.0 if rank is None else 1 / rank
