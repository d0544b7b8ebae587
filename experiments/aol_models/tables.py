#!/usr/bin/env python3
"""Tables of all results, and differences with intervals from paired bootstrap over people.

    python experiments/aol_models/tables.py > experiments/aol_models/results/tables.md
    python experiments/aol_models/tables.py --readme    # the two tables of README.md

Figures are means over the seeds of each row. Differences use the seeds that both rows have. The
tables of widths are of validation data.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple

import numpy as np
from results import AT, RESULTS, WIDTHS, Result, read_result, rows_of_people

from mtn_evaluation.paired_bootstrap import Difference, compare
from mtn_evaluation.suggestion_scores import figures
from mtn_preprocess.errors import InputError

LABELS = {
    "echo": "echo",
    "last": "`last`: count, else echo",
    "pecos": "PECOS (XR-Linear)",
    "seq2seq": "Seq2Seq with attention",
    "hlstm": "hierarchical LSTM",
    "mnsrf": "M-NSRF",
    "transformer": "Transformer 3 + 2",
    "mtn": "**MTN 2Q 1S + 2**",
    "seq2seq-copying": "Seq2Seq, copying",
    "transformer-copying": "Transformer 3 + 2, copying",
    "mtn-copying": "**MTN, copying**",
    "mtn-history-copying": "MTN, copying, history as one long session",
    "mtn-3level-copying": "**MTN, three levels, copying**",
    "mtn-history-copying-longer": "MTN, copying, history as one long session, equal updates",
    "mtn-3level-copying-longer": "**MTN, three levels, copying, equal updates**",
}
RECURRENT = ("seq2seq", "hlstm", "mnsrf")
WAYS = {"raw": "raw text", "unk": "the paper's way"}
COMPARED = ("bleu", "1-gram", "2-gram", "3-gram", "4-gram", "exact", "mrr@10")
TITLES = {"bleu": "BLEU", "mrr@10": "MRR@10"}
WIDTH = 128  # of the table of models
IN_README = {
    "user": "strangers (`user`)",
    "session": "known people (`session`)",
    "user-all": "strangers (`user-all`)",
    "session-all": "known people (`session-all`)",
}

Runs = Dict[int, Result]  # by seed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--readme", action="store_true", help="print only the tables of README.md")
    if parser.parse_args().readme:
        for data, title in IN_README.items():
            if (RESULTS / data).is_dir():
                print("\n".join(readme_table(title, read_folder(data))), end="\n\n")
        return
    for folder in sorted(RESULTS.iterdir(), reverse=True):
        if folder.is_dir():
            systems = read_folder(folder.name)
            print(f"## {folder.name}\n")
            print("\n".join(score_table(systems)), end="\n\n")
            print("\n".join(difference_table(systems)), end="\n\n")
    for folder in sorted(WIDTHS.glob("*")):
        print(f"## Widths, validation data of {folder.name}\n")
        print("\n".join(width_table(read_widths(folder))), end="\n\n")


def read_folder(data: str) -> Dict[str, Runs]:
    """The results by system, in the order of LABELS, and by seed."""
    found: Dict[str, Runs] = defaultdict(dict)
    tests = set()
    for path in sorted((RESULTS / data).glob("*.json")):
        result = read_result(path)
        tests.add(result.test)
        if len(tests) > 1:
            raise InputError("another test than the files before", "remove one of them", path)
        found[result.about["system"]][result.about["seed"]] = result
    return {name: found[name] for name in LABELS if name in found}


def scores_of(result: Result, way: str) -> Dict[str, float]:
    return figures(result.sums[way].sum(axis=0), sum(result.pairs), AT)


def mean_scores(runs: Runs, way: str) -> Dict[str, float]:
    every = [scores_of(result, way) for result in runs.values()]
    return {name: float(np.mean([scores[name] for scores in every])) for name in every[0]}


def score_table(systems: Dict[str, Runs]) -> Iterator[str]:
    any_one = next(iter(next(iter(systems.values())).values()))
    yield f"{sum(any_one.pairs):,} test pairs of {len(any_one.pairs)} people; percent.\n"
    yield (
        "| | seeds | BLEU | 1/2/3/4-gram | words each | exact | hit@10 | MRR@10"
        " | perplexity | BLEU, the paper's way | 1/2/3/4-gram |"
    )
    yield "|---|---|---:|---|---:|---:|---:|---:|---:|---:|---|"
    for name, runs in systems.items():
        raw, unk = mean_scores(runs, "raw"), mean_scores(runs, "unk")
        seeds = ", ".join(str(seed) for seed in sorted(runs) if seed)
        perplexities = [run.perplexity for run in runs.values() if run.perplexity is not None]
        perplexity = f"{np.mean(perplexities):.1f}" if perplexities else ""
        cells = [LABELS[name], seeds, f"{raw['bleu']:.2f}", precisions(raw)]
        cells.append(f"{raw['length']:.1f}")
        cells += [f"{raw[figure]:.1f}" for figure in ("exact", "hit@10", "mrr@10")]
        cells += [perplexity, f"{unk['bleu']:.2f}", precisions(unk)]
        yield f"| {' | '.join(cells)} |"


def readme_table(title: str, systems: Dict[str, Runs]) -> Iterator[str]:
    """The table of scores with fewer columns."""
    lines = [line.split(" | ") for line in list(score_table(systems))[1:]]
    for number, cells in enumerate(lines):
        if number == 1:
            yield "|---|---|---:|---|---:|---:|---:|---:|---:|"
            continue
        del cells[-1], cells[4]  # n-grams the paper's way, words per suggestion
        if number == 0:
            cells[0] = f"| {title}"
        yield f"{' | '.join(cells)} |"


def precisions(scores: Dict[str, float]) -> str:
    return "/".join(f"{scores[f'{order}-gram']:.1f}" for order in (1, 2, 3, 4))


def difference_table(systems: Dict[str, Runs]) -> Iterator[str]:
    titles = [TITLES.get(figure, figure) for figure in COMPARED]
    yield f"| difference | scored | times in BLEU | {' | '.join(titles)} |"
    yield f"|---|---|---:|{'---|' * len(titles)}"
    for system, baseline in compared(systems):
        for way, label in WAYS.items():
            seeds = sorted(set(systems[system]) & set(systems[baseline]))
            one, other = ([systems[name][seed] for seed in seeds] for name in (system, baseline))
            found = {each.figure: each for each in differences(one, other, way)}
            bleu = mean_bleu(other, way)  # 0 where no 4-gram matches
            ratio = f"{mean_bleu(one, way) / bleu:.2f}" if bleu else "–"
            shown = [interval(found[figure]) for figure in COMPARED]
            pair = f"{LABELS[system]} minus {LABELS[baseline]}"
            yield f"| {pair} | {label} | {ratio} | {' | '.join(shown)} |"


def compared(systems: Dict[str, Runs]) -> List[Tuple[str, str]]:
    """MTN with the flat Transformer and the best recurrent model, with and without copying."""
    bleu = {
        name: mean_scores(systems[name], "raw")["bleu"] for name in RECURRENT if name in systems
    }
    best_recurrent = sorted(bleu, key=lambda name: -bleu[name])[:1]
    rivals = {
        "mtn": ["transformer", *best_recurrent],
        "mtn-copying": ["transformer-copying", "seq2seq-copying", "mtn", "pecos"],
        "mtn-3level-copying": ["mtn-history-copying", "mtn-copying", "pecos"],
        "mtn-history-copying": ["mtn-copying"],
        "mtn-3level-copying-longer": ["mtn-history-copying-longer", "mtn-copying", "pecos"],
        "mtn-history-copying-longer": ["mtn-copying"],
    }
    return [
        (system, rival)
        for system, against in rivals.items()
        for rival in against
        if system in systems and rival in systems and set(systems[system]) & set(systems[rival])
    ]


def read_widths(folder: Path) -> List[Result]:
    """The results of one data set, by system, seed, width and rate."""
    found = [read_result(path) for path in folder.glob("*.json")]
    if len({result.test for result in found}) > 1:
        raise InputError("results of different validation data", "remove some of them", folder)
    return sorted(
        found, key=lambda each: [each.about[name] for name in ("system", "seed", "width", "rate")]
    )


def width_table(results: Sequence[Result]) -> Iterator[str]:
    yield (
        f"{sum(results[0].pairs):,} pairs of {len(results[0].pairs)} people; percent. Differences"
        f" are those from {WIDTH} channels with the same seed, by paired bootstrap of people.\n"
    )
    yield (
        "| | channels | seed | rate | updates | CPU minutes | time of an update"
        " | perplexity | BLEU | exact | hit@10 | MRR@10 | BLEU, difference | MRR@10, difference |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|"
    usual = {
        (run.about["system"], run.about["seed"]): run
        for run in results
        if run.about["width"] == WIDTH
    }
    for result in results:
        about, scores = result.about, scores_of(result, "raw")
        cells = [LABELS[about["system"]], str(about["width"]), str(about["seed"])]
        cells.append(f"{about['rate']:g}")
        cells += [
            f"{about['updates']:,}",
            f"{about['updates'] * about['seconds per update'] / 60:.1f}",
        ]
        cells += [f"{about['cost']:.2f}", f"{result.perplexity:.1f}", f"{scores['bleu']:.2f}"]
        cells += [f"{scores[figure]:.1f}" for figure in ("exact", "hit@10", "mrr@10")]
        baseline = usual.get((about["system"], about["seed"]))
        if baseline is None or baseline is result:
            cells += ["", ""]
        else:
            found = {each.figure: each for each in differences([result], [baseline], "raw")}
            cells += [interval(found[figure]) for figure in ("bleu", "mrr@10")]
        yield f"| {' | '.join(cells)} |"


def differences(one: Sequence[Result], other: Sequence[Result], way: str) -> List[Difference]:
    """The differences of the means over seeds."""
    _, people = rows_of_people(one[0], way)
    rows = [np.stack([rows_of_people(run, way)[0] for run in runs]) for runs in (other, one)]
    return compare(rows[0], rows[1:], AT, people=people)[0]


def mean_bleu(runs: Sequence[Result], way: str) -> float:
    return float(np.mean([scores_of(run, way)["bleu"] for run in runs]))


def interval(found: Difference) -> str:
    return f"{found.difference:+.2f} ({found.low:+.2f} … {found.high:+.2f})"


if __name__ == "__main__":
    main()
