"""The features of candidates: numbers, NaN if unknown."""

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

import numpy as np

from .candidates import Candidate
from .engine import Scores
from .history import Past
from .next_queries import NextQueries
from .once import Once
from .word_features import CandidateWords

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

# Counts in the person's history.
_COUNTS_OF_OWN = (
    "own_sessions",
    "own_last_asked",
    "own_asked",
    "own_habit",
    "own_sessions_with_it",
    "own_after_last",
)

# Fields of a candidate, and the names of their features.
_PLACES = {
    "counted": "counted_place",
    "hypothesis": "hypothesis_place",
    "edit": "edit_kind",
    "queries_ago": "queries_ago",
    "own": "own_place",
}

AnyRows = TypeVar("AnyRows", np.ndarray, List[str])
Columns = Dict[str, np.ndarray]  # by name: a feature of all candidates of a batch


class Known(NamedTuple):
    """What is known about the candidates of one session."""

    session: Sequence[str]
    candidates: Sequence[Candidate]
    scores: Optional[Scores] = None  # of the model
    past: Optional[Past] = None  # of this person; None for a stranger


def features(
    session: Sequence[str],
    candidates: Sequence[Candidate],
    table: Optional[NextQueries],
    scores: Optional[Scores],
    past: Optional[Past] = None,
) -> np.ndarray:
    """(candidates, NAMES)"""
    return features_of_batch([Known(session, candidates, scores, past)], table)[0]


def features_of_batch(batch: Sequence[Known], table: Optional[NextQueries]) -> List[np.ndarray]:
    """(candidates, NAMES) for each session; computed for all at once, because numpy takes longer to
    start than to compute a column of one list."""
    sizes = np.array([len(each.candidates) for each in batch])
    candidates = [candidate for each in batch for candidate in each.candidates]
    texts = [candidate.text for candidate in candidates]
    found = np.full((len(NAMES), len(texts)), np.nan, dtype=np.float32)
    columns = dict(zip(NAMES, found))
    if texts:
        columns["queries"][:] = np.repeat([len(each.session) for each in batch], sizes)
        columns["last_words"][:] = np.repeat(
            [len(each.session[-1].split()) for each in batch], sizes
        )
        _add_places(columns, candidates)
        _add_history(columns, batch)
        if table is not None:
            _add_counts(columns, batch, sizes, texts, table)
        words = CandidateWords(_split(texts, sizes), table)
        _add_model(columns, batch, sizes, words)
        of_words = words.features([each.session for each in batch])
        for name, column in zip(NAMES[NAMES.index("words") :], of_words):
            columns[name][:] = column
        _add_made_up(columns, sizes)
    return _split(found.T.copy(), sizes)


def _rows(batch: Sequence[Known]) -> Iterator[slice]:
    """The rows of each session."""
    end = 0
    for each in batch:
        start, end = end, end + len(each.candidates)
        yield slice(start, end)


def _add_places(columns: Columns, candidates: Sequence[Candidate]) -> None:
    first = Candidate._fields.index("own")  # the first of the places
    places = np.array([candidate[first:] for candidate in candidates], dtype=np.float32)
    for field, column in zip(Candidate._fields[first:], places.T):
        columns[_PLACES[field]][:] = column


def _add_history(columns: Columns, batch: Sequence[Known]) -> None:
    """For a stranger, counts are 0, as for queries never asked, and shares are unknown."""
    for name in _COUNTS_OF_OWN:
        columns[name][:] = 0
    for each, rows in zip(batch, _rows(batch)):
        if each.past is not None and each.past.sessions:
            of_session = {name: column[rows] for name, column in columns.items()}
            _add_past(of_session, [candidate.text for candidate in each.candidates], each.past)


def _add_past(columns: Columns, texts: Sequence[str], past: Past) -> None:
    columns["own_sessions"][:] = past.sessions
    columns["own_last_asked"][:] = past.last in past.asked
    columns["own_asked"][:] = np.log1p([past.asked.get(text, 0) for text in texts])
    columns["own_habit"][:] = [past.habit.get(text, 0.0) for text in texts]
    columns["own_sessions_with_it"][:] = [past.asked_in.get(text, 0) for text in texts]
    columns["own_sessions_ago"][:] = [past.sessions_ago.get(text, np.nan) for text in texts]
    columns["own_after_last"][:] = [past.after_last.get(text, 0) for text in texts]
    columns["own_share_of_sessions"][:] = columns["own_sessions_with_it"] / past.sessions
    followed = sum(past.after_last.values())
    if followed:
        columns["own_share_after_last"][:] = columns["own_after_last"] / followed


