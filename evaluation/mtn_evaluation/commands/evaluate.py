"""`mtn-evaluate`: score the outputs of `fairseq-generate` and `mtn-yardstick` in the same way."""

import argparse
import json
import sys
from glob import escape, glob
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union

from mtn_preprocess.commands.flag_types import at_least_0, at_least_1
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError
from mtn_preprocess.files.result_file import check_result_file, write_result_file
from mtn_preprocess.files.standard_streams import standard_output

from ..completion import evaluate_completion
from ..evaluation import AT, System, evaluate
from ..paired_bootstrap import SAMPLES, SEED
from .completion_tables import completion_tables
from .evaluation_tables import evaluation_tables
from .named_files import files_by_name, named_file

Value = TypeVar("Value")


def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = _parser()
    args = parser.parse_args(argv)
    if args.with_unk and args.dict is None:
        parser.error("--with-unk: scores with <unk> as a token need --dict")
    if args.completion:
        _score_completions(parser, args)
        return
    systems = _systems(parser, args.system, args.perplexity, args.with_unk)
    if args.json is not None:
        check_result_file(args.json, _inputs(systems, args.test, args.train, args.dict))
    try:
        result = evaluate(
            systems,
            args.test,
            train=args.train,
            dictionary=args.dict,
            baseline=list(dict.fromkeys(args.baseline)),
            at=args.at,
            samples=args.samples,
            seed=args.seed,
            runs=_once(parser, "--runs", map(_runs, args.runs)),
            say=lambda note: print(f"mtn-evaluate: {note}", file=sys.stderr),
        )
    except OSError as error:  # no permission, name too long, …
        if error.filename is None:
            raise
        reason = f"cannot be read ({error.strerror})"
        raise InputError(reason, "check its name and permissions", error.filename) from None
    if args.json is not None:
        write_result_file(args.json, json.dumps(result, indent=2, allow_nan=False) + "\n")
    with standard_output() as out:
        for line in evaluation_tables(result):
            out.write(line + "\n")


def _score_completions(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    for flag in ("train", "dict", "runs", "perplexity", "with_unk"):
        if getattr(args, flag):
            parser.error(f"--{flag.replace('_', '-')} is not for --completion")
    files = _once(parser, "system", map(named_file, args.system))
    if args.json is not None:
        inputs = [*files.values(), *(f"{args.test}.{each}" for each in ("session", "next", "user"))]
        check_result_file(args.json, inputs)
    baselines = list(dict.fromkeys(args.baseline))
    result = evaluate_completion(files, args.test, baselines, args.samples, args.seed)
    if args.json is not None:
        write_result_file(args.json, json.dumps(result, indent=2, allow_nan=False) + "\n")
    with standard_output() as out:
        for line in completion_tables(result):
            out.write(line + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="mtn-evaluate",
        description="Score the outputs of fairseq-generate and mtn-yardstick over every pair of a "
        "test text: exact match, hit, MRR, BLEU, n-gram precisions, distinct n-grams, length; by "
        "new and returning next queries, place in the session, earlier queries, seen and unseen "
        "next queries, shared words. "
        "What each figure means: docs/evaluation.md.",
        epilog="Example: mtn-evaluate echo=echo.log mtn=generate.log --test text/test "
        "--train text/train --dict data-bin/dict.next.txt --baseline echo --json scores.json",
    )
    add = parser.add_argument
    add(
        "system",
        nargs="+",
        metavar="NAME=FILE",
        help="all that fairseq-generate or mtn-yardstick printed, or the folder of --results-path; "
        "`-` for standard input; the same NAME again for a further shard",
    )
    add(
        "--test", required=True, metavar="PREFIX", help="the test text: PREFIX.session, PREFIX.next"
    )
    add("--train", metavar="PREFIX", help="training text, to separate seen and unseen next queries")
    add("--dict", metavar="FILE", help="dict.next.txt: also score with <unk> as a token")
    add(
        "--baseline",
        action="append",
        default=[],
        metavar="NAME",
        help="compare all others with it, by paired bootstrap (of people where PREFIX.user of "
        "--test exists, else of pairs); may be given several times",
    )
    add(
        "--runs",
        action="append",
        default=[],
        metavar="NAME=RUN,RUN",
        help="runs of one system (such as different seeds): compare the means of their figures "
        "under this name, which --baseline accepts",
    )
    add(
        "--perplexity",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="output of fairseq-generate --score-reference by the model of this system",
    )
    add(
        "--with-unk",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="output of this system with --generate-unknown, for the scores with <unk> as a token",
    )
    add(
        "--at",
        type=ranks,
        default=list(AT),
        metavar="K,K",
        help="ranks for hit@K and MRR@K; of MRR, the largest is printed, the others are in --json "
        f"(default: {','.join(map(str, AT))})",
    )
    add(
        "--completion",
        action="store_true",
        help="score outputs of mtn-complete: MRR@10, hit@10 and saved keystrokes by number of "
        "characters typed (docs/completion.md)",
    )
    add(
        "--samples",
        type=at_least_1,
        default=SAMPLES,
        metavar="N",
        help="bootstrap samples (default: %(default)s)",
    )
    add("--seed", type=at_least_0, default=SEED, help="of the bootstrap (default: %(default)s)")
    add("--json", metavar="FILE", help="also write all figures as JSON")
    return parser


def _systems(
    parser: argparse.ArgumentParser,
    systems: Sequence[str],
    perplexities: Sequence[str],
    with_unk: Sequence[str],
) -> List[System]:
    files = files_by_name(systems)
    further = {"--perplexity": perplexities, "--with-unk": with_unk}
    of_flag = {flag: _once(parser, flag, map(named_file, given)) for flag, given in further.items()}
    for flag, of_name in of_flag.items():
        for name in of_name:
            if name not in files:
                parser.error(f"{flag} {name}=…: no system {name!r}, only {', '.join(files)}")
    return [
        System(name, paths, *(of_name.get(name) for of_name in of_flag.values()))
        for name, paths in files.items()
    ]


def _logs(systems: Sequence[System]) -> List[str]:
    given = [[*system.files, system.perplexity, system.with_unk] for system in systems]
    return [path for paths in given for path in paths if path is not None]


def _inputs(
    systems: Sequence[System], test: str, train: Optional[str], dictionary: Optional[str]
) -> Iterator[Union[str, int]]:
    """All files that may be read: paths, and 0 for standard input."""
    for path in _logs(systems):
        yield 0 if path == "-" else path
        yield from glob(f"{escape(path)}/generate-*.txt")  # if the path is a folder
    for prefix in (test, train):
        yield from (
            f"{prefix}.{ending}" for ending in ("session", "next", "whole", "user") if prefix
        )
    if dictionary is not None:
        yield dictionary


def _runs(given: str) -> Tuple[str, List[str]]:
    name, _, runs = given.partition("=")
    if not name or not all(runs.split(",")):
        raise InputError(f"--runs {given!r}", "write NAME=RUN,RUN")
    return name, runs.split(",")


def _once(
    parser: argparse.ArgumentParser, flag: str, given: Iterable[Tuple[str, Value]]
) -> Dict[str, Value]:
    found: Dict[str, Value] = {}
    for name, value in given:
        if name in found:
            parser.error(f"{flag} {name}=… twice; of several parts, make one file")
        found[name] = value
    return found


def ranks(text: str) -> List[int]:
    return sorted(set(map(at_least_1, text.split(","))))


if __name__ == "__main__":
    main()
