"""Scores of completions, by number of characters typed.

Each next query of a test text is typed character by character. After 1, 2, 3, … characters, up to
the last but one, there is a list of completions. Scores of the lists after k characters:

    MRR@10   mean of 1 / rank of the next query; 0 if it is not among the first ten
    hit@10   share of lists with the next query among the first ten
    saved    characters saved by choosing it from these lists, of all characters left

Over all lists, `saved` means: the user types until the next query is among the first ten, and
chooses it. The characters not typed, of all characters of all next queries, are saved. Choosing
costs nothing, because it replaces the key that submits the query.
"""

from typing import List, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import read_pairs_in_words

from .completion_log import CompletionLog, read_completions
from .paired_bootstrap import CONFIDENCE, SAMPLES, SEED
from .people import people_of
from .same_test_set import fingerprint
from .suggestion_scores import rank_of

AT = 10


class Ranks(NamedTuple):
    """The ranks of the next queries in the lists of one system."""

    name: str
    ranks: np.ndarray  # (pairs, numbers of characters) 0 if not in the list
    characters: Sequence[int]  # typed; the columns
    lengths: np.ndarray  # (pairs,) characters of each next query

    def is_typed(self) -> np.ndarray:
        """(pairs, numbers of characters) whether anything is left to type."""
        return self.lengths[:, None] > np.asarray(self.characters)


def ranks_of(name: str, log: CompletionLog, next_queries: Sequence[str]) -> Ranks:
    ranks = np.zeros((len(next_queries), len(log.characters)), dtype=np.int64)
    for (pair, typed), completions in log.lists.items():
        rank = rank_of(next_queries[pair], completions)
        if rank is not None and rank <= AT:
            ranks[pair, log.characters.index(typed)] = rank
    return Ranks(name, ranks, log.characters, np.array([len(query) for query in next_queries]))


def figures(system: Ranks) -> List[dict]:
    """For each number of characters: pairs, MRR, hit and saved characters, in percent."""
    found = []
    reciprocal = reciprocal_ranks(system)
    for column, typed in enumerate(system.characters):
        chosen = system.is_typed()[:, column]
        left = (system.lengths - typed)[chosen]
        hit = system.ranks[chosen, column] > 0
        found.append(
            {
                "typed": typed,
                "pairs": int(chosen.sum()),
                f"mrr@{AT}": _percent(reciprocal[chosen, column].sum(), chosen.sum()),
                f"hit@{AT}": _percent(hit.sum(), chosen.sum()),
                "saved": _percent(left[hit].sum(), left.sum()),
            }
        )
    return found


def saved_keystrokes(system: Ranks) -> float:
    """Saved keystrokes over all lists, in percent of all characters of the next queries."""
    saved = np.zeros(len(system.lengths), dtype=np.int64)
    for column, typed in reversed(list(enumerate(system.characters))):
        hit = system.ranks[:, column] > 0
        saved[hit] = system.lengths[hit] - typed  # the smallest number comes last and wins
    return _percent(saved.sum(), system.lengths.sum())


def reciprocal_ranks(system: Ranks) -> np.ndarray:
    return np.where(system.ranks > 0, 1 / np.maximum(system.ranks, 1), 0.0)


class Ratio(NamedTuple):
    """The MRR of a system divided by the MRR of a baseline."""

    system: str
    baseline: str
    typed: int
    ratio: Optional[float]  # None if the baseline's MRR is 0
    low: Optional[float]
    high: Optional[float]


def compare(
    baseline: Ranks, system: Ranks, people: Sequence[int], samples: int, seed: int
) -> List[Ratio]:
    """Compare by paired bootstrap, resampling people with all of their pairs.

    Args:
        people: the person of each pair, or the pair's own number if people are unknown
    """
    person = np.unique(np.asarray(people), return_inverse=True)[1]
    count = int(person.max()) + 1
    random = np.random.default_rng(seed)
    drawn = [random.integers(count, size=count) for _ in range(samples)]
    times = np.stack([np.bincount(each, minlength=count) for each in drawn]).astype(float)
    found = []
    for column, typed in enumerate(system.characters):
        sums = [
            np.bincount(person, reciprocal_ranks(each)[:, column], count)
            for each in (system, baseline)
        ]
        if not sums[1].sum():
            found.append(Ratio(system.name, baseline.name, typed, None, None, None))
            continue
        ratio = float(sums[0].sum() / sums[1].sum())
        above, below = times @ sums[0], times @ sums[1]
        found_any = below > 0  # otherwise the ratio is undefined
        beyond = (100 - CONFIDENCE) / 2
        ratios = above[found_any] / below[found_any]
        low, high = np.percentile(ratios, [beyond, 100 - beyond]).tolist()
        found.append(Ratio(system.name, baseline.name, typed, ratio, low, high))
    return found


def _percent(part: float, whole: float) -> float:
    return 100 * float(part) / float(whole) if whole else 0.0


def evaluate_completion(
    files: Mapping[str, str],
    test: str,
    baselines: Sequence[str] = (),
    samples: int = SAMPLES,
    seed: int = SEED,
) -> dict:
    """All figures of all systems, for the tables and for --json.

    Args:
        files: outputs of `mtn-complete`, by the names of the systems
        test: prefix of the test text
        baselines: systems that all others are compared with
    """
    unknown = [name for name in baselines if name not in files]
    if unknown:
        raise InputError(f"no system {unknown[0]!r}", f"name one of {', '.join(files)}")
    next_queries = [pair.next_query for pair in read_pairs_in_words(test)]
    people = people_of(test, len(next_queries))
    logs = {name: read_completions(path, next_queries) for name, path in files.items()}
    _check_same_characters(logs)
    systems = {name: ranks_of(name, log, next_queries) for name, log in logs.items()}
    units = range(len(next_queries)) if people is None else people
    return {
        "test": {"text": test, "pairs": len(next_queries), "sha256": fingerprint(next_queries)},
        "at": AT,
        "characters": sum(map(len, next_queries)),
        "systems": [
            {"name": name, "saved": saved_keystrokes(each), "typed": figures(each)}
            for name, each in systems.items()
        ],
        "bootstrap": {
            "samples": samples,
            "seed": seed,
            "confidence": CONFIDENCE,
            "unit": "pairs" if people is None else "people",
            "units": len(set(units)),
        },
        "comparisons": [
            ratio._asdict()
            for baseline in baselines
            for name, each in systems.items()
            if name != baseline
            for ratio in compare(systems[baseline], each, units, samples, seed)
        ],
    }


def _check_same_characters(logs: Mapping[str, CompletionLog]) -> None:
    first = next(iter(logs))
    for name, log in logs.items():
        if log.characters != logs[first].characters:
            raise InputError(
                f"{name} has lists after other numbers of characters than {first}",
                "run mtn-complete with the same --characters for all",
            )
        if log.nbest < AT:
            raise InputError(
                f"{name} has lists of {log.nbest}", f"run mtn-complete with --nbest {AT}"
            )
