"""One request: the session in progress, and what the same person asked before it.

All that is known of a person comes with the request, and is forgotten with it.
"""

from typing import Iterable, List, NamedTuple, Optional, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.histories import split_history
from mtn_preprocess.text.session_text import join_units
from mtn_preprocess.text.typed_sessions import SessionReader

from .engine import HistorySize
from .session_checks import History, Session

MAX_HISTORY = 200  # sessions that are read, the newest: the time for an answer is bounded
UNKNOWN_TEXT = SessionReader()  # of other makers

Queries = Tuple[str, ...]  # of one session, as prepared text has them


class Request(NamedTuple):
    session: Queries
    history: Tuple[Queries, ...] = ()  # earlier sessions, oldest first

    @property
    def line(self) -> str:
        """As prepared text has it, the history in front."""
        sessions = [join_units(queries, level=1) for queries in (*self.history, self.session)]
        return join_units(sessions, level=2)

    def fitted(self, size: HistorySize) -> "Request":
        """With the newest part of its history; the session stays as it is."""
        sessions = self.history[-size.sessions :] if size.sessions else ()
        return self._replace(history=tuple(each[-size.queries :] for each in sessions))


def read_request(
    session: Session,
    history: Optional[History] = None,
    reader: SessionReader = UNKNOWN_TEXT,
    may_be_empty: bool = False,
) -> Request:
    """Read what was typed; queries and sessions of which nothing is left are left out.

    Args:
        session: its queries; or a line of prepared text, which may have earlier sessions itself
        history: sessions before these, oldest first; all but the last MAX_HISTORY are left out
        may_be_empty: whether a session may have no query yet, as while the first one is typed
    """
    before: List[List[str]] = []
    if isinstance(session, str):
        before, typed = split_history(reader.line(session))
    else:
        typed = list(map(reader.query, session))
    queries = tuple(filter(None, typed))
    if not queries and not may_be_empty:  # what stands before it is another session
        raise InputError("a session without a query", "give at least one")
    earlier = _not_empty(map(reader.query, each) for each in history or ())
    return Request(queries, tuple([*earlier, *_not_empty(before)][-MAX_HISTORY:]))


def _not_empty(sessions: Iterable[Iterable[str]]) -> List[Queries]:
    return [queries for queries in (tuple(filter(None, each)) for each in sessions) if queries]


def as_line(session: Session, reader: SessionReader = UNKNOWN_TEXT) -> str:
    """In words, as the preparation writes it, and without empty queries."""
    return read_request(session, reader=reader).line


def has_query(line: str, reader: SessionReader = UNKNOWN_TEXT) -> bool:
    """Whether the session in progress has one, whatever stands before it."""
    return any(split_history(reader.line(line))[1])
