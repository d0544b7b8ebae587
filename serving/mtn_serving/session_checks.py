"""Refuse input where one session could be mistaken for many, or many for one."""

from collections.abc import Sequence as AbstractSequence
from typing import Optional, Sequence, Union

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import QUERY_SEPARATOR, is_separator, without_unseen
from mtn_preprocess.text.typed_queries import in_lower_case

Session = Union[str, Sequence[str]]  # a line of prepared text, or the queries themselves
History = Sequence[Sequence[str]]  # earlier sessions of the same person, each its queries
Histories = Optional[Sequence[Optional[History]]]  # one per session; None for an unknown person

_HOW = "suggest(session) takes one session, suggest_many(sessions) a list of sessions"
_HOW_HISTORY = "a history is a list of sessions, oldest first, each a list of queries"


_HOW_PREFIX = "complete(session, prefix) takes what is typed so far, '' for nothing yet"


def may_be_wordless(session: Session) -> bool:
    """Whether it may have no query once it is read, as what people typed, such as `!!!`.

    A session of no query, and a line without one, are mistakes of who calls.
    """
    return not isinstance(session, str) and len(session) > 0


def check_prefix(prefix: object) -> None:
    if not isinstance(prefix, str):
        raise TypeError(f"a prefix is text, not {type(prefix).__name__}; {_HOW_PREFIX}")


def check_prefixes(prefixes: Sequence[str]) -> None:
    if not _is_list(prefixes):
        raise TypeError(f"prefixes are a list, not {type(prefixes).__name__}; {_HOW_PREFIX}")
    for prefix in prefixes:
        check_prefix(prefix)


def check_sessions(sessions: Sequence[Session]) -> None:
    if not _is_list(sessions):
        raise TypeError(f"sessions are a list, not {type(sessions).__name__}; {_HOW}")
    for session in sessions:
        check_session(session)


def check_histories(histories: Histories, sessions: Sequence[Session]) -> None:
    if histories is None:
        return
    if not _is_list(histories):
        raise TypeError(f"histories are a list, not {type(histories).__name__}; {_HOW_HISTORY}")
    if len(histories) != len(sessions):
        raise InputError(
            f"{len(histories)} histories for {len(sessions)} sessions",
            "give one for each session, [] for a person of whom nothing is known",
        )
    for history in histories:
        if history is not None:
            _check_history(history)


def _check_history(history: History) -> None:
    if not _is_list(history):
        raise TypeError(f"a history is a list, not {type(history).__name__}; {_HOW_HISTORY}")
    for session in history:
        if not _is_list(session):  # a string here means a list of queries, not of sessions
            found = type(session).__name__
            raise TypeError(f"an earlier session is a list, not {found}; {_HOW_HISTORY}")
        check_session(session)


def _is_list(value: object) -> bool:
    return isinstance(value, AbstractSequence) and not isinstance(value, (str, bytes))


def check_session(session: Session) -> None:
    if isinstance(session, str):
        return
    if not _is_list(session):
        raise TypeError(f"a session is a list of queries, not {type(session).__name__}; {_HOW}")
    for query in session:
        if not isinstance(query, str):
            raise TypeError(f"a query is text, not {type(query).__name__}; {_HOW}")
        word = in_lower_case(without_unseen(query))  # as the reader will see it
        if is_separator(word) and word != QUERY_SEPARATOR:
            raise InputError(
                f"{word} stands between queries, but a list is read as one session",
                "give the queries of the last session only, and earlier sessions as history",
            )
