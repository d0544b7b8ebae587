"""Counts of what was read, removed by each rule and kept: as JSON, and as a table.

For the log of the paper, the table shows the paper's numbers beside ours.
"""

import hashlib
from collections import Counter
from typing import Any, Dict, List, Optional

from mtn_preprocess.reasons import FAULTS, RULES, Reason
from mtn_preprocess.rules import SPLITS, Rules
from mtn_preprocess.session_files import HISTORY_SPLITS, SessionFiles
from mtn_preprocess.sessions import BACKWARDS, FOUND, LINES, LONG, SHORT
from mtn_preprocess.text.text_settings import AOL

FOR_TRAINING = "for training only, in valid or test"  # by their number of queries
THRESHOLD = 8  # the paper's vocabulary: words seen at least this often in training
THRESHOLDS = (2, 5, THRESHOLD)  # that people choose from, for --thresholdsrc

# Section 5.1, the AOL log.
PAPER: Dict[str, Any] = {
    "splits": {
        "train": {"sessions": 1_628_433, "pairs": 4_285_507},
        "valid": {"sessions": 90_932, "pairs": 238_890},
        "test": {"sessions": 90_507, "pairs": 238_289},
    },
    "vocabulary": 76_604,
}


def account(
    counts: Counter, rules: Rules, files: SessionFiles, is_aols: bool = False
) -> Dict[str, Any]:
    """All counts as one JSON object; it counts every line of the log exactly once.

    Args:
        is_aols: whether the log is the one of the paper
    """
    faults = {fault.text: counts[fault] for fault in FAULTS}
    seen = files.words.get("train", {}).values()
    frequent = {least: sum(n >= least for n in seen) for least in THRESHOLDS}
    splits = {
        name: {
            "sessions": files.sessions[name],
            "queries": files.queries[name],
            "pairs": files.pairs[name],
            "words": len(files.words[name]),
        }
        for name in files.splits
    }
    removed = {rule.text: counts[rule] for rule in RULES}
    dropped: Dict[str, int] = {}
    if rules.train_queries:
        removed[Reason.TRAINING_SESSION.text] = files.dropped_queries
        dropped[FOR_TRAINING] = files.dropped_sessions
    past = {name: files.pairs_with_past[name] for name in splits if name in HISTORY_SPLITS}
    return {
        "rules": plain_rules(rules),
        "lines": {"read": counts[LINES], "header": counts[Reason.HEADER], "malformed": faults},
        "rows": {
            "read": counts[LINES] - counts[Reason.HEADER] - sum(faults.values()),
            "removed": removed,
            "kept": sum(files.queries.values()),
            BACKWARDS: counts[BACKWARDS],
        },
        "sessions": {
            "found": counts[FOUND],
            "too few queries": counts[SHORT],
            "too many queries": counts[LONG],
            **dropped,
            "kept": sum(files.sessions.values()),
        },
        "splits": splits,
        "vocabulary": frequent[THRESHOLD],
        "frequent words": {str(least): number for least, number in frequent.items()},
        **({"pairs with a past": past} if rules.past else {}),
        **({"paper": PAPER} if is_aols else {}),
    }


def check(stats: Dict[str, Any]) -> None:
    """Raise if the counts do not add up, which would be a bug in this program."""
    rows, sessions = stats["rows"], stats["sessions"]
    used = rows["kept"] + sum(rows["removed"].values())
    left = sum(sessions.values()) - sessions["found"]
    if rows["read"] != used or sessions["found"] != left:
        raise AssertionError(f"rows or sessions got lost: {stats}")


def table(stats: Dict[str, Any]) -> str:
    """The counts as a printed table."""
    lines, rows, sessions = stats["lines"], stats["rows"], stats["sessions"]
    malformed = [(f"- malformed: {text}", n) for text, n in lines["malformed"].items() if n]
    counted = [
        ("lines read", lines["read"]),
        ("- header lines", lines["header"]),
        *(malformed or [("- malformed", 0)]),
        ("rows read", rows["read"]),
        *((f"- {rule}", number) for rule, number in rows["removed"].items()),
        ("queries kept", rows["kept"]),
        ("rows found out of order of time, sorted", rows[BACKWARDS]),
        ("sessions found", sessions["found"]),
        ("- of too few queries", sessions["too few queries"]),
        ("- of too many queries", sessions["too many queries"]),
        *((f"- {text}", sessions[text]) for text in (FOR_TRAINING,) if text in sessions),
        ("sessions kept", sessions["kept"]),
    ]
    text = [f"{name:<42}{number:>14,}" for name, number in counted]
    past = _past(stats.get("pairs with a past", {}))
    return "\n".join([*text, "", *_table_1(stats), *past, *_subwords(stats.get("sentencepiece"))])


def _table_1(stats: Dict[str, Any]) -> List[str]:
    """The table of splits; for the paper's log, with the paper's Table 1 beside it."""
    paper = stats.get("paper", {"splits": {}})
    rows = [["split"], *([name] for name in stats["splits"])]
    for column in ("sessions", "queries", "pairs", "words"):
        rows[0].append(column)
        for row in rows[1:]:
            row.append(f"{stats['splits'][row[0]][column]:,}")
        if column in paper["splits"].get("train", {}):
            rows[0].append("the paper's")
            for row in rows[1:]:
                row.append(f"{paper['splits'][row[0]][column]:,}")
    text = [f"{row[0]:<8}" + "".join(f"{cell:>13}" for cell in row[1:]) for row in rows]
    frequent = (f"{least} times {n:,}" for least, n in stats["frequent words"].items())
    words = f"words seen in training at least {', '.join(frequent)}"
    shares = f"shares of sessions: {_shares(stats['splits'])}"
    if "paper" in stats:
        words += f" (the paper's vocabulary, {THRESHOLD} times: {paper['vocabulary']:,})"
        shares += f"; the paper's: {_shares(paper['splits'])}, though it says 95 / 2.5 / 2.5"
    return [*text, words, shares]


def _past(pairs: Dict[str, int]) -> List[str]:
    numbers = ", ".join(f"{split} {number:,}" for split, number in pairs.items())
    return [f"pairs with earlier sessions of the same person: {numbers}"] if pairs else []


def _subwords(counts: Optional[Dict[str, int]]) -> List[str]:
    if counts is None:
        return []
    pieces, usual, longest = counts.values()
    return [f"word pieces: {pieces:,}; 99 % of training queries have up to {usual}, all {longest}"]


def _shares(splits: Dict[str, Dict[str, int]]) -> str:
    sessions = [splits.get(name, {"sessions": 0})["sessions"] for name in SPLITS]
    return " / ".join(f"{100 * n / max(sum(sessions), 1):.1f}" for n in sessions)


def plain_rules(rules: Rules) -> Dict[str, Any]:
    """The rules as JSON. A block list may be private, so only its checksum is given."""
    values = dict(vars(rules))
    if rules.characters == AOL:  # folders made before the flag existed have no such key
        del values["characters"]
    for name in ("train_queries", "past"):
        if not values[name]:
            del values[name]
    if rules.train_queries:
        values["train_queries"] = list(rules.train_queries)
    values["split"] = [float(share) for share in rules.split]
    entries = "\n".join(rules.block_list)
    values["block_list"] = hashlib.sha256(entries.encode()).hexdigest() if entries else None
    return values
