"""Collect the completions of a prefix that may be shown, with features."""

from itertools import chain
from typing import Counter, List, NamedTuple, Optional, Protocol, Sequence, runtime_checkable

import numpy as np

from ..candidates import BEAM
from ..display_rules import DisplayFilter, OwnText
from ..engine import Engine, HistorySize, Hypotheses, Scores, Sources
from ..history import past_of
from ..next_queries import NextQueries
from ..request import Request
from .candidates import (
    CORRECTED,
    SWITCHED_WITH,
    Completion,
    Typed,
    gather_completions,
    gather_corrected,
)
from .features import completion_features
from .typed_prefix import Prefix

BEAM_SIZE = 10  # hypotheses of the model


@runtime_checkable
class CompletingEngine(Protocol):
    """An engine that can complete a prefix; torch's cannot."""

    def complete(
        self, sources: Sources, prefixes: Sequence[str], beam: int
    ) -> List[Hypotheses]: ...


class DescribedCompletions(NamedTuple):
    """The completions of one request that may be shown, with features."""

    completions: List[Completion]
    features: np.ndarray  # (completions, features.NAMES)


class Asked(NamedTuple):
    """One request: a prefix, and the session before it."""

    request: Request  # the session may be empty
    prefix: Prefix

    @property
    def is_for_suggestions(self) -> bool:
        """Whether nothing is typed yet after a session: the list is that of `suggest`."""
        return bool(self.request.session) and self.prefix == Prefix("")


class Completer:
    """Collects completions. Keeps no state between calls.

    Args:
        table: of next queries
        trained: the model; may be None
        display: what may be shown
        sources: the sources of suggestions in use
        model_reads: how much of a history the model reads
    """

    def __init__(
        self,
        table: Optional[NextQueries],
        trained: Optional[Engine],
        display: DisplayFilter,
        sources: Sequence[str],
        model_reads: HistorySize,
    ) -> None:
        self.table, self.trained, self.display = table, trained, display
        self.sources, self.model_reads = sources, model_reads

    def completions(
        self,
        asked: Sequence[Asked],
        held_back: Optional[Counter[str]] = None,
        sources: Optional[Sources] = None,
    ) -> List[List[Completion]]:
        """The completions of one batch that may be shown, in the order of their sources.

        Args:
            sources: requests with a session, in the form that the model reads; None to make them
        """
        if sources is None and self._has_beam:
            sources = self._sources(asked)
        return self._gather(asked, self._beams(asked, sources), held_back)

    def described(
        self,
        asked: Sequence[Asked],
        held_back: Optional[Counter[str]] = None,
        sources: Optional[Sources] = None,
    ) -> List[DescribedCompletions]:
        """The same as `completions`, with features."""
        sources = self._sources(asked) if sources is None else sources
        beams = self._beams(asked, sources)
        gathered = self._gather(asked, beams, held_back)
        scores = self._scores(asked, gathered, sources, beams)
        return [
            DescribedCompletions(
                found, completion_features(_typed(each), found, self.table, of_request)
            )
            for each, found, of_request in zip(asked, gathered, scores)
        ]

    @property
    def _has_beam(self) -> bool:
        return BEAM in self.sources and isinstance(self.trained, CompletingEngine)

    def _sources(self, asked: Sequence[Asked]) -> Optional[Sources]:
        """Requests with a session, in the form that the model reads; None if there are none."""
        lines = [
            each.request.fitted(self.model_reads).line for each in asked if each.request.session
        ]
        return self.trained.sources(lines) if self.trained is not None and lines else None

    def _beams(self, asked: Sequence[Asked], sources: Optional[Sources]) -> List[Hypotheses]:
        """Hypotheses for the requests with a session; empty if the model is not used."""
        if sources is None or not self._has_beam:
            return []
        assert isinstance(self.trained, CompletingEngine)
        prefixes = [each.prefix.text for each in asked if each.request.session]
        return self.trained.complete(sources, prefixes, BEAM_SIZE)

    def _gather(
        self,
        asked: Sequence[Asked],
        beams: Sequence[Hypotheses],
        held_back: Optional[Counter[str]],
    ) -> List[List[Completion]]:
        of_request = iter(beams)
        found = []
        for each in asked:
            beam = next(of_request).texts if beams and each.request.session else []
            typed = _typed(each)
            completions = gather_completions(typed, self.table, beam, self.sources)
            shown = self._shown(each, completions, held_back)
            if self.table is not None and SWITCHED_WITH[CORRECTED] in self.sources:
                corrected = gather_corrected(typed, self.table, shown)
                shown += self._shown(each, corrected, held_back)
            found.append(shown)
        return found

    def _shown(
        self, asked: Asked, completions: List[Completion], held_back: Optional[Counter[str]]
    ) -> List[Completion]:
        """The completions that may be shown. Finished words count as the person's own text."""
        request = asked.request
        typed = " ".join(asked.prefix.finished)
        own = OwnText(request.session, chain([typed], *request.history))
        candidates = [each.candidate for each in completions]
        kept = {each.text for each in self.display.shown(candidates, own, held_back)}
        return [each for each in completions if each.text in kept]

    def _scores(
        self,
        asked: Sequence[Asked],
        gathered: Sequence[List[Completion]],
        sources: Optional[Sources],
        beams: Sequence[Hypotheses],
    ) -> List[Optional[Scores]]:
        if self.trained is None or sources is None:
            return [None] * len(asked)
        texts = [
            [each.text for each in found]
            for found, one in zip(gathered, asked)
            if one.request.session
        ]
        of_request = iter(self.trained.scores(sources, texts, beams))
        return [next(of_request) if each.request.session else None for each in asked]


def _typed(asked: Asked) -> Typed:
    request = asked.request
    last = request.session[-1] if request.session else ""
    return Typed(asked.prefix, request.session, past_of(request.history, last))
