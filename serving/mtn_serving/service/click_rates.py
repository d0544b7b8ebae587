"""Click-through rates of the bundles, with intervals, from event files.

A list counts at most once as shown and once as clicked, however often it was reported. Sessions,
not lists, are assigned to bundles, and lists of one session are similar. So the intervals use the
effective number of independent lists, from the spread between sessions (the design effect).
"""

import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Set, Tuple

from mtn_preprocess.errors import InputError

from .event_names import EVENTS, QUERY_ID

Z = 1.959963984540054  # 95 %


class Group(NamedTuple):
    """Lists with a common rate."""

    application: str
    arm: str
    version: str


class Rate(NamedTuple):
    sessions: int
    shown: int  # lists
    clicked: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        return self.clicked / self.shown


class Summary(NamedTuple):
    rates: Dict[Group, Rate]
    left_out: Dict[str, int]  # lines, by reason


def summarise(folder: Path) -> Summary:
    """The rates from all event files in a folder."""
    shown: Dict[str, Tuple[Group, str]] = {}  # query id -> (group, session)
    clicked: Set[str] = set()
    left_out: Counter[str] = Counter()
    for event in _events(folder, left_out):
        query_id = event.get("query_id")
        if not isinstance(query_id, str) or not QUERY_ID.fullmatch(query_id):
            left_out["no query_id"] += 1
        elif event.get("action_name") == "click":
            clicked.add(query_id)
        elif event.get("action_name") == "impression":
            arm, version, own = query_id.split(".")
            group = Group(str(event.get("application", "")), arm, version)
            shown.setdefault(query_id, (group, str(event.get("session_id") or own)))
        else:
            left_out["other actions"] += 1
    left_out["clicks of lists that nobody was shown"] += len(clicked - set(shown))
    return Summary(_rates(shown, clicked), {why: n for why, n in left_out.items() if n})


def _events(folder: Path, left_out: "Counter[str]") -> Iterator[Dict[str, Any]]:
    files = sorted(folder.glob(f"{EVENTS}.*.jsonl"))
    if not files:
        remedy = "give the folder of mtn-serve --events"
        raise InputError(f"no {EVENTS}.*.jsonl there", remedy, folder)
    for path in files:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    event = None
                if isinstance(event, dict):
                    yield event
                else:
                    left_out["damaged"] += 1


def _rates(shown: Dict[str, Tuple[Group, str]], clicked: Set[str]) -> Dict[Group, Rate]:
    sessions: Dict[Group, Dict[str, List[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for query_id, (group, session) in shown.items():
        of_session = sessions[group][session]
        of_session[0] += 1
        of_session[1] += query_id in clicked
    return {group: rate_of(sessions[group].values()) for group in sorted(sessions)}


def rate_of(sessions: Iterable[Iterable[int]]) -> Rate:
    """Args:
    sessions: per session (number of lists shown, number of lists clicked)
    """
    pairs = [(shown, clicked) for shown, clicked in sessions]
    shown, clicked = (sum(column) for column in zip(*pairs))
    low, high = wilson(clicked / shown, shown / design_effect(pairs))
    return Rate(len(pairs), shown, clicked, low, high)


def design_effect(pairs: List[Tuple[int, int]]) -> float:
    """The variance of the rate relative to that of independent lists; at least 1."""
    shown, clicked = (sum(column) for column in zip(*pairs))
    rate = clicked / shown
    alone = rate * (1 - rate) / shown
    if alone == 0:  # no variance
        return 1.0
    spread = sum((of_click - rate * of_shown) ** 2 for of_shown, of_click in pairs)
    return max(1.0, spread / shown**2 / alone)


def wilson(rate: float, lists: float) -> Tuple[float, float]:
    """Wilson's interval for a share, valid even for few lists and for rates near 0."""
    middle = (rate + Z**2 / (2 * lists)) / (1 + Z**2 / lists)
    half = math.sqrt(rate * (1 - rate) / lists + Z**2 / (4 * lists**2)) * Z / (1 + Z**2 / lists)
    return max(0.0, middle - half), min(1.0, middle + half)


def difference(one: Rate, other: Rate) -> Tuple[float, float, float]:
    """`one` minus `other`, with its interval by Newcombe's method."""
    between = one.rate - other.rate
    down = math.hypot(one.rate - one.low, other.high - other.rate)
    up = math.hypot(one.high - one.rate, other.rate - other.low)
    return between, between - down, between + up
