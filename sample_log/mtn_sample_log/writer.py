"""Write users, sessions and queries as the rows of a search log in AOL's format.

Each user has their own random generator, so users are generated one at a time in constant memory,
and the first users of a long log are those of a short one. Only `Random.random` is used, because
its values are guaranteed to be the same in every Python version.
"""

from bisect import bisect_right
from datetime import datetime, timedelta
from itertools import accumulate
from random import Random
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

from .behaviour import Ladder, ladder
from .process import SESSION_LENGTHS, Process
from .query import Query

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
FIRST_ID = 1001
FIRST_DAY = datetime(2006, 3, 1)
DAYS = 91  # March to May except the last day, because sessions may run past midnight

INTERESTS = (2, 4)  # number of families a user is interested in: minimum, maximum
LOYALTY = 0.8  # probability that a session in such a family is about the user's own member
VISITS = (1, 10)  # days on which a user searches: minimum, maximum
SECOND_SESSION = 0.2  # probability of another session that day, half an hour to two hours later

BLANK = 0.015  # probability of a row without a query before a query
NEXT_PAGE = 0.08  # probability of a request for the next page of results: the same query again
CLICKS = {0: 0.45, 1: 0.42, 2: 0.09, 3: 0.04}  # clicked results per page, with probabilities
DOMAINS = ("example.com", "example.org", "example.net")

T = TypeVar("T")


class Row(NamedTuple):
    """One line of the log; rank and URL are empty without a click."""

    user: int
    query: str
    time: datetime
    rank: str = ""
    url: str = ""

    def line(self) -> str:
        return f"{self.user}\t{self.query}\t{self.time}\t{self.rank}\t{self.url}\n"


class Dice:
    """A user's random choices."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed).random  # Random hashes a string by SHA-512, the same everywhere

    def chance(self, p: float) -> bool:
        return self._random() < p

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._random() * (high - low + 1))

    def skewed(self, low: int, high: int) -> int:
        """The same, but small numbers are more frequent."""
        return low + int(self._random() ** 2 * (high - low + 1))

    def pick(self, items: Sequence[T], cumulated: Sequence[float]) -> T:
        """One of the items; `cumulated` has their cumulative weights."""
        place = bisect_right(cumulated, self._random() * cumulated[-1])
        return items[min(place, len(items) - 1)]


_LENGTHS = list(SESSION_LENGTHS), list(accumulate(SESSION_LENGTHS.values()))
_CLICKS = list(CLICKS), list(accumulate(CLICKS.values()))


class LogWriter:
    """The rows of one log."""

    def __init__(self, seed: int, process: Optional[Process] = None) -> None:
        self.seed = seed
        self.process = process or Process()
        self._first: List[List[Ladder]] = []
        self._members: List[Tuple[List[int], List[float]]] = []
        for family in range(len(self.process.world.families)):
            behaviour = self.process.behaviour(family)
            popularity = behaviour.member_popularity
            self._first.append([ladder(law) for law in behaviour.openings])
            self._members.append((list(range(len(popularity))), list(accumulate(popularity))))

    def rows(self, users: int) -> Iterator[Row]:
        """The rows of all users, by user and time."""
        for number in range(users):
            yield from self.rows_of_user(number)

    def rows_of_user(self, number: int) -> Iterator[Row]:
        """The rows of one user; independent of the number of users."""
        dice = Dice(f"{self.seed}/{number}")
        interests = self._interests(dice)
        for time in _days(dice):
            rows = _session_rows(dice, FIRST_ID + number, self._session(dice, interests), time)
            yield from rows
            if dice.chance(SECOND_SESSION):
                time = rows[-1].time + timedelta(minutes=dice.between(31, 120))
                again = self._session(dice, interests)
                yield from _session_rows(dice, FIRST_ID + number, again, time)

    def _interests(self, dice: Dice) -> List[Tuple[int, int]]:
        """A user's families, all different, each with the user's own member.

        Every family is equally likely in every session, which keeps the law of first queries over
        all users simple.
        """
        families = list(range(len(self.process.world.families)))
        interests = []
        for _ in range(min(dice.between(*INTERESTS), len(families))):
            family = families.pop(dice.between(0, len(families) - 1))
            interests.append((family, dice.pick(*self._members[family])))
        return interests

    def _session(self, dice: Dice, interests: List[Tuple[int, int]]) -> List[str]:
        """The queries of one session: only the first depends on the user."""
        family, member = interests[dice.between(0, len(interests) - 1)]
        if not dice.chance(LOYALTY):
            member = dice.pick(*self._members[family])
        behaviour = self.process.behaviour(family)
        prefix: Tuple[Query, ...] = (dice.pick(*self._first[family][member]),)
        for _ in range(dice.pick(*_LENGTHS) - 1):
            prefix += (dice.pick(*behaviour.ladder(prefix)),)
        words = self.process.world.families[family].words
        return [words[query] for query in prefix]


def _days(dice: Dice) -> Iterator[datetime]:
    """The start times of a user's sessions, in order, on different days.

    The three months are divided into as many spans as the user has visits, with one day from each.
    """
    visits = dice.between(*VISITS)
    for visit in range(visits):
        day = dice.between(visit * DAYS // visits, (visit + 1) * DAYS // visits - 1)
        yield FIRST_DAY + timedelta(days=day, seconds=dice.between(7 * 3600, 23 * 3600 - 1))


def _session_rows(dice: Dice, user: int, queries: Sequence[str], time: datetime) -> List[Row]:
    """The rows of a session from `time` on; gaps are far under 30 minutes, even without blanks."""
    rows: List[Row] = []
    for number, query in enumerate(queries):
        if number:
            time += timedelta(seconds=dice.skewed(5, 420))
        if dice.chance(BLANK):
            rows.append(Row(user, "-" if dice.chance(0.7) else "", time))
            time += timedelta(seconds=dice.between(2, 20))
        rows += _page_rows(dice, Row(user, query, time), first_rank=1)
        if dice.chance(NEXT_PAGE):
            time += timedelta(seconds=dice.between(10, 90))
            rows += _page_rows(dice, Row(user, query, time), first_rank=11)
    return rows


def _page_rows(dice: Dice, asked: Row, first_rank: int) -> List[Row]:
    """One page of results: one row per click, all at the query's time, or one row if no click."""
    rank, rows = first_rank - 1, []
    words = asked.query.split()
    for _ in range(dice.pick(*_CLICKS)):
        rank += dice.skewed(1, 3)
        name = words[dice.between(0, len(words) - 1)] if dice.chance(0.5) else "www"
        url = f"http://{name}.{DOMAINS[dice.between(0, len(DOMAINS) - 1)]}"
        rows.append(asked._replace(rank=str(rank), url=url))
    return rows or [asked]