def _add_counts(
    columns: Columns,
    batch: Sequence[Known],
    sizes: np.ndarray,
    texts: Sequence[str],
    table: NextQueries,
) -> None:
    find = Once(table.queries.find)
    numbers = [find[text] for text in texts]
    last = _counts_of(table.asked, [find[each.session[-1]] for each in batch])
    columns["last_asked"][:] = np.repeat(np.log1p(last), sizes)
    asked_next = _counts_of(table.asked_next, numbers)
    columns["asked"][:] = np.log1p(_counts_of(table.asked, numbers))
    columns["asked_next"][:] = np.log1p(asked_next)
    if table.has_users:
        columns["people"][:] = np.log1p(_counts_of(table.users, numbers))
    columns["people_after"][:] = 0
    totals = np.full((len(CONTEXT_LENGTHS), len(batch)), np.nan)
    for place, (each, rows) in enumerate(zip(batch, _rows(batch))):
        contexts = table.contexts(each.session)
        for length, context in zip(CONTEXT_LENGTHS, contexts):
            counts = table.followers[context]
            totals[length - 1, place] = counts[1].sum()
            found = _counts_after(counts, numbers[rows])
            columns[f"count_after_{length}"][rows] = found
            if length == 1:
                if table.follower_users is not None:
                    found = _counts_after(table.follower_users[context], numbers[rows])
                columns["people_after"][rows] = found
    columns["last_followed"][:] = np.repeat(np.log1p(np.nan_to_num(totals[0])), sizes)
    for length, total in zip(CONTEXT_LENGTHS, totals.repeat(sizes, axis=1)):
        columns[f"share_after_{length}"][:] = columns[f"count_after_{length}"] / total
    # Log of the frequency after the last query over the frequency after any query.
    after = (columns["count_after_1"] + 0.1) / (totals[0].repeat(sizes) + 1)
    anywhere = (asked_next + 1) / (table.total_asked_next + 1)
    columns["lift_after"][:] = np.log(after / anywhere)


def _counts_of(counts: np.ndarray, numbers: Sequence[Optional[int]]) -> np.ndarray:
    """The counts of queries; 0 for queries that are not in the table."""
    places = np.array([-1 if number is None else number for number in numbers])
    known = places >= 0
    found = np.zeros(len(places))
    found[known] = counts[places[known]]
    return found


def _counts_after(
    followers: Tuple[np.ndarray, np.ndarray], numbers: Sequence[Optional[int]]
) -> List[int]:
    count_of = dict(zip(*(each.tolist() for each in followers)))
    return [count_of.get(number, 0) for number in numbers]


def _add_model(
    columns: Columns, batch: Sequence[Known], sizes: np.ndarray, words: CandidateWords
) -> None:
    if all(each.scores is None for each in batch):
        return
    unknown = [Scores(*np.full((3, size), np.nan)) for size in sizes]
    score, tokens, unknown_words = map(
        np.concatenate,
        zip(*(each.scores or none for each, none in zip(batch, unknown))),
    )
    best = _of_each(np.maximum, score, sizes)
    columns["log_probability"][:] = score
    columns["log_probability_per_token"][:] = score / tokens
    columns["below_best"][:] = score - best
    columns["unknown_words"][:] = unknown_words
    in_order = np.lexsort((-score, np.repeat(np.arange(len(sizes)), sizes)))
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns["model_place"][in_order] = np.arange(len(score)) - first
    columns["model_place"][np.isnan(score)] = np.nan
    weights = np.exp(score - best)
    weights /= _of_each(np.add, weights, sizes)
    columns["agreement"][:] = words.agreement(weights)


def _add_made_up(columns: Columns, sizes: np.ndarray) -> None:
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
    asked = np.where(made_up, np.nan, score)
    columns["above_asked"][:] = score - _of_each(np.fmax, asked, sizes)  # without NaN, if possible
    known = columns["asked_next"] > 0
    columns["lift_by_model"][known] = (score - columns["asked_next"])[known]


def _of_each(function: np.ufunc, values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The sum or maximum of the rows of each session, repeated for each of its rows."""
    sizes = sizes[sizes > 0]
    return function.reduceat(values, np.cumsum(sizes) - sizes).repeat(sizes)


def _split(rows: AnyRows, sizes: np.ndarray) -> List[AnyRows]:
    """The rows of each session."""
    ends: List[int] = np.cumsum(sizes).tolist()
    return [rows[start:end] for start, end in zip([0, *ends], ends)]
