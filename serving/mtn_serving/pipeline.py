"""Turn sessions into lists: requests, candidates, features, ranking."""

from pathlib import Path
from typing import Callable, Counter, Iterator, List, NamedTuple, Optional, Sequence, TypeVar

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import decode_query
from mtn_preprocess.text.text_settings import NAME as SETTINGS
from mtn_preprocess.text.text_settings import SettingsOf, agreed_settings, read_settings
from mtn_preprocess.text.typed_sessions import SessionReader

from .candidates import BEAM, Candidate
from .completion.ranker import CompletionRanker
from .conditions import conditions_of
from .display_rules import DEFAULT as DEFAULT_RULES
from .display_rules import DisplayFilter, DisplayRules
from .engine import Engine, HistorySize, Hypotheses, Scores, Sources
from .features import Known, features_of_batch
from .history import Past, past_of
from .next_queries import NextQueries
from .ranker import Ranker
from .request import Request, read_request
from .session_checks import Histories, Session, check_histories, check_sessions, may_be_wordless
from .shown_candidates import gather_shown

IN_TURN = "in turn"  # the rule of lists without a ranker: one source after the other

_BATCH_SIZE = 32  # sessions per batch

Item = TypeVar("Item")


class Suggestion(NamedTuple):
    text: str  # to show: as most people typed it, if known
    score: float  # descending within a rule; with a ranker, a probability
    source: str  # see `candidates.SOURCES`
    rule: str  # one of `list_rules.RULES`, or IN_TURN without a ranker
    query: str  # as in prepared text: this is scored


class Described(NamedTuple):
    """The candidates of one session with their features."""

    candidates: List[Candidate]
    features: np.ndarray  # (candidates, features.NAMES)


