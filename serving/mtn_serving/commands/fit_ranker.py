"""`mtn-fit-ranker`: fit a ranker on validation text, and report the benefit of each source."""

from collections import Counter
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from mtn_evaluation.people import people_of
from mtn_evaluation.suggestion_scores import score_lists
from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.commands.time_left import TimeLeft
from mtn_preprocess.errors import InputError
from mtn_preprocess.files.standard_streams import standard_output
from mtn_preprocess.text.session_pairs import Pair, read_pairs_in_words

from ..candidates import FIELD_OF
from ..completion.ranker import CompletionRanker
from ..fitting import (
    AT,
    FOLDS,
    SEED,
    Fitted,
    Lists,
    cross_validated_lists,
    fit_ranker,
    lists_in_order_of_sources,
)
from ..kept_folder import check_output
from ..ranker import KIND, import_lightgbm
from ..suggester import Described, Suggester
from .fit_completion import run_completion
from .personal_pairs import PersonalPairs
from .suggester_flags import add_suggester_flags, say_held_back, suggester_of

FIGURES = ("exact", "hit@3", f"hit@{AT}", f"mrr@{AT}")
MIN_PAIRS = 1000  # below, what a source brings is mostly chance
KNOWN, STRANGERS = "with their past", "as strangers"

_say = notes_of("mtn-fit-ranker")


def run(
    suggester: Suggester, valid: str, output: str, seed: int, use_history: bool = True
) -> List[str]:
    """Write the ranker; return the lines of its report.

    If people have a history, each pair is learned twice, with and without it: the ranker is for
    known people and for strangers.
    """
    suggester.check_text(valid)
    known = PersonalPairs(valid, use_history, suggester.model_reads, _say)
    pairs = known.pairs
    people = _people(valid, pairs)
    groups = {STRANGERS: PersonalPairs(valid, False, suggester.model_reads, _say)}
    if known.with_history:
        groups = {KNOWN: known, **groups}
    described = _describe(suggester, list(groups.values()))
    if not any(each.candidates for each in described):
        raise InputError("no candidates for any pair", "add a model, or counts of more text", valid)
    fitted = fit_ranker(
        described,
        [pair.next_query for pair in pairs] * len(groups),
        people * len(groups),
        suggester.conditions._replace(history=known.with_history > 0),
        seed=seed,
        progress=TimeLeft(_say),
    )
    fitted.ranker.save(Path(output))
    _say(f"{output} is fitted on {len(pairs):,} pairs")
    lines: List[str] = []
    for number, name in enumerate(groups):
        of_group = range(number * len(pairs), (number + 1) * len(pairs))
        lines += report(fitted, name, of_group, [pair.next_query for pair in pairs])
    return lines


def _people(valid: str, pairs: Sequence[Pair]) -> List[int]:
    """The person of each pair; if people are not known, each session counts as a person."""
    found = people_of(valid, len(pairs))
    people = session_numbers(pairs) if found is None else found
    if len(set(people)) < FOLDS:
        kind = "sessions" if found is None else "people"
        raise InputError(
            f"only {len(set(people))} {kind}", f"a ranker needs at least {FOLDS}", valid
        )
    return people


def _describe(suggester: Suggester, groups: Sequence[PersonalPairs]) -> List[Described]:
    progress = TimeLeft(_say)
    described: List[Described] = []
    held_back: Counter[str] = Counter()
    for group in groups:
        for batch in group.batches():
            described += suggester.describe([each.line for each in batch], held_back=held_back)
            progress("pairs", len(described), sum(len(each.pairs) for each in groups))
    say_held_back(held_back, _say)
    return described


def session_numbers(pairs: Sequence[Pair]) -> List[int]:
    """The session of each pair; pairs of one session are contiguous, shortest prefix first."""
    numbers: List[int] = []
    before = 0
    for pair in pairs:
        length = len(pair.queries())
        numbers.append((numbers[-1] if numbers else -1) + (length <= before or not numbers))
        before = length
    return numbers


