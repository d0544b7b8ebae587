"""A person's history: the sessions that had ended before the current session began.

    paris <session> cheap flights <q> cheap flights to paris

A history is in line n of `PREFIX.history`, for pair n, or in front of a session.
"""

from pathlib import Path
from typing import Iterator, List, Optional, Sequence, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import Pair
from mtn_preprocess.text.session_text import QUERY_SEPARATOR, is_separator
from mtn_preprocess.text.text_checks import session_lines
from mtn_preprocess.text.word_pieces import decode_pieces


def read_histories(prefix: str) -> Optional[Iterator[List[List[str]]]]:
    """For each pair, the same person's earlier sessions, oldest first, each a list of queries.

    Word pieces are joined into words. The caller must check that pairs and histories end together.

    Returns:
        None if there is no `PREFIX.history`
    """
    path = Path(f"{prefix}.history")
    return _histories(path) if path.is_file() else None


def _histories(path: Path) -> Iterator[List[List[str]]]:
    for number, line in session_lines(path):
        if not line.strip():  # no history for this pair
            yield []
            continue
        earlier, last = split_history(decode_pieces(line))
        sessions = [*earlier, last]
        if not all(query for session in sessions for query in session):
            raise InputError("empty query", "prepare the text again", path, number)
        yield sessions


def split_history(line: str) -> Tuple[List[List[str]], List[str]]:
    """The earlier sessions of a line, oldest first, and the queries of its current session.

    Every separator above the query level ends a session. An empty query is "".
    """
    sessions: List[List[List[str]]] = [[[]]]
    for word in line.split():
        if word == QUERY_SEPARATOR:
            sessions[-1].append([])
        elif is_separator(word):
            sessions.append([[]])
        else:
            sessions[-1][-1].append(word)
    *earlier, current = [[" ".join(words) for words in session] for session in sessions]
    return earlier, current


def histories_of(prefix: str, pairs: Sequence[Pair]) -> Iterator[List[List[str]]]:
    """The earlier sessions of each pair, from `PREFIX.history` or, without it, from the source.

    Histories are too large to keep in memory, so the file is read twice: first to count its lines.
    """
    found = read_histories(prefix)
    again = read_histories(prefix)
    if found is None or again is None:
        return (split_history(pair.source)[0] for pair in pairs)
    lines = sum(1 for _ in found)
    if lines != len(pairs):
        raise InputError(
            f"{lines:,} lines, but {prefix}.session has {len(pairs):,}",
            "line n of all files must belong together; prepare the text again",
            f"{prefix}.history",
            min(lines, len(pairs)) + 1,
        )
    return again
