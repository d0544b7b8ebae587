"""Lists of suggestions: candidates of all sources, ranked.

suggester = Suggester.load("my-bundle")                   # a folder of mtn-export
suggester.suggest(["cheap flights", "cheap flights paris"], n=5)

Suggester.load(model="checkpoint_best.pt", data="data-bin", counts="next-queries", ranker="ranker")
has the same methods, but uses torch and fairseq: for research, and for any checkpoint.
"""

from functools import partial
from pathlib import Path
from typing import Callable, Counter, Iterator, List, Optional, Sequence, Union

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.typed_sessions import SessionReader

from .argument_checks import MAX_THREADS, check_number, check_whole
from .bundle.folder import Bundle
from .completion.lists import completion_lists
from .completion.ranker import CompletionRanker
from .conditions import Conditions
from .display_rules import DEFAULT as DEFAULT_RULES
from .display_rules import DisplayRules, read_rules
from .engine import Engine, HistorySize
from .explanation import Explanation, explain
from .following import Following
from .loading import AnyPath, Loaded, PartPaths, load_bundle, load_parts
from .next_queries import NextQueries
from .pipeline import IN_TURN, Described, Pipeline, Suggestion, batches
from .ranker import Ranker
from .session_checks import Histories, History, Session, check_prefixes, check_session

__all__ = ["IN_TURN", "Described", "Suggester", "Suggestion", "batches"]