class Pipeline:
    """The parts of a suggester. Immutable, so thread-safe. Arguments as for `Suggester`.

    Raises:
        InputError: the parts do not fit together
    """

    def __init__(
        self,
        table: Optional[NextQueries] = None,
        trained: Optional[Engine] = None,
        ranker: Optional[Ranker] = None,
        without: Optional[Sequence[str]] = None,
        beam: Optional[int] = None,
        rules: DisplayRules = DEFAULT_RULES,
        unrelated: bool = False,
        completion_ranker: Optional[CompletionRanker] = None,
    ) -> None:
        if unrelated and ranker is None:
            raise InputError(
                "`unrelated` needs a ranker",
                "give a ranker, or leave out `unrelated`",
            )
        self.table, self.trained, self.ranker = table, trained, ranker
        self.completion_ranker = completion_ranker
        self.unrelated = unrelated
        rankers = [each for each in (ranker, completion_ranker) if each is not None]
        self._texts = _texts_of(table, trained, rankers)
        text = agreed_settings(self._texts)
        self.reader = SessionReader(text)
        at_hand = trained is not None, table is not None, without, beam
        fitted = None if ranker is None else ranker.conditions
        self.conditions = conditions_of(*at_hand, fitted, text)
        if completion_ranker is not None:
            conditions_of(*at_hand, completion_ranker.conditions, text)  # refuses other conditions
        self.sources = self.conditions.sources
        self.display = DisplayFilter(rules, table, text)
        self.model_reads = HistorySize(0, 0) if trained is None else trained.history_size
        self.beam = None
        if trained is not None and BEAM in self.sources:
            self.beam = trained.beam_search(self.conditions.beam)

    def check_text(self, prefix: str) -> None:
        """Refuse text, such as `text/valid`, that was prepared with other settings."""
        folder = Path(prefix).parent
        agreed_settings([*self._texts, (folder / SETTINGS, read_settings(folder))])

    def lists(
        self,
        sessions: Sequence[Session],
        n: int,
        histories: Histories = None,
        held_back: Optional[Counter[str]] = None,
    ) -> List[List[Suggestion]]:
        """The best `n` for each session; see `Suggester.suggest_many`."""
        requests = self.requests(sessions, histories, may_be_wordless)
        asked = [place for place, request in enumerate(requests) if request.session]
        found: List[List[Suggestion]] = [[] for _ in requests]
        for places in batches(asked):
            batch = [requests[place] for place in places]
            asks_model = self.ranker is not None or self.beam is not None
            sources = self.sources_of(batch) if asks_model else None
            for place, suggestions in zip(places, self.suggestions(batch, sources, held_back)):
                found[place] = [self.shown(each, sessions[place]) for each in suggestions[:n]]
        return found

    def suggestions(
        self,
        requests: Sequence[Request],
        sources: Optional[Sources],
        held_back: Optional[Counter[str]] = None,
    ) -> List[List[Suggestion]]:
        """All suggestions for each request of one batch, best first, as in prepared text.

        Args:
            sources: from `sources_of`; None if the model is not used
        """
        if self.ranker is None:
            pasts, beams = list(map(self.past, requests)), self._beams(requests, sources)
            return list(map(_in_order_of_sources, self._gather(requests, pasts, beams, held_back)))
        described = self._described(requests, sources, held_back)
        ranked = self.ranker.order_many([each.features for each in described], self.unrelated)
        return [
            [_suggestion(each.candidates[one.row], one.probability, one.rule) for one in rows]
            for each, rows in zip(described, ranked)
        ]

    def requests(
        self,
        sessions: Sequence[Session],
        histories: Histories = None,
        may_be_empty: Callable[[Session], bool] = lambda session: False,
    ) -> List[Request]:
        """Args:
        may_be_empty: whether a session may have no query once it is read
        """
        check_sessions(sessions)
        check_histories(histories, sessions)
        known = histories or [None] * len(sessions)
        return [
            read_request(session, history, self.reader, may_be_empty(session))
            for session, history in zip(sessions, known)
        ]

    def described(
        self, requests: Sequence[Request], held_back: Optional[Counter[str]] = None
    ) -> List[Described]:
        """The candidates of one batch that may be shown, with features."""
        return self._described(requests, self.sources_of(requests), held_back)

    def _described(
        self,
        requests: Sequence[Request],
        sources: Optional[Sources],
        held_back: Optional[Counter[str]],
    ) -> List[Described]:
        scores: Sequence[Optional[Scores]] = [None] * len(requests)
        pasts = list(map(self.past, requests))
        beams = self._beams(requests, sources)
        gathered = self._gather(requests, pasts, beams, held_back)
        if self.trained is not None and sources is not None:
            texts = [[each.text for each in candidates] for candidates in gathered]
            scores = self.trained.scores(sources, texts, beams)
        sessions = [request.session for request in requests]
        batch = list(map(Known, sessions, gathered, scores, pasts))
        return list(map(Described, gathered, features_of_batch(batch, self.table)))

    def shown(self, suggestion: Suggestion, session: Session) -> Suggestion:
        """The suggestion as people typed it, if known; otherwise unescaped, unless the session is a
        line of prepared text."""
        text = self.display.form(suggestion.query)
        if text is None and not isinstance(session, str):
            text = decode_query(suggestion.query)
        if text is None or text == suggestion.text:
            return suggestion
        return suggestion._replace(text=text)

    def sources_of(
        self, requests: Sequence[Request], shorter: Optional[Sources] = None
    ) -> Optional[Sources]:
        """The requests in the form that the model reads; None without a model.

        Args:
            shorter: sources of the session that the only request grew from
        """
        if self.trained is None:
            return None
        lines = [request.fitted(self.model_reads).line for request in requests]
        if shorter is not None:
            return self.trained.longer(lines[0], shorter)
        return self.trained.sources(lines)

    def _beams(
        self, requests: Sequence[Request], sources: Optional[Sources]
    ) -> Sequence[Hypotheses]:
        """The hypotheses of the model; empty if it is not used."""
        if self.beam is None or sources is None:
            return [Hypotheses([])] * len(requests)
        return self.beam(sources)

    def _gather(
        self,
        requests: Sequence[Request],
        pasts: Sequence[Past],
        beams: Sequence[Hypotheses],
        held_back: Optional[Counter[str]],
    ) -> List[List[Candidate]]:
        """The candidates that may be shown."""
        found = []
        parts = self.table, self.sources, self.display, self.display.verdicts()
        for request, past, beam in zip(requests, pasts, beams):
            gathered = gather_shown(request, past, beam.texts, *parts)
            found.append(gathered.shown)
            if held_back is not None:
                held_back.update(gathered.held_back)
        return found

    def past(self, request: Request) -> Past:
        """The person's history; empty if the ranker was fitted without histories."""
        knows_pasts = self.ranker is None or self.ranker.conditions.history
        return past_of(request.history if knows_pasts else (), request.session[-1])


def batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _BATCH_SIZE):
        yield items[start : start + _BATCH_SIZE]


def _in_order_of_sources(candidates: Sequence[Candidate]) -> List[Suggestion]:
    return [_suggestion(each, float(-place), IN_TURN) for place, each in enumerate(candidates)]


def _suggestion(candidate: Candidate, score: float, rule: str) -> Suggestion:
    return Suggestion(candidate.text, score, candidate.source, rule, candidate.text)


def _texts_of(
    table: Optional[NextQueries], trained: Optional[Engine], rankers: Sequence[Ranker]
) -> List[SettingsOf]:
    """The text settings of each part, with their files."""
    texts: List[SettingsOf] = []
    if trained is not None:
        texts.append((trained.settings_file, trained.text_settings))
    if table is not None:
        texts.append((table.header, table.text_settings))
    texts += [(ranker.header, ranker.conditions.text) for ranker in rankers]
    return texts
