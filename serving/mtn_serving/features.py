"""The features of candidates: numbers, NaN if unknown."""

from typing import Dict, List, Optional, Sequence, Set, Tuple

import numpy as np

from .candidates import Candidate
from .engine import Scores
from .history import Past, past_of
from .next_queries import NextQueries

CONTEXT_LENGTHS = (1, 2, 3)

NAMES = (
    # the session
    "queries",
    "last_words",
    "last_asked",
    "last_followed",
    # the sources
    "counted_place",
    "hypothesis_place",
    "edit_kind",
    "queries_ago",
    "own_place",
    # the person's history
    "own_sessions",
    "own_last_asked",
    "own_asked",
    "own_habit",
    "own_sessions_with_it",
    "own_share_of_sessions",
    "own_sessions_ago",
    "own_after_last",
    "own_share_after_last",
    "made_up",
    # the counts
    *(f"share_after_{length}" for length in CONTEXT_LENGTHS),
    *(f"count_after_{length}" for length in CONTEXT_LENGTHS),
    "people_after",
    "lift_after",
    "asked",
    "asked_next",
    "people",
    # the model
    "log_probability",
    "log_probability_per_token",
    "lift_by_model",
    "below_best",
    "above_asked",
    "model_place",
    "unknown_words",
    "agreement",
    # the words
    "words",
    "shared_with_last",
    "share_of_last_kept",
    "share_of_it_from_last",
    "shared_with_earlier",
    "new_words",
    "like_last",
    "starts_with_last",
    "last_starts_with_it",
    "from_session",
)

# Fields of a candidate, and the names of their features.
_PLACES = {
    "counted": "counted_place",
    "hypothesis": "hypothesis_place",
    "edit": "edit_kind",
    "queries_ago": "queries_ago",
    "own": "own_place",
}


def features(
    session: Sequence[str],
    candidates: Sequence[Candidate],
    table: Optional[NextQueries],
    scores: Optional[Scores],
    past: Optional[Past] = None,
) -> np.ndarray:
    """(candidates, NAMES)"""
    found = np.full((len(NAMES), len(candidates)), np.nan, dtype=np.float32)
    columns = dict(zip(NAMES, found))
    columns["queries"][:] = len(session)
    columns["last_words"][:] = len(session[-1].split())
    for field, name in _PLACES.items():
        places = [getattr(each, field) for each in candidates]
        columns[name][:] = [np.nan if place is None else place for place in places]
    texts = [each.text for each in candidates]
    _add_history(columns, texts, past or past_of((), session[-1]))
    if table is not None:
        _add_counts(columns, session, texts, table)
    if scores is not None and candidates:
        _add_model(columns, texts, scores)
    _add_words(columns, session, texts, table)
    _add_made_up(columns)
    return found.T.copy()


def _add_history(columns: Dict[str, np.ndarray], texts: Sequence[str], past: Past) -> None:
    """For a stranger, counts are 0, as for queries never asked, and shares are unknown."""
    columns["own_sessions"][:] = past.sessions
    columns["own_last_asked"][:] = past.last in past.asked
    columns["own_asked"][:] = np.log1p([past.asked.get(text, 0) for text in texts])
    columns["own_habit"][:] = [past.habit.get(text, 0.0) for text in texts]
    columns["own_sessions_with_it"][:] = [past.asked_in.get(text, 0) for text in texts]
    columns["own_sessions_ago"][:] = [past.sessions_ago.get(text, np.nan) for text in texts]
    columns["own_after_last"][:] = [past.after_last.get(text, 0) for text in texts]
    followed = sum(past.after_last.values())
    if past.sessions:
        columns["own_share_of_sessions"][:] = columns["own_sessions_with_it"] / past.sessions
    if followed:
        columns["own_share_after_last"][:] = columns["own_after_last"] / followed


def _add_counts(
    columns: Dict[str, np.ndarray], session: Sequence[str], texts: Sequence[str], table: NextQueries
) -> None:
    last = table.queries.find(session[-1])
    columns["last_asked"][:] = 0 if last is None else np.log1p(float(table.asked[last]))
    numbers = [table.queries.find(text) for text in texts]
    asked_next = _counts_of(table.asked_next, numbers)
    columns["asked"][:] = np.log1p(_counts_of(table.asked, numbers))
    columns["asked_next"][:] = np.log1p(asked_next)
    if table.has_users:
        columns["people"][:] = np.log1p(_counts_of(table.users, numbers))
    contexts = table.contexts(session)
    columns["last_followed"][:] = columns["people_after"][:] = 0
    for length, context in zip(CONTEXT_LENGTHS, contexts):
        counts = table.followers[context]
        found, total = _counts_after(counts, numbers), float(counts[1].sum())
        columns[f"share_after_{length}"][:] = found / total
        columns[f"count_after_{length}"][:] = found
        if length == 1:
            columns["last_followed"][:] = np.log1p(total)
            columns["people_after"][:] = found
            if table.follower_users is not None:
                columns["people_after"][:] = _counts_after(table.follower_users[context], numbers)
            # Log of the frequency after the last query over the frequency after any query.
            anywhere = (asked_next + 1) / (table.total_asked_next + 1)
            columns["lift_after"][:] = np.log((found + 0.1) / (total + 1) / anywhere)


