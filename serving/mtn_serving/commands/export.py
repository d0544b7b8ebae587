"""`mtn-export`: a model, counts, a ranker and display rules -> one folder that can be served."""

import argparse
import logging
from functools import partial
from pathlib import Path
from typing import Any, Collection, Dict, Optional, Sequence

from mtn_preprocess.commands.flag_types import at_least_1
from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.files.whole_folder import scratch

from ..bundle.folder import COMPLETION, COUNTS, MODEL, RANKER, SAMPLES, Bundle
from ..bundle.model_card import LOSSES
from ..bundle.parts import add_counts, add_model, add_ranker, add_samples
from ..bundle.same_log import LEAST_KNOWN
from ..bundle.trained_on import prepared_text, training_pairs
from ..bundle.writing import (
    SCORES,
    AddPart,
    Facts,
    check_place,
    update_bundle,
    write_bundle,
)
from ..completion.ranker import CompletionRanker
from ..display_rules import DEFAULT, DisplayRules, read_rules
from ..suggester import Suggester
from .bundle_scores import MAX_LOSS, losses_of, score_text
from .suggester_flags import add_display_flags

_say = notes_of("mtn-export")


def export(args: argparse.Namespace) -> None:
    output = Path(args.output)
    check_place(output)
    rules = _rules(args, DEFAULT)
    trained_on = _trained_on(args)
    facts = {"trained_on": trained_on} if trained_on else {}
    bundle = write_bundle(output, _parts(args), rules, facts, partial(_scores, args))
    _say(f"{output} is written, version {bundle.version}: {', '.join(bundle.parts)}")
    say_order(bundle.parts)
    say_what_is_odd(bundle.manifest)


def say_order(parts: Collection[str]) -> None:
    if MODEL in parts and COUNTS in parts and RANKER not in parts:
        _say(
            "there is no ranker, so lists begin with what people asked next, and the model comes "
            "after it; to let both compete, fit one with mtn-fit-ranker and give --ranker"
        )


def update(args: argparse.Namespace) -> None:
    folder = Path(args.update)
    old = Bundle.open(folder)
    rules = _rules(args, DEFAULT if args.default_rules else old.rules())
    bundle = update_bundle(folder, _parts(args), rules, partial(_scores, args))
    if SCORES in old.manifest and SCORES not in bundle.manifest:
        _say("its scores were those of the old parts, and are left out: give --test for new ones")
    _say(f"{folder} was version {old.version} and is version {bundle.version}")
    say_what_is_odd(bundle.manifest)


def say_what_is_odd(manifest: Facts) -> None:
    """Warn if parts may be of different logs; report samples that were left out."""
    known = manifest.get(COUNTS, {}).get("words_known_to_model")
    if known is not None and known < LEAST_KNOWN:
        _say(
            f"warning: the model knows {100 * known:.0f} % of the words that people ask most, by "
            "the counts; is it of another log? Give --counts of the text that it was trained on"
        )
    found = manifest.get(SAMPLES)
    if found and found["left_out"]:
        reasons = ", ".join(f"{reason} {number}" for reason, number in found["left_out"].items())
        _say(f"{found['sessions']} samples are kept; left out, as they may not be shown: {reasons}")


def _parts(args: argparse.Namespace) -> Dict[str, AddPart]:
    parts: Dict[str, AddPart] = {}
    if args.checkpoint is not None:
        parts[MODEL] = partial(_add_model, args)
    if args.counts is not None:
        parts[COUNTS] = partial(add_counts, Path(args.counts))
    if args.ranker is not None:
        parts[RANKER] = partial(add_ranker, Path(args.ranker))
    if args.completion_ranker is not None:
        parts[COMPLETION] = partial(add_ranker, Path(args.completion_ranker), kind=CompletionRanker)
    if args.samples is not None:
        parts[SAMPLES] = partial(add_samples, Path(args.samples))
    return parts


def _add_model(args: argparse.Namespace, folder: Path) -> Facts:
    _say(f"exporting {args.checkpoint}")
    # fairseq logs what it loads; that is of no interest here.
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    return add_model(Path(args.checkpoint), Path(args.data), folder, args.int8, args.shortlist)


def _rules(args: argparse.Namespace, base: DisplayRules) -> DisplayRules:
    return read_rules(args.min_users, args.block_list, args.explicit, args.personal_data, base)


def _trained_on(args: argparse.Namespace) -> Dict[str, Any]:
    pairs = {} if args.data is None else training_pairs(Path(args.data))
    text = args.test or args.valid
    prepared = {} if text is None else prepared_text(Path(text).parent)
    return {**pairs, **({"text": prepared} if prepared else {})}