class Suggester:
    """Makes lists of suggestions and completions. Any part may be missing.

    Without a ranker, candidates are in the order of their sources. A ranker needs the parts that it
    was fitted with, and sets the remaining options. Thread-safe: no state is kept between calls.
    Each call reads `pipeline` once, so its parts are of one version even if another thread reloads.

    Args:
        table: of next queries; without it, no counts and no edits
        trained: the model; without it, no beam
        ranker: sorts the candidates
        without: sources to leave out; None for those that the ranker was fitted without
        beam: hypotheses of the model; None for as many as the ranker was fitted with, or 30
        rules: what may be shown
        unrelated: whether a ranked list ends with candidates unrelated to the session
        completion_ranker: sorts completions
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
        parts = table, trained, ranker, without, beam, rules, unrelated, completion_ranker
        self._loaded = Loaded(Pipeline(*parts))
        self._load: Optional[Callable[[], Loaded]] = None

    @classmethod
    def load(
        cls,
        bundle: Optional[AnyPath] = None,
        *,
        model: Optional[AnyPath] = None,
        data: Optional[AnyPath] = None,
        counts: Optional[AnyPath] = None,
        ranker: Optional[AnyPath] = None,
        completion_ranker: Optional[AnyPath] = None,
        without: Optional[Sequence[str]] = None,
        beam: Optional[int] = None,
        cpu: bool = True,
        verify: bool = False,
        min_users: Optional[int] = None,
        block_list: Optional[AnyPath] = None,
        explicit: Optional[AnyPath] = None,
        personal_data: Optional[str] = None,
        unrelated: bool = False,
        threads: int = 1,
    ) -> "Suggester":
        """Load a bundle; or a checkpoint with its data folder, a table and a ranker.

        Args:
            min_users, block_list, explicit, personal_data: what may be shown, see `read_rules`;
                each replaces the bundle's own rule
            verify: read the whole table first and refuse it if its checksums differ; the other
                parts are always checked
            threads: threads per request for the model of a bundle

        Raises:
            InputError: a part is missing or damaged, parts do not belong together, or a number is
                out of bounds
        """
        if min_users is not None:
            check_whole("min_users", min_users, 0)
        check_whole("threads", threads, 1, MAX_THREADS)
        rules = partial(read_rules, min_users, block_list, explicit, personal_data)
        build = partial(Pipeline, without=without, beam=beam, unrelated=unrelated)
        parts = PartPaths(model, data, counts, ranker, completion_ranker)
        load: Callable[[], Loaded]
        if bundle is None:
            if (model, data, counts) == (None, None, None):
                raise InputError(
                    "nothing to suggest from",
                    "give a bundle, or counts, or a model and its data, or both",
                )
            load = partial(load_parts, parts, verify, cpu, rules, build)
        elif parts == PartPaths():
            load = partial(load_bundle, Path(bundle), verify, threads, rules, build)
        else:
            raise InputError(
                "a bundle has a model, counts and rankers of its own",
                "give the bundle alone, or swap its parts with mtn-export --update",
                bundle,
            )
        suggester = cls.__new__(cls)
        suggester._loaded, suggester._load = load(), load
        return suggester

    def reload(self) -> bool:
        """Load all parts again from the same place.

        Returns:
            False, without loading anything, if the bundle is unchanged. Parts outside a bundle have
            no version: they are always loaded again, and the result is True.

        Atomic: calls in progress finish with the old parts, and a refused folder changes nothing.
        """
        if self._load is None:
            raise InputError("this suggester was not loaded", "make it with Suggester.load")
        before = self.bundle
        if before is not None and before.is_current():
            return False
        self._loaded = self._load()
        return True

    @property
    def pipeline(self) -> Pipeline:
        return self._loaded.pipeline

    @property
    def bundle(self) -> Optional[Bundle]:
        """The bundle it was loaded from; None if the parts are separate."""
        return self._loaded.bundle

    @property
    def table(self) -> Optional[NextQueries]:
        return self.pipeline.table

    @property
    def ranker(self) -> Optional[Ranker]:
        return self.pipeline.ranker

    @property
    def conditions(self) -> Conditions:
        return self.pipeline.conditions

    @property
    def sources(self) -> Sequence[str]:
        """The sources in use."""
        return self.pipeline.sources

    @property
    def reader(self) -> SessionReader:
        """Reads typed text in the same way as the training text."""
        return self.pipeline.reader

    @property
    def model_reads(self) -> HistorySize:
        """How much of a history the model reads."""
        return self.pipeline.model_reads

    def check_text(self, prefix: str) -> None:
        """Refuse text, such as `text/valid`, that was prepared with other settings."""
        self.pipeline.check_text(prefix)

    def suggest(
        self, session: Session, n: int = 10, history: Optional[History] = None
    ) -> List[Suggestion]:
        """The best `n` suggestions for one session, all different; fewer if there are no more.
        Queries without a word, such as `!!!`, have none.

        Args:
            session: a list of queries, or a line of prepared text, which may contain earlier
                sessions
            history: earlier sessions of the same person, oldest first, each a list of queries
        """
        check_session(session)
        (found,) = self.suggest_many([session], n, [history])
        return found

    def suggest_many(
        self,
        sessions: Sequence[Session],
        n: int = 10,
        histories: Histories = None,
        held_back: Optional[Counter[str]] = None,
    ) -> List[List[Suggestion]]:
        """The result of `suggest` for each session, faster than one by one.

        Args:
            histories: one per session
            held_back: counter for candidates that may not be shown, by `display_rules.REASONS`
        """
        check_number(n)
        return self.pipeline.lists(sessions, n, histories, held_back)

    def complete(
        self,
        session: Session,
        prefix: str,
        n: int = 5,
        history: Optional[History] = None,
    ) -> List[Suggestion]:
        """The best `n` completions of the query being typed; see docs/completion.md.

        Args:
            session: as for `suggest`, but it may be empty
            prefix: the text typed so far; a space at its end means that the last word is finished;
                more than 500 characters have no completions
            history: as for `suggest`
        """
        check_session(session)
        (found,) = self.complete_many([session], [prefix], n, [history])
        return found

    def complete_many(
        self,
        sessions: Sequence[Session],
        prefixes: Sequence[str],
        n: int = 5,
        histories: Histories = None,
        held_back: Optional[Counter[str]] = None,
    ) -> List[List[Suggestion]]:
        """The result of `complete` for each session and prefix, faster than one by one."""
        check_number(n, "completions")
        check_prefixes(prefixes)
        return completion_lists(self.pipeline, sessions, prefixes, n, histories, held_back)

    def follow(self, session: Session, history: Optional[History] = None) -> Following:
        """An object with `suggest` and `complete` for this session, which is read and encoded once:
        each call is faster, with the same results.

        Args:
            session, history: as for `complete`
        """
        return Following.of(self.pipeline, session, history)

    def explain(
        self,
        session: Session,
        suggestion: Union[str, Suggestion],
        history: Optional[History] = None,
    ) -> Explanation:
        """Why a suggestion is in the list of a session, or why it is not.

        Args:
            session, history: as for `suggest`
            suggestion: one of the list, or any text
        """
        return explain(self.pipeline, session, suggestion, history)

    def describe(
        self,
        sessions: Sequence[Session],
        histories: Histories = None,
        held_back: Optional[Counter[str]] = None,
    ) -> Iterator[Described]:
        """The candidates of each session as the ranker sees them, batch by batch."""
        pipeline = self.pipeline
        for batch in batches(pipeline.requests(sessions, histories)):
            yield from pipeline.described(batch, held_back)