def _counts_of(counts: np.ndarray, numbers: Sequence[Optional[int]]) -> np.ndarray:
    """The counts of queries; 0 for queries that are not in the table."""
    return np.array([0.0 if number is None else float(counts[number]) for number in numbers])


def _counts_after(
    followers: Tuple[np.ndarray, np.ndarray], numbers: Sequence[Optional[int]]
) -> np.ndarray:
    count_of = dict(zip(*(each.tolist() for each in followers)))
    return np.array([count_of.get(number, 0) for number in numbers], dtype=np.float32)


def _add_model(columns: Dict[str, np.ndarray], texts: Sequence[str], scores: Scores) -> None:
    score = scores.log_probability
    columns["log_probability"][:] = score
    columns["log_probability_per_token"][:] = score / scores.tokens
    columns["below_best"][:] = score - score.max()
    columns["model_place"][np.argsort(-score, kind="stable")] = np.arange(len(score))
    columns["unknown_words"][:] = scores.unknown
    columns["agreement"][:] = _agreement(texts, score)


def _add_made_up(columns: Dict[str, np.ndarray]) -> None:
    """A candidate is made up if nobody asked it, in training, in this session or in the history.
    Without counts, none is made up, because nobody knows.

    `above_asked`: log-probability relative to the best candidate that is not made up; unknown if
    all are made up.
    `lift_by_model`: log-probability minus the log of how often people ask it after any query.
    """
    nobody = columns["asked"] == 0
    made_up = nobody & np.isnan(columns["queries_ago"]) & (columns["own_asked"] == 0)
    columns["made_up"][:] = made_up
    score = columns["log_probability"]
    asked = score[~made_up & ~np.isnan(score)]
    columns["above_asked"][:] = score - (asked.max() if len(asked) else np.nan)
    known = columns["asked_next"] > 0
    columns["lift_by_model"][known] = (score - columns["asked_next"])[known]


def _agreement(texts: Sequence[str], score: np.ndarray) -> np.ndarray:
    """The overlap of words with all candidates, weighted by their probability.

    A candidate that shares many words with other likely candidates may be partly right even if none
    of them is right.
    """
    weights = np.exp(score - score.max())
    weights /= weights.sum()
    places: Dict[str, int] = {}
    has = np.zeros((len(texts), sum(len(text.split()) for text in texts)), dtype=np.float32)
    for row, text in zip(has, texts):
        for word in text.split():
            row[places.setdefault(word, len(places))] = 1
    has = has[:, : len(places)]
    words = has.sum(1)
    shared = has @ has.T
    return (2 * shared / (words[:, None] + words[None])) @ weights


def _add_words(
    columns: Dict[str, np.ndarray],
    session: Sequence[str],
    texts: Sequence[str],
    table: Optional[NextQueries],
) -> None:
    """`from_session` is the share of a candidate's words that are in the session, weighted by
    rarity: `hotels` has a low weight, `reykjavik` a high one.
    """
    last_query = session[-1]
    last = set(last_query.split())
    earlier = set(" ".join(session[:-1]).split()) - last
    last_trigrams = _trigrams(last_query)
    weights = _weights({word for text in texts for word in text.split()}, table)
    rows: List[Sequence[float]] = []
    for text in texts:
        words = set(text.split())
        trigrams = _trigrams(text)
        rows.append(
            (
                len(text.split()),
                len(words & last),
                len(words & last) / max(len(last), 1),  # 0 words without a session
                len(words & last) / len(words),
                len(words & earlier),
                len(words - last - earlier),
                2 * len(trigrams & last_trigrams) / (len(trigrams) + len(last_trigrams)),
                text.startswith(last_query + " "),
                last_query.startswith(text + " "),
                sum(weights[word] for word in words & (last | earlier))
                / sum(weights[word] for word in words),
            )
        )
    for name, column in zip(NAMES[NAMES.index("words") :], np.array(rows, np.float32).T):
        columns[name][:] = column


def _weights(words: Set[str], table: Optional[NextQueries]) -> Dict[str, float]:
    """Look up each word once, however many candidates have it."""
    return {word: 1.0 if table is None else table.word_weight(word) for word in words}


def _trigrams(text: str) -> Set[Tuple[str, str, str]]:
    padded = f"  {text} "
    return set(zip(padded, padded[1:], padded[2:]))