def _scores(args: argparse.Namespace, suggester: Suggester) -> Facts:
    """Scores for the manifest; a summary is printed."""
    found: Facts = {}
    if args.test is not None:
        found[SCORES] = scores = score_text(suggester, args.test, _say).facts()
        shown = ", ".join(f"{name} {value:.2f}" for name, value in scores["lists"].items())
        _say(f"{scores['pairs']:,} pairs of {args.test}: {shown}")
    text = args.valid or args.test
    what = _faster_by(args)
    if what and text is None:
        _say(f"what {what} loses is not measured: give --valid or --test")
    elif what:
        found[LOSSES[what]] = _losses(args, what, suggester, text)
    return found


def _faster_by(args: argparse.Namespace) -> str:
    """The key of LOSSES; empty for the unchanged model."""
    flags = {"int8": args.int8, "shortlist": args.shortlist}
    return " with ".join(name for name, given in flags.items() if given)


def _losses(args: argparse.Namespace, what: str, suggester: Suggester, text: str) -> Facts:
    from ..onnx_engine.exported_model import ExportedModel

    with scratch(Path(args.output).absolute().parent, Path(args.output)) as folder:
        add_model(Path(args.checkpoint), Path(args.data), folder / MODEL, int8=False)
        exact = ExportedModel.load(folder / MODEL)
        found = losses_of(what, suggester, exact, text, _say)
    remedy = "--int8, or train longer" if what == "int8" else "--shortlist, or make it larger"
    for name, of_figures in found.items():
        shown = ", ".join(f"{figure} {loss:+.2f} %" for figure, loss in of_figures.items())
        _say(f"{what} loses, {name}: {shown}")
        if max(of_figures.values()) > MAX_LOSS:
            _say(f"warning: more than {MAX_LOSS:.0f} %; leave out {remedy}")
    return {name: _rounded(of_figures) for name, of_figures in found.items()}


def _rounded(figures: Dict[str, float]) -> Dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = CommandParser(
        prog="mtn-export",
        description="Write one folder with all that suggestions are made from. Where it is served, "
        "neither torch nor fairseq is needed.",
        epilog="Example: mtn-export --checkpoint checkpoints/checkpoint_best.pt --data data-bin "
        "--counts next-queries --ranker ranker --test text/test --output my-bundle",
    )
    add = parser.add_argument
    add("--output", metavar="FOLDER", help="the bundle; an older one is replaced")
    add(
        "--update",
        metavar="FOLDER",
        help="an existing bundle: replace only the given parts and rules",
    )
    add(
        "--checkpoint",
        metavar="FILE",
        help="checkpoint of fairseq-train (mtn or transformer_session)",
    )
    add("--data", metavar="FOLDER", help="binarised data it was trained on, for its dictionary")
    add("--int8", action="store_true", help="store weights in 8 bits: smaller and faster")
    add(
        "--shortlist",
        type=at_least_1,
        default=0,
        metavar="N",
        help="the beam can say the N most frequent words only, and copy others: faster with a "
        "large dictionary (default: all words)",
    )
    add("--counts", metavar="FOLDER", help="of mtn-count-next")
    add("--ranker", metavar="FOLDER", help="of mtn-fit-ranker, fitted with these parts")
    add("--completion-ranker", metavar="FOLDER", help="of mtn-fit-ranker --completion")
    add(
        "--samples",
        metavar="FILE",
        help="sessions to click on the page, one per line: 'london hotels <q> paris'; made up, not "
        "of real people (default: none; an empty file removes those of --update)",
    )
    add("--test", metavar="PREFIX", help="score the lists on this text, for the manifest")
    add("--valid", metavar="PREFIX", help="text to measure the loss by --int8 and --shortlist")
    add(
        "--default-rules",
        action="store_true",
        help="with --update: begin with the default display rules, not with those of the bundle",
    )
    add_display_flags(parser)
    args = parser.parse_args(argv)
    _check(parser, args)
    if args.update is not None:
        update(args)
    else:
        export(args)


def _check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    if (args.output is None) == (args.update is None):
        parser.error("give --output for a new bundle, or --update for one that is there")
    if (args.checkpoint is None) != (args.data is None):
        parser.error("a model is its checkpoint and the folder of its dictionary: give both")
    for flag, given in (("--int8", args.int8), ("--shortlist", args.shortlist)):
        if given and args.checkpoint is None:
            parser.error(f"{flag} is for a model: give --checkpoint and --data")
    if args.update is not None and args.checkpoint is not None:
        parser.error("--update leaves the model as it is: give --output for another model")
    if args.update is not None and not _changes(args):
        parser.error("nothing to update: give a part, --samples, display rules or --test")
    if args.update is None and args.default_rules:
        parser.error("--default-rules is for --update")
    if args.update is None and args.checkpoint is None and args.counts is None:
        parser.error("nothing to suggest from: give --checkpoint and --data, or --counts, or all")


def _changes(args: argparse.Namespace) -> bool:
    """Whether the flags update anything."""
    parts = (args.counts, args.ranker, args.completion_ranker, args.samples, args.test)
    rules = (args.min_users, args.block_list, args.explicit, args.personal_data)
    return args.default_rules or any(each is not None for each in (*parts, *rules))


if __name__ == "__main__":
    main()
