"""One request: the session in progress, and the earlier sessions of the same person.

Everything known about a person comes with the request and is forgotten after it.
"""

from typing import Iterable, List, NamedTuple, Optional, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.histories import split_history
from mtn_preprocess.text.session_text import join_units
from mtn_preprocess.text.typed_sessions import SessionReader

from .engine import HistorySize
from .session_checks import History, Session

MAX_HISTORY = 200  # only the newest sessions are read: bounds the time per request
UNKNOWN_TEXT = SessionReader()  # for text with unknown settings

Queries = Tuple[str, ...]  # of one session, as in prepared text


class Request(NamedTuple):
    session: Queries
    history: Tuple[Queries, ...] = ()  # earlier sessions, oldest first

    @property
    def line(self) -> str:
        """The request as a line of prepared text, history first."""
        sessions = [join_units(queries, level=1) for queries in (*self.history, self.session)]
        return join_units(sessions, level=2)

    def fitted(self, size: HistorySize) -> "Request":
        """The request with only the newest part of its history; the session is unchanged."""
        sessions = self.history[-size.sessions :] if size.sessions else ()
        return self._replace(history=tuple(each[-size.queries :] for each in sessions))


def read_request(
    session: Session,
    history: Optional[History] = None,
    reader: SessionReader = UNKNOWN_TEXT,
    may_be_empty: bool = False,
) -> Request:
    """Read typed text; drop queries and sessions that are empty after normalisation.

    Args:
        session: a list of queries, or a line of prepared text, which may contain earlier sessions
        history: sessions before these, oldest first; only the last MAX_HISTORY are kept
        may_be_empty: whether the session may have no query, as while the first one is typed
    """
    before: List[List[str]] = []
    if isinstance(session, str):
        before, typed = split_history(reader.line(session))
    else:
        typed = list(map(reader.query, session))
    queries = tuple(filter(None, typed))
    if not queries and not may_be_empty:  # queries before it belong to another session
        raise InputError("a session without a query", "give at least one")
    earlier = _not_empty(map(reader.query, each) for each in history or ())
    return Request(queries, tuple([*earlier, *_not_empty(before)][-MAX_HISTORY:]))


def _not_empty(sessions: Iterable[Iterable[str]]) -> List[Queries]:
    return [queries for queries in (tuple(filter(None, each)) for each in sessions) if queries]


def as_line(session: Session, reader: SessionReader = UNKNOWN_TEXT) -> str:
    """The session in words, as the preparation writes it, without empty queries."""
    return read_request(session, reader=reader).line


def has_query(line: str, reader: SessionReader = UNKNOWN_TEXT) -> bool:
    """Whether the session in progress has a query; earlier sessions do not count."""
    return any(split_history(reader.line(line))[1])
