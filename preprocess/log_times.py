"""Times of logs that are not written as AOL writes them."""

from datetime import datetime, timezone
from typing import Callable, Optional


def time_reader(time_format: str) -> Callable[[str], Optional[str]]:
    """Reads a time, gives it as AOL writes it, in UTC if a time zone was said; or None."""

    def read(text: str) -> Optional[str]:
        try:
            if time_format == "iso":
                if text[-1:] in ("Z", "z"):  # not read before Python 3.11
                    text = text[:-1] + "+00:00"
                moment = datetime.fromisoformat(text)
            else:
                moment = datetime.strptime(text, time_format)
            if moment.tzinfo:
                moment = moment.astimezone(timezone.utc).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return None
        return str(moment.replace(microsecond=0))

    return read
