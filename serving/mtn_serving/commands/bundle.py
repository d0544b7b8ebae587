"""`mtn-bundle`: show a bundle, verify that it is complete, or compare two bundles."""

import argparse
import json
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError
from mtn_preprocess.files.standard_streams import standard_output

from ..bundle.folder import Bundle
from ..bundle.manifest import foreign_files
from ..bundle.model_card import model_card
from ..optional_imports import needed_for
from ..suggester import Suggester
from .bundle_scores import AT, FIGURES, score_text

_say = notes_of("mtn-bundle")


def show(folder: str, as_json: bool) -> List[str]:
    """The manifest as JSON, or the model card with version and size."""
    bundle = Bundle.open(folder, verify=False)
    if as_json:
        return [json.dumps(bundle.manifest, indent=2, ensure_ascii=False)]
    size = sum(file["bytes"] for file in bundle.manifest["files"].values())
    files = f"{len(bundle.manifest['files'])} files, {size / 1e6:.1f} MB"
    return [model_card(bundle.manifest).rstrip("\n"), "", f"Version {bundle.version}, {files}."]


def verify(folder: str) -> List[str]:
    """Read every byte, and load all parts once, as for suggestions."""
    bundle = Bundle.open(folder, verify=True)
    foreign = foreign_files(bundle.folder, bundle.manifest)
    if foreign:
        reason = f"holds {foreign[0]}, which mtn-export did not write"
        raise InputError(reason, "move it elsewhere", folder)
    Suggester.load(folder)
    return [f"{folder}: version {bundle.version}, all {len(bundle.manifest['files'])} files whole"]


def short_names(old: str, new: str) -> Tuple[str, str]:
    """The shortest ends of two paths that differ."""
    parts = [Path(each).parts for each in (old, new)]
    for length in range(1, max(map(len, parts)) + 1):
        names = [Path(*each[-length:]).as_posix() for each in parts]
        if names[0] != names[1]:
            return names[0], names[1]
    return old, new


def compare_bundles(old: str, new: str, test: str) -> List[str]:
    """The figures of both on a text, and their difference with interval and p."""
    with needed_for("comparing", "pip install 'sacrebleu>=2.0'"):
        from mtn_evaluation.paired_bootstrap import CONFIDENCE, compare

    scored = [score_text(Suggester.load(each, verify=True), test, _say) for each in (old, new)]
    (differences,) = compare(scored[0].rows, [scored[1].rows], AT, people=scored[0].people)
    before, after = (each.figures() for each in scored)
    unit = "pairs" if scored[0].people is None else "people"
    lines = [
        f"{len(scored[0].rows):,} pairs of {test}; intervals of {CONFIDENCE} %, drawn by {unit}",
        "",
        f"| figure | {' | '.join(short_names(old, new))} | difference | interval | p |",
        "|---|---|---|---|---|---|",
    ]
    for each in differences:
        if each.figure in FIGURES:
            name = each.figure
            interval = f"{each.low:+.2f} to {each.high:+.2f}"
            lines.append(
                f"| {name} | {before[name]:.2f} | {after[name]:.2f} | {each.difference:+.2f} "
                f"| {interval} | {each.p:.3f} |"
            )
    return lines


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = CommandParser(
        prog="mtn-bundle",
        description="What is in a bundle of mtn-export, whether it is complete, and which of two "
        "is better.",
        epilog="Example: mtn-bundle compare old-bundle new-bundle --test text/test",
    )
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION", parser_class=argparse.ArgumentParser
    )
    _add_show(actions)
    _add_verify(actions)
    _add_compare(actions)
    args = parser.parse_args(argv)
    if args.action == "show":
        lines = show(args.bundle, args.json)
    elif args.action == "verify":
        lines = verify(args.bundle)
    else:
        lines = compare_bundles(args.old, args.new, args.test)
    with standard_output() as out:
        out.write("\n".join(lines) + "\n")


def _add_show(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = actions.add_parser(
        "show",
        help="print what is in a bundle",
        description="Print the model card of a bundle, its version, and its number of files and "
        "size. The checksums of the counts, which may be large, are compared only by verify.",
    ).add_argument
    add("bundle", help="folder of mtn-export")
    add("--json", action="store_true", help="print the whole manifest instead, as JSON")


def _add_verify(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = actions.add_parser(
        "verify",
        help="read all of a bundle and compare checksums",
        description="Read every file of a bundle, compare its checksum with the manifest, and load "
        "all parts once, as for suggesting. Files that mtn-export did not write are an error.",
    ).add_argument
    add("bundle", help="folder of mtn-export")


def _add_compare(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    add = actions.add_parser(
        "compare",
        help="score two bundles on a text, with intervals",
        description="Score the lists of two bundles on a test text, and print each figure of both "
        "with the difference, its interval and p, by paired bootstrap (of people where PREFIX.user "
        "exists, else of pairs).",
    ).add_argument
    add("old", help="bundle to compare with")
    add("new", help="bundle whose difference from the old one is printed")
    add(
        "--test",
        required=True,
        metavar="PREFIX",
        help="the test text: PREFIX.session, PREFIX.next",
    )


if __name__ == "__main__":
    main()
