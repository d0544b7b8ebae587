"""The result of one training: each person's contribution to the scores, as numbers only.

Sums per person are enough for the scores and for the paired bootstrap over people. So results of
several machines can be compared without the suggestions, which contain people's queries.
"""

import json
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from mtn_evaluation.people import people_of
from mtn_evaluation.perplexity import read_perplexity
from mtn_evaluation.same_test_set import fingerprint, read_answers
from mtn_evaluation.suggestion_scores import pair_rows
from mtn_evaluation.unknown_words import RawText, UnknownAsToken, known_words
from mtn_preprocess.errors import InputError
from mtn_preprocess.files.result_file import write_result_file
from mtn_preprocess.text.session_pairs import read_pairs_in_words

RESULTS = Path(__file__).with_name("results")
WIDTHS = Path(__file__).with_name("widths")  # on validation data
AT = (10,)
WAYS = ("raw", "unk")
_DIGITS = 6  # of sums of reciprocal ranks


class Result(NamedTuple):
    """The result of one model or baseline.

    Args:
        about: data, system, seed and updates
        test: fingerprint of the next queries
        perplexity: None for baselines
        pairs: number of pairs per person, in the order of the first pairs
        sums: for each of WAYS, or for "raw" only, (people, columns): see `pair_rows`
    """

    about: dict
    test: str
    perplexity: Optional[float]
    pairs: List[int]
    sums: Dict[str, np.ndarray]


def result_file(data: str, system: str, seed: int) -> Path:
    return RESULTS / data / (f"{system}-{seed}.json" if seed else f"{system}.json")


def score_answers(
    answers: Path, data: Path, with_model: bool, split: str = "test"
) -> Tuple[str, Optional[float], List[int], Dict[str, np.ndarray]]:
    """All of a result except `about`, from the logs of fairseq-generate or mtn-yardstick.

    Args:
        answers: folder of the logs
        data: folder of the text and the dictionary
        with_model: whether there are logs for perplexity and, for the test, for suggestions with
            <unk>
        split: of the text; "unk" is scored only for the test
    """
    test = f"{data}/text/{split}"
    asked = [pair.next_query for pair in read_pairs_in_words(test)]
    people = people_of(test, len(asked))
    if people is None:
        raise InputError("no people", "prepare the text with --users", f"{test}.user")
    ways = {"raw": RawText()}
    if split == "test":
        ways["unk"] = UnknownAsToken(known_words(f"{data}/data-bin/dict.next.txt"))
    logs = {"raw": "generate.log", "unk": "with-unk.log" if with_model else "generate.log"}
    sums = {}
    for way, text in ways.items():
        log = read_answers([str(answers / logs[way])], test, asked)
        ranked = [list(map(text.suggestion, pair.ranked)) for pair in log.pairs]
        rows = pair_rows(ranked, list(map(text.next_query, asked)), AT, log.nbest)
        sums[way], pairs = sums_by_person(rows, people)
    perplexity = None
    if with_model:
        perplexity = read_perplexity(str(answers / "reference.log"), test, asked).value
    return fingerprint(asked), perplexity, pairs, sums


def sums_by_person(rows: np.ndarray, people: List[int]) -> Tuple[np.ndarray, List[int]]:
    """(pairs, columns) -> (people, columns), and the number of pairs per person."""
    order = {person: number for number, person in enumerate(dict.fromkeys(people))}
    numbers = [order[person] for person in people]
    sums = np.zeros((len(order), rows.shape[1]))
    np.add.at(sums, numbers, rows)
    return sums, np.bincount(numbers).tolist()


def rows_of_people(result: Result, way: str) -> Tuple[np.ndarray, List[int]]:
    """The rows for `compare`: the sums of each person are in the row of their first pair."""
    people = np.repeat(np.arange(len(result.pairs)), result.pairs)
    rows = np.zeros((len(people), result.sums[way].shape[1]))
    rows[np.unique(people, return_index=True)[1]] = result.sums[way]
    return rows, people.tolist()


def write_result(path: Path, result: Result) -> None:
    """One line per person and way, so that files can be read and compared."""
    head = {**result.about, "test": result.test, "perplexity": result.perplexity}
    people = {"pairs": json.dumps(result.pairs)}
    for way, sums in result.sums.items():
        rows = [json.dumps([_number(value) for value in row]) for row in sums]
        people[way] = "[\n" + ",\n".join(rows).replace(" ", "") + "\n]"
    entries = [f'"{name}": {json.dumps(value)}' for name, value in head.items()]
    entries += [f'"{name}": {text}' for name, text in people.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_result_file(str(path), "{\n" + ",\n".join(entries) + "\n}\n")


def read_result(path: Path) -> Result:
    found = json.loads(path.read_text(encoding="utf-8"))
    sums = {way: np.array(found.pop(way), dtype=float) for way in WAYS if way in found}
    return Result(
        test=found.pop("test"),
        perplexity=found.pop("perplexity"),
        pairs=found.pop("pairs"),
        sums=sums,
        about=found,
    )


def _number(value: float) -> float:
    return int(value) if value == int(value) else round(float(value), _DIGITS)
