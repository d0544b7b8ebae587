"""From raw search logs in AOL's format to the session text that fairseq-preprocess binarises.

    python preprocess/log_to_sessions.py LOG [LOG …] --output FOLDER

writes, for each split, FOLDER/train.session (queries so far), train.next (the next query), line by
line; train.whole (each training session once, for the dictionary); and stats.json, the printed
table. The rules stand in session_rules.py. The whole log is held in memory, some 250 bytes a row.
"""

import argparse
import json
from collections import Counter, defaultdict
from dataclasses import asdict, fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import IO, Callable, Dict, List, Optional, Sequence, Set, Tuple

from aol_log import LogReader
from output_folder import check_output, written_whole
from session_rules import (
    CLICK,
    RULES,
    SPLITS,
    Issued,
    Rules,
    Session,
    find_sessions,
    read_query,
    split_of,
    unroll,
)

from mtn_fairseq.data.session_text import join_units
from mtn_fairseq.errors import InputError

Placed = Tuple[Session, Sequence[Session]]  # a session and those in front of it


def queries_by_user(reader: LogReader, counts: Counter) -> Dict[str, Set[Issued]]:
    """What each user asked and when, each query once."""
    users: Dict[str, Set[Issued]] = defaultdict(set)
    for row in reader:
        query, removed_by = read_query(row.query)
        if not removed_by and (row.time, query) in users[row.user]:
            removed_by = CLICK
        if removed_by:
            counts[removed_by] += 1
        else:
            users[row.user].add((row.time, query))
    return users


def place_sessions(
    users: Dict[str, Set[Issued]], rules: Rules, counts: Counter
) -> Dict[str, List[Placed]]:
    """The sessions of each split by user and start, with the user's `history` sessions before them.

    A history is what was known at the time, whatever split its sessions went to: a test session may
    have training sessions in front of it and the reverse, but only as context, never as a target.
    Who wants no overlap splits by user.
    """
    splits: Dict[str, List[Placed]] = {
        name: [] for name, share in zip(SPLITS, rules.split) if share
    }
    for user in sorted(users):
        sessions = find_sessions(user, users[user], rules, counts)
        for i, session in enumerate(sessions):
            earlier = sessions[max(0, i - rules.history) : i]
            splits[split_of(session, rules)].append((session, earlier))
    return splits


def statistics(
    reader: LogReader, rules: Rules, counts: Counter, splits: Dict[str, List[Placed]]
) -> dict:
    """What was read, removed by each rule and kept, as one JSON object."""
    per_split = {}
    for name, placed in splits.items():
        queries = sum(len(session.queries) for session, _ in placed)
        per_split[name] = {
            "sessions": len(placed),
            "queries": queries,
            "pairs": queries - len(placed),
        }
    return {
        "rules": {**asdict(rules), "split": list(map(float, rules.split))},
        "lines": {"read": reader.lines, "header": reader.headers, "malformed": dict(reader.faults)},
        "rows": {
            "read": reader.rows,
            "removed": {rule: counts[rule] for rule in RULES},
            "kept": sum(split["queries"] for split in per_split.values()),
        },
        "sessions": {
            "found": counts["sessions"],
            "too few queries": counts["short sessions"],
            "too many queries": counts["long sessions"],
            "kept": sum(split["sessions"] for split in per_split.values()),
        },
        "splits": per_split,
    }


def table(stats: dict) -> str:
    """The statistics for reading."""
    lines, rows, sessions = stats["lines"], stats["rows"], stats["sessions"]
    counted = [
        ("lines read", lines["read"]),
        ("- header lines", lines["header"]),
        *((f"- malformed: {fault}", number) for fault, number in lines["malformed"].items()),
        ("rows read", rows["read"]),
        *((f"- {rule}", number) for rule, number in rows["removed"].items()),
        ("queries kept", rows["kept"]),
        ("sessions found", sessions["found"]),
        ("- of too few queries", sessions["too few queries"]),
        ("- of too many queries", sessions["too many queries"]),
        ("sessions kept", sessions["kept"]),
    ]
    text = [f"{name:<38}{number:>12,}" for name, number in counted]
    text += ["", f"{'split':<14}{'sessions':>12}{'queries':>12}{'pairs':>12}"]
    for name, split in stats["splits"].items():
        text.append(f"{name:<14}" + "".join(f"{number:>12,}" for number in split.values()))
    return "\n".join(text)


