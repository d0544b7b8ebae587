"""Detect misread times: suggest likely formats, and find swapped days and months."""

import re
from datetime import date, datetime, timedelta, timezone
from typing import Iterable, List, Optional, Sequence

from mtn_preprocess.log_times import AOL_TIME, TIME_FORMATS, TimeRange, time_reader

_DAYS = (
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d %b %Y", "%d-%b-%Y", "%d/%b/%Y", "%b %d, %Y"),
    *("%d %B %Y", "%B %d, %Y", "%A, %d %B %Y", "%A, %B %d, %Y", "%a, %b %d, %Y"),
)
_CLOCKS = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%H:%M:%S.%f", "%H:%M:%S %z")
_COMMON = (
    *TIME_FORMATS,
    *(f"{day} {clock}" for day in _DAYS for clock in _CLOCKS),
    "%d/%b/%Y:%H:%M:%S %z",  # web servers
    "%a %b %d %H:%M:%S %Y",
    "%a %b %d %H:%M:%S %z %Y",
    "%a, %d %b %Y %H:%M:%S %Z",
    "%Y%m%d%H%M%S",
    "%Y%m%d %H:%M:%S",
)
_MAX_MISSES = 0.1  # share of values that a likely format may fail to read
_MIN_RATIO = 3  # factor by which a log gets shorter if days and months were swapped

_EPOCHS = {"epoch": (r"[0-9]{1,11}(?:\.[0-9]*)?", 1), "epoch-ms": (r"[0-9]{4,14}", 1000)}
_TIME_WORDS = (
    r"jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|"
    r"september|october|november|december|mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|"
    r"thursday|friday|saturday|sunday|[ap]\.?m\.?|utc|gmt|t|z"
)
_LOOKS_LIKE_A_TIME = re.compile(rf"(?=.*\d)(?:[\d\s/:.,+-]|\b(?:{_TIME_WORDS})\b|(?<=\d)[tz])+")


def shown(value: str) -> str:
    """A value as quoted in messages, if it looks like a time; otherwise it may be a query."""
    if not value:
        return "an empty one"
    if len(value) <= 40 and _LOOKS_LIKE_A_TIME.fullmatch(value.lower()):
        return repr(value)
    return "one that does not look like a time (is this the right column?)"


def seconds_of(text: str, time_format: str) -> Optional[int]:
    """A time in seconds since 1970, as `row_query` reads it; None if unreadable."""
    if time_format in _EPOCHS:
        pattern, unit = _EPOCHS[time_format]
        return int(text.partition(".")[0]) // unit if re.fullmatch(pattern, text) else None
    read = time_reader(time_format)(text)
    if not read:
        return None
    moment = datetime.fromisoformat(read).replace(tzinfo=timezone.utc)
    return (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(seconds=1)


def likely_formats(values: Sequence[str], times: TimeRange) -> List[str]:
    """The common formats that read nearly all values as times within the range."""
    return [each for each in _COMMON if _reads(each, values, times)] if values else []


def _reads(time_format: str, values: Sequence[str], times: TimeRange) -> bool:
    allowed = int(_MAX_MISSES * len(values))
    for value in values:
        seconds = seconds_of(value, time_format)
        if seconds is None or not times.start <= seconds < times.end:
            allowed -= 1
            if allowed < 0:
                return False
    return True


def swapped_days(days: Iterable[int], time_format: str) -> Optional[str]:
    """A warning if days and months look swapped.

    If no day is after the 12th, both orders can be read. The days of a log are consecutive: read in
    the wrong order, they are a month apart, and the log seems much longer.

    Args:
        days: since 1970, of all sessions
    """
    if time_format == AOL_TIME or not ("%d" in time_format and "%m" in time_format):
        return None
    dates = [date(1970, 1, 1) + timedelta(days=day) for day in days]
    if not dates or any(each.day > 12 for each in dates):
        return None
    length = _length(dates)
    other = _length([each.replace(month=each.day, day=each.month) for each in dates])
    if other * _MIN_RATIO > length:
        return None
    swap = {"%d": "%m", "%m": "%d"}
    other_format = re.sub("%[dm]", lambda match: swap[match[0]], time_format)
    return (
        f"the log covers {length} days, none of them after the 12th of a month; read as "
        f"{other_format!r} it would cover {other}: check --time-format"
    )


def _length(dates: Sequence[date]) -> int:
    return (max(dates) - min(dates)).days + 1
