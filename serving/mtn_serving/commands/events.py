"""`mtn-events`: click-through rates of served bundles, with intervals."""

from pathlib import Path
from typing import List, Optional, Sequence

from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.files.standard_streams import standard_output

from ..service.click_rates import Group, Rate, Summary, difference, summarise

_say = notes_of("mtn-events")
_HEAD = "| application | bundle | version | sessions | lists | clicked | rate | 95 % |"


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = CommandParser(
        prog="mtn-events",
        description="Click-through rates of the bundles that mtn-serve --events served, with 95 % "
        "intervals that allow for several lists per session.",
        epilog="Example: mtn-events events",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="of mtn-serve --events")
    summary = summarise(parser.parse_args(argv).folder)
    with standard_output() as out:
        out.write("\n".join([*table(summary), *comparisons(summary), ""]))
    for reason, lines in sorted(summary.left_out.items()):
        _say(f"{lines:,} left out: {reason}")


def table(summary: Summary) -> List[str]:
    rows = [
        f"| {' | '.join(group)} | {rate.sessions:,} | {rate.shown:,} | {rate.clicked:,} "
        f"| {rate.rate:.2%} | {rate.low:.2%} to {rate.high:.2%} |"
        for group, rate in summary.rates.items()
    ]
    return [_HEAD, "|---|---|---|---|---|---|---|---|", *rows]


def comparisons(summary: Summary) -> List[str]:
    """Compare each challenger with each champion, because the newest pair is not known."""
    lines = []
    for group, rate in summary.rates.items():
        for other, other_rate in summary.rates.items():
            same = group.application == other.application
            if same and (group.arm, other.arm) == ("challenger", "champion"):
                lines.append(_comparison(group, rate, other, other_rate))
    return ["", *lines] if lines else []


def _comparison(group: Group, rate: Rate, other: Group, other_rate: Rate) -> str:
    between, low, high = (100 * value for value in difference(rate, other_rate))
    verdict = "no clear difference" if low <= 0 <= high else "better" if low > 0 else "worse"
    return (
        f"{group.application} challenger {group.version} less champion {other.version}: "
        f"{between:+.2f} points ({low:+.2f} to {high:+.2f}): {verdict}"
    )


if __name__ == "__main__":
    main()