def refuse_empty(splits: Dict[str, List[Placed]]) -> None:
    """A split without sessions cannot be binarised; better said here."""
    if not any(splits.values()):
        raise InputError(
            "no session is left under these rules",
            "check the log, or relax --min-queries, --max-queries or --max-query-tokens",
        )
    for name, placed in splits.items():
        if not placed:
            raise InputError(
                f"no session falls into the {name} split",
                "take a longer log, or another --split or --seed (--split 100,0,0 is train alone)",
            )


def write_texts(folder: Path, splits: Dict[str, List[Placed]]) -> None:
    for name, placed in splits.items():
        with _new(folder / f"{name}.session") as sources, _new(folder / f"{name}.next") as targets:
            for session, earlier in placed:
                for source, target in unroll(session, earlier):
                    sources.write(f"{source}\n")
                    targets.write(f"{target}\n")
    if "train" in splits:  # without the history: a dictionary counts each query once
        with _new(folder / "train.whole") as whole:
            whole.writelines(f"{join_units(s.queries, 1)}\n" for s, _ in splits["train"])


def _new(path: Path) -> IO[str]:
    return open(path, "w", encoding="utf-8", newline="\n")


OUR_FILES = {f"{split}.{end}" for split in SPLITS for end in ("session", "next")}
OUR_FILES |= {"train.whole", "stats.json"}


def prepare(
    logs: List[Path], output: Path, rules: Rules, strict: bool = False, overwrite: bool = False
) -> dict:
    """Read the logs, write the folder, return the statistics."""
    check_output(output, OUR_FILES, overwrite)  # before the long part
    counts: Counter = Counter()
    reader = LogReader(logs, strict)
    splits = place_sessions(queries_by_user(reader, counts), rules, counts)
    refuse_empty(splits)
    stats = statistics(reader, rules, counts, splits)
    with written_whole(output, OUR_FILES, overwrite) as folder:
        write_texts(folder, splits)
        (folder / "stats.json").write_text(json.dumps(stats, indent=2) + "\n", encoding="utf-8")
    return stats


def _at_least(least: float, kind: Callable = int) -> Callable:
    def number(text: str):
        value = kind(text)
        if not value >= least:  # also refuses "nan"
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {text}")
        return value

    number.__name__ = kind.__name__  # argparse: "invalid int value"
    return number


def _shares(text: str) -> Tuple[Decimal, ...]:
    try:
        shares = tuple(map(Decimal, text.split(",")))
        good = len(shares) == 3 and min(shares) >= 0 and sum(shares) == 100
    except InvalidOperation:  # no number, or "nan"
        good = False
    if not good:
        raise argparse.ArgumentTypeError(f"{text!r} is not three percentages that add up to 100")
    return shares


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        description="From raw search logs (AOL's format) to session text for fairseq-preprocess.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = result.add_argument
    add("log", nargs="+", type=Path, metavar="LOG", help="plain or gzip compressed")
    add(
        "--output",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="folder to write",
        default=argparse.SUPPRESS,
    )
    add("--overwrite", action="store_true", help="replace FOLDER if it holds prepared text")
    add("--strict", action="store_true", help="stop at the first malformed row")
    add(
        "--gap-minutes",
        type=_at_least(0, float),
        metavar="M",
        help="a pause that starts a new session",
    )
    add(
        "--min-queries", type=_at_least(2), metavar="N", help="of a session, duplicates not counted"
    )
    add(
        "--max-queries", type=_at_least(2), metavar="N", help="of a session, duplicates not counted"
    )
    add("--max-query-tokens", type=_at_least(1), metavar="N", help="longer queries are taken out")
    add("--split", type=_shares, metavar="TRAIN,VALID,TEST", help="percentages")
    add("--split-by", choices=["session", "user"], help="what is kept together in a split")
    add("--seed", type=int, metavar="S", help="another one gives another split")
    add(
        "--history",
        type=_at_least(0),
        metavar="N",
        help="earlier sessions of the user in front of each source",
    )
    defaults = {rule.name: rule.default for rule in fields(Rules)}
    result.set_defaults(**{**defaults, "split": ",".join(map(str, defaults["split"]))})
    return result


def main(argv: Optional[Sequence[str]] = None) -> None:
    args = parser().parse_args(argv)
    rules = Rules(**{rule.name: getattr(args, rule.name) for rule in fields(Rules)})
    if rules.max_queries < rules.min_queries:
        raise InputError("--max-queries is less than --min-queries", "swap or change them")
    stats = prepare(args.log, args.output, rules, args.strict, args.overwrite)
    print(table(stats))
    print(f"\nwritten to {args.output}")


if __name__ == "__main__":
    main()
