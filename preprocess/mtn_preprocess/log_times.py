"""Times of logs that are not written as AOL writes them."""

import re
from datetime import datetime, timezone
from typing import Callable

TIME_FORMATS = ("iso", "epoch", "epoch-ms")  # beside those of `strptime`

# Not `datetime.fromisoformat` alone, which reads more with every version of Python.
_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]((?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2})?)(?:[.,][0-9]+)?"
    r" ?(?:([Zz])|([+-][0-9]{2}):?([0-5][0-9])?)?)?"
)


def time_reader(time_format: str) -> Callable[[str], str]:
    """Reads a time, gives it as AOL writes it, in UTC if a time zone was said; or ""."""

    def read(text: str) -> str:
        try:
            if time_format == "iso":
                moment = _from_iso(text)
            else:
                moment = datetime.strptime(text, time_format)
            if moment.tzinfo:
                moment = moment.astimezone(timezone.utc).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return ""  # and not None, which DuckDB accepts from no function
        return str(moment.replace(microsecond=0))

    return read


def says_the_day(time_format: str) -> bool:
    """Whether a format for `strptime` tells the day; `ISO`, `%H:%M` and `%d.%d.%Y` do not."""
    moment = datetime(2006, 3, 17, 10, tzinfo=timezone.utc)
    try:
        again = datetime.strptime(moment.strftime(time_format), time_format)
    except (ValueError, re.error):
        return False
    return again.date() == moment.date()


def _from_iso(text: str) -> datetime:
    match = _ISO.fullmatch(text)
    if not match:
        raise ValueError("not ISO 8601")
    day, clock, utc, hours, minutes = match.groups()
    zone = "+00:00" if utc else f"{hours}:{minutes or '00'}" if hours else ""
    return datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone}")