def report(
    fitted: Fitted, name: str, pairs: Sequence[int], next_queries: Sequence[str]
) -> List[str]:
    """Scores with all sources and without each, cross-validated by person.

    Args:
        name: of the group of pairs
        pairs: their numbers
    """
    sources = fitted.ranker.conditions.sources
    used = [source for source in sources if _brings_any(fitted, source, pairs)]
    parts = used if len(used) > 1 else []
    systems: Dict[str, Lists] = {
        "no ranker": lists_in_order_of_sources(fitted, pairs),
        "ranker": cross_validated_lists(fitted, pairs),
        **{
            f"… without {source}": cross_validated_lists(fitted, pairs, [source])
            for source in parts
        },
    }
    lines = [f"{name:20}" + "".join(f"{figure:>9}" for figure in FIGURES)]
    found = {system: score_lists(lists, next_queries, (3, AT)) for system, lists in systems.items()}
    for system, figures in found.items():
        lines.append(f"{system:20}" + "".join(f"{figures[figure]:9.2f}" for figure in FIGURES))
    mrr = {source: found[f"… without {source}"][f"mrr@{AT}"] for source in parts}
    return [
        *lines,
        *what_the_ranker_loses(found["ranker"], found["no ranker"]),
        *what_helped(found["ranker"][f"mrr@{AT}"], mrr, len(pairs)),
    ]


def _brings_any(fitted: Fitted, source: str, pairs: Sequence[int]) -> bool:
    """Whether a source has any candidate: strangers have no history."""
    field = FIELD_OF[source]
    of_group = (fitted.examples.pairs[pair] for pair in pairs)
    return any(getattr(each, field) is not None for pair in of_group for each in pair)


def what_the_ranker_loses(ranked: Dict[str, float], in_turn: Dict[str, float]) -> List[str]:
    """A sentence for each figure that is lower with the ranker than without it.

    Args:
        ranked, in_turn: figures with and without the ranker
    """
    mrr, hit = f"mrr@{AT}", f"hit@{AT}"
    found = []
    if ranked[mrr] < in_turn[mrr]:
        found.append(
            f"The ranker does not help: {mrr} is {ranked[mrr]:.2f} with it and {in_turn[mrr]:.2f} "
            "without. Leave it out, or fit it on more pairs, of text that neither model nor counts "
            "know."
        )
    if ranked[hit] < in_turn[hit]:
        found.append(
            f"{hit} is lower with the ranker, {ranked[hit]:.2f} and {in_turn[hit]:.2f}: its lists "
            "leave out what is unrelated to the session. Compare them with --unrelated."
        )
    return found


def what_helped(whole: float, without: Dict[str, float], pairs: int) -> List[str]:
    """A sentence about which sources helped, if there are several.

    Args:
        whole: MRR with all sources
        without: MRR without each source
        pairs: number of pairs behind these figures
    """
    if not without:
        return []
    if pairs < MIN_PAIRS:
        return [f"Too few pairs to judge sources: {pairs:,} of {MIN_PAIRS:,}."]
    useless = [source for source, rest in without.items() if round(whole - rest, 2) <= 0]
    if not useless:
        return [f"Every source helps: without any of them, mrr@{AT} is lower."]
    one = "it" if len(useless) == 1 else "any one of them"
    return [
        f"{', '.join(useless)} did not help: without {one}, mrr@{AT} is no lower; try "
        + " or ".join(f"--without {source}" for source in useless)
    ]


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = CommandParser(
        prog="mtn-fit-ranker",
        description="Fit a ranker for mtn-suggest on validation text, and print what it and each "
        "source bring there, by cross-validation.",
        epilog="Example: mtn-fit-ranker --model checkpoints/checkpoint_best.pt --data data-bin "
        "--counts next-queries --valid text/valid --output ranker",
    )
    add_suggester_flags(parser)
    add = parser.add_argument
    add(
        "--valid",
        required=True,
        metavar="PREFIX",
        help="pairs that neither model nor counts know; PREFIX.history, where it exists, is what "
        "the same people asked before, and PREFIX.user has the person of each pair",
    )
    add("--output", required=True, metavar="FOLDER", help="the ranker; an older one is replaced")
    add("--seed", type=int, default=SEED, help="default: %(default)s")
    add(
        "--completion",
        action="store_true",
        help="fit a ranker of completions for mtn-complete, on prefixes cut from the next queries",
    )
    add(
        "--bundle",
        metavar="FOLDER",
        help="of mtn-export, in the place of --model, --data and --counts; for --completion, its "
        "model completes, too, which a checkpoint cannot",
    )
    args = parser.parse_args(argv)
    import_lightgbm()  # a missing library is reported before the work, not after it
    check_output(Path(args.output), CompletionRanker.kind if args.completion else KIND)
    suggester = suggester_of(parser, args, bundle=args.bundle)
    use_history = not args.no_history
    if args.completion:
        people = _people(args.valid, list(read_pairs_in_words(args.valid)))
        lines = run_completion(suggester, args.valid, args.output, people, args.seed, use_history)
    else:
        lines = run(suggester, args.valid, args.output, args.seed, use_history)
    with standard_output() as out:
        out.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
