"""The reasons why a line or row is not in the result. All are counted; see `account`."""

from enum import IntEnum


class Reason(IntEnum):
    """Numbered in the order of the checks: each row has at most one reason."""

    # Not text; found while reading.
    LONG_LINE = 1
    NOT_UTF8 = 2
    NUL = 3
    QUOTES = 4
    NOT_JSON = 5
    # Not a row.
    COLUMNS = 6
    USER = 7
    TIME = 8
    TIME_RANGE = 9
    # No fault: a header.
    HEADER = 10
    # A row without a query.
    BLANK = 11
    NOTHING_LEFT = 12
    # A query removed from its session.
    CLICK = 13
    BLOCKED = 14
    LONG_QUERY = 15
    RARE = 16
    DUPLICATE = 17
    # A query whose session is dropped.
    SHORT_SESSION = 18
    LONG_SESSION = 19
    TRAINING_SESSION = 20  # in valid or test; counted only with `train_queries`

    @property
    def text(self) -> str:
        return _TEXTS[self]

    @property
    def remedy(self) -> str:
        """The remedy for a file with many such lines; "" if there is none."""
        return _REMEDIES.get(self, "")


KEPT = 0  # no reason to drop the row

FAULTS = tuple(Reason(i) for i in range(Reason.LONG_LINE, Reason.HEADER))
RULES = tuple(Reason(i) for i in range(Reason.BLANK, Reason.LONG_SESSION + 1))

_TEXTS = {
    Reason.LONG_LINE: "absurdly long line",
    Reason.NOT_UTF8: "not UTF-8",
    Reason.NUL: "NUL byte",
    Reason.QUOTES: "unbalanced quotes",
    Reason.NOT_JSON: "not a JSON object",
    Reason.COLUMNS: "wrong number of columns",
    Reason.USER: "no user",
    Reason.TIME: "unreadable time",
    Reason.TIME_RANGE: "time out of range",
    Reason.HEADER: "header line",
    Reason.BLANK: "blank query",
    Reason.NOTHING_LEFT: "no letter or digit",
    Reason.CLICK: "further click on a query",
    Reason.BLOCKED: "on the block list",
    Reason.LONG_QUERY: "too many tokens",
    Reason.RARE: "asked by too few users",
    Reason.DUPLICATE: "successive duplicate",
    Reason.SHORT_SESSION: "in a session of too few queries",
    Reason.LONG_SESSION: "in a session of too many queries",
    Reason.TRAINING_SESSION: "in a session for training only",
}

_REMEDIES = {
    Reason.NOT_UTF8: "if it is Latin-1, convert it: iconv -f latin1 -t UTF-8",
    Reason.NUL: "if it is UTF-16, convert it: iconv -f UTF-16LE -t UTF-8",
    Reason.NOT_JSON: "write one object per line, for example with: jq -c .; or see --format",
}
