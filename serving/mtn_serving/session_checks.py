"""One session or many: what can be mistaken for the other is refused, not answered."""

from collections.abc import Sequence as AbstractSequence
from typing import Sequence, Union

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import QUERY_SEPARATOR, is_separator, without_unseen
from mtn_preprocess.text.typed_queries import in_lower_case

Session = Union[str, Sequence[str]]  # a line of prepared text, or the queries themselves

_HOW = "suggest(session) takes one session, suggest_many(sessions) a list of sessions"


def check_sessions(sessions: Sequence[Session]) -> None:
    if isinstance(sessions, (str, bytes)) or not isinstance(sessions, AbstractSequence):
        raise TypeError(f"sessions are a list, not {type(sessions).__name__}; {_HOW}")
    for session in sessions:
        check_session(session)


def check_session(session: Session) -> None:
    if isinstance(session, str):
        return
    if isinstance(session, bytes) or not isinstance(session, AbstractSequence):
        raise TypeError(f"a session is a list of queries, not {type(session).__name__}; {_HOW}")
    for query in session:
        if not isinstance(query, str):
            raise TypeError(f"a query is text, not {type(query).__name__}; {_HOW}")
        word = in_lower_case(without_unseen(query))  # as it will be read
        if is_separator(word) and word != QUERY_SEPARATOR:
            raise InputError(
                f"{word} stands between queries, but a list is read as one session",
                "give the queries of the last session only",
            )
