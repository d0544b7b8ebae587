"""The final list of suggestions: candidates of every source, put in order.

suggester = Suggester.load(model="checkpoint_best.pt", data="data-bin", counts="next-queries",
                           ranker="ranker")
suggester.suggest([["cheap flights", "cheap flights paris"]], n=5)
"""

from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Sequence, TypeVar, Union

import numpy as np

from ..data.session_text import (
    QUERY_SEPARATOR,
    decode_query,
    encode_query,
    is_separator,
    join_units,
    last_session,
    split_units,
)
from ..data.word_pieces import WORD_START, decode_pieces
from ..errors import InputError
from .beam_candidates import BeamCandidates
from .candidate_scores import Scores, score_candidates
from .candidates import BEAM, Candidate, gather, normalise
from .conditions import conditions_of
from .features import features
from .next_queries import NextQueries
from .ranker import Ranker
from .trained_model import TrainedModel

_AT_ONCE = 32  # sessions in one batch

Item = TypeVar("Item")
Session = Union[str, Sequence[str]]  # a line of prepared text, or the queries themselves


class Suggestion(NamedTuple):
    text: str
    score: float  # comparable within one list
    source: str  # see `candidates.SOURCES`


class Described(NamedTuple):
    """The candidates of one session, with what is known of them."""

    candidates: List[Candidate]
    features: np.ndarray  # (candidates, features.NAMES)


class Suggester:
    """Any part may be missing; without a ranker, candidates come in the order of their sources.

    A ranker is to be used with the parts that it was fitted with, and knows the rest by itself.

    Args:
        table: what people asked next; without it, no counts and no edits
        trained: the model; without it, no beam
        ranker: puts them in order
        without: sources to leave out; None for those that the ranker was fitted without
        beam: hypotheses of the model; None for as many as the ranker was fitted with, or 10
        repeats: whether queries of the session itself may be suggested again; None for as the
            ranker was fitted, or not
    """

    def __init__(
        self,
        table: Optional[NextQueries] = None,
        trained: Optional[TrainedModel] = None,
        ranker: Optional[Ranker] = None,
        without: Optional[Sequence[str]] = None,
        beam: Optional[int] = None,
        repeats: Optional[bool] = None,
    ) -> None:
        self.table, self.trained, self.ranker = table, trained, ranker
        fitted = None if ranker is None else ranker.conditions
        self.conditions = conditions_of(
            trained is not None, table is not None, without, beam, repeats, fitted
        )
        self.sources = self.conditions.sources
        self.beam = None
        if trained is not None and BEAM in self.sources:
            self.beam = BeamCandidates(trained, self.conditions.beam)

    @classmethod
    def load(
        cls,
        model: Optional[Union[str, Path]] = None,
        data: Optional[Union[str, Path]] = None,
        counts: Optional[Union[str, Path]] = None,
        ranker: Optional[Union[str, Path]] = None,
        without: Optional[Sequence[str]] = None,
        beam: Optional[int] = None,
        repeats: Optional[bool] = None,
        cpu: bool = True,
    ) -> "Suggester":
        """From a checkpoint and its data folder, a table and a ranker, as far as they are given."""
        if (model is None) != (data is None):
            raise InputError(
                "a model is its checkpoint and the folder of its dictionary",
                "give --model and --data together",
            )
        return cls(
            None if counts is None else NextQueries.open(Path(counts)),
            None if model is None else TrainedModel.load(Path(model), Path(str(data)), cpu),
            None if ranker is None else Ranker.load(Path(ranker)),
            without,
            beam,
            repeats,
        )

    def suggest(self, sessions: Sequence[Session], n: int = 10) -> List[List[Suggestion]]:
        """The best `n` for each session, all different; fewer where there are no more."""
        found: List[List[Suggestion]] = []
        for batch in batches([as_line(session) for session in sessions]):
            gathered = self._gather(batch)
            if self.ranker is None:
                found += [_in_order_of_sources(candidates) for candidates in gathered]
            else:
                found += map(self._ranked, self._describe(batch, gathered))
        return [
            [_as_typed(each, session) for each in suggestions[:n]]
            for suggestions, session in zip(found, sessions)
        ]

    def describe(self, sessions: Sequence[Session]) -> Iterator[Described]:
        """The candidates of each session as the ranker sees them, batch by batch."""
        for batch in batches([as_line(session) for session in sessions]):
            yield from self._describe(batch, self._gather(batch))

    def _gather(self, lines: Sequence[str]) -> List[List[Candidate]]:
        beams = [[] for _ in lines] if self.beam is None else self.beam(lines)
        return [
            [
                candidate
                for candidate in gather(queries_of(line), self.table, beam, self.sources)
                if self.conditions.repeats or candidate.queries_ago is None
            ]
            for line, beam in zip(lines, beams)
        ]

    def _describe(
        self, lines: Sequence[str], gathered: Sequence[Sequence[Candidate]]
    ) -> Iterator[Described]:
        scores: Sequence[Optional[Scores]] = [None] * len(lines)
        if self.trained is not None:
            texts = [[each.text for each in candidates] for candidates in gathered]
            scores = score_candidates(self.trained, lines, texts)
        for line, candidates, of_session in zip(lines, gathered, scores):
            known = features(queries_of(line), candidates, self.table, of_session)
            yield Described(list(candidates), known)

    def _ranked(self, described: Described) -> List[Suggestion]:
        if not described.candidates or self.ranker is None:
            return []
        candidates = described.candidates
        return [
            Suggestion(candidates[row].text, score, candidates[row].source)
            for row, score in self.ranker.order(described.features)
        ]


def _in_order_of_sources(candidates: Sequence[Candidate]) -> List[Suggestion]:
    return [
        Suggestion(each.text, float(-place), each.source) for place, each in enumerate(candidates)
    ]


def _as_typed(suggestion: Suggestion, session: Session) -> Suggestion:
    """For queries as they were typed, as it would be typed; for a prepared line, as prepared."""
    if isinstance(session, str):
        return suggestion
    return suggestion._replace(text=decode_query(suggestion.text))


def batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]


def queries_of(line: str) -> List[str]:
    return split_units(last_session(line), level=1)


def as_line(session: Session) -> str:
    """In words, as the preparation writes it: lower case, and no empty query."""
    if isinstance(session, str):
        words = _prepared_words(session)
    else:
        queries = [encode_query(_readable(query)) for query in session]
        words = join_units(filter(None, queries), level=1).split()
    kept: List[str] = []
    for word in words:
        if not is_separator(word) or (kept and not is_separator(kept[-1])):
            kept.append(word)
        elif kept and kept[-1] == QUERY_SEPARATOR:
            kept[-1] = word  # of an empty query; the one between sessions stays
    if kept and is_separator(kept[-1]):
        kept.pop()
    if not kept:
        raise InputError("a session without a query", "give at least one")
    return " ".join(kept)


def has_query(line: str) -> bool:
    return not all(map(is_separator, _prepared_words(line)))


def _prepared_words(line: str) -> List[str]:
    """Of a line in words, or in word pieces, which begins with the mark of a word's first piece."""
    text = " ".join(line.split())
    return _readable(decode_pieces(text) if text.startswith(WORD_START) else text).split()


def _readable(text: str) -> str:
    """Bytes that are no UTF-8, which Python hands on in disguise, become question marks."""
    return normalise(text.encode("utf-8", errors="replace").decode("utf-8"))
