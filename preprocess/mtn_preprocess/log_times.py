"""Parse times that are not in AOL's format."""

import re
from datetime import date, datetime, timedelta, timezone
from typing import Callable, NamedTuple

AOL_TIME = "%Y-%m-%d %H:%M:%S"
TIME_FORMATS = ("iso", "epoch", "epoch-ms")  # besides those of `strptime`

# `datetime.fromisoformat` alone accepts more with every version of Python.
_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]((?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2})?)(?:[.,][0-9]+)?"
    r" ?(?:([Zz])|([+-][0-9]{2}):?([0-5][0-9])?)?)?"
)


class TimeRange(NamedTuple):
    """Seconds since 1970: the first valid one, and the first invalid one after it."""

    start: int
    end: int

    @classmethod
    def of_days(cls, first: date, last: date) -> "TimeRange":
        return cls(_seconds_until(first), _seconds_until(last) + 24 * 60 * 60)


def plausible_times() -> TimeRange:
    """From 1990, before web search, to tomorrow, which allows for wrong clocks and time zones."""
    tomorrow = datetime.now(timezone.utc).date() + timedelta(days=1)
    return TimeRange.of_days(date(1990, 1, 1), tomorrow)


def _seconds_until(day: date) -> int:
    return (day - date(1970, 1, 1)).days * 24 * 60 * 60


def time_reader(time_format: str) -> Callable[[str], str]:
    """A function that converts a time to AOL's format (UTC if it has a zone), or returns ""."""

    def read(text: str) -> str:
        try:
            if time_format == "iso":
                moment = _from_iso(text)
            else:
                moment = datetime.strptime(text, time_format)
            if moment.tzinfo:
                moment = moment.astimezone(timezone.utc).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return ""  # not None, which DuckDB does not accept from a function
        return str(moment.replace(microsecond=0))

    return read


def says_the_day(time_format: str) -> bool:
    """Whether a `strptime` format determines the day; `ISO`, `%H:%M` and `%d.%d.%Y` do not."""
    moment = datetime(2006, 3, 17, 10, tzinfo=timezone.utc)
    try:
        again = datetime.strptime(moment.strftime(time_format), time_format)
    except (ValueError, re.error):
        return False
    return again.date() == moment.date()


def tells_morning_from_afternoon(time_format: str) -> bool:
    """Whether a `strptime` format reads 12-hour times with `%p` and 24-hour times without it.

    Python ignores `%p` without `%I`, and reads `%I` without `%p` as morning.
    """
    directives = set(re.findall("%(.)", time_format))
    return "p" not in directives if "I" not in directives else directives & {"p", "H"} == {"p"}


def _from_iso(text: str) -> datetime:
    match = _ISO.fullmatch(text)
    if not match:
        raise ValueError("not ISO 8601")
    day, clock, utc, hours, minutes = match.groups()
    zone = "+00:00" if utc else f"{hours}:{minutes or '00'}" if hours else ""
    return datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone}")
