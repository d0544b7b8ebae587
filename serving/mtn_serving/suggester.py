"""The final list of suggestions: candidates of every source, put in order.

suggester = Suggester.load("my-bundle")                   # a folder of mtn-export
suggester.suggest(["cheap flights", "cheap flights paris"], n=5)

Suggester.load(model="checkpoint_best.pt", data="data-bin", counts="next-queries", ranker="ranker")
has the same methods, with torch and fairseq: for research, and for any checkpoint.
"""

from functools import partial
from pathlib import Path
from typing import Callable, Counter, Iterator, List, Optional, Sequence, Union

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.typed_sessions import SessionReader

from .bundle.folder import Bundle
from .completion.lists import completion_lists
from .completion.ranker import CompletionRanker
from .conditions import Conditions
from .display_rules import DEFAULT as DEFAULT_RULES
from .display_rules import DisplayRules, read_rules
from .engine import Engine, HistorySize
from .explanation import Explanation, explain
from .following import Following, check_number
from .loading import AnyPath, Loaded, PartPaths, load_bundle, load_parts
from .next_queries import NextQueries
from .pipeline import IN_TURN, Described, Pipeline, Suggestion, batches
from .ranker import Ranker
from .session_checks import Histories, History, Session, check_session

__all__ = ["IN_TURN", "Described", "Suggester", "Suggestion", "batches"]


class Suggester:
    """Any part may be missing; without a ranker, candidates come in the order of their sources.

    A ranker is to be used with the parts that it was fitted with, and knows the rest by itself.
    Several threads may ask the same suggester: it keeps nothing between calls. Each call takes
    `pipeline` once, so that it is answered by parts of one version while another thread reloads.

    Args:
        table: what people asked next; without it, no counts and no edits
        trained: the model; without it, no beam
        ranker: puts them in order
        without: sources to leave out; None for those that the ranker was fitted without
        beam: hypotheses of the model; None for as many as the ranker was fitted with, or 30
        rules: what may be shown
        unrelated: whether a ranked list has, behind the rest, what has nothing to do with the
            session
        completion_ranker: puts completions in order
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
        """From a bundle; or from a checkpoint and its data folder, a table and a ranker.

        Args:
            min_users, block_list, explicit, personal_data: what may be shown, see `read_rules`; in
                the place of the bundle's rules, one by one
            verify: read the whole table first, and refuse it if it is not as it was written; of the
                other parts that is always done
            threads: of the model of a bundle, for one request
        """
        rules = partial(read_rules, min_users, block_list, explicit, personal_data)
        build = partial(Pipeline, without=without, beam=beam, unrelated=unrelated)
        parts = PartPaths(model, data, counts, ranker, completion_ranker)
        load: Callable[[], Loaded]
        if bundle is None:
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
        """Load all parts again, from where they were loaded; False if the bundle is the same.

        Whole or not at all: calls in progress end with the old parts, and a folder that is refused
        changes nothing.
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
        """What it was loaded from; None for other parts."""
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
        """Those that are switched on."""
        return self.pipeline.sources

    @property
    def reader(self) -> SessionReader:
        """Reads what is typed as the training text was."""
        return self.pipeline.reader

    @property
    def model_reads(self) -> HistorySize:
        """What the model reads of a history."""
        return self.pipeline.model_reads

    def check_text(self, prefix: str) -> None:
        """Refuse prepared text, named as `text/valid`, that was prepared with other settings."""
        self.pipeline.check_text(prefix)

    def suggest(
        self, session: Session, n: int = 10, history: Optional[History] = None
    ) -> List[Suggestion]:
        """The best `n` for one session, all different; fewer where there are no more.

        Args:
            session: its queries, or a line of prepared text, which may have earlier sessions itself
            history: earlier sessions of the same person, oldest first, each its queries
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
        """For each session what `suggest` gives for it, sooner than one by one.

        Args:
            histories: one for each session
            held_back: is added how many candidates may not be shown, by `display_rules.REASONS`
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
        """The best `n` completions of what is being typed after a session; see docs/completion.md.

        Args:
            session: as of `suggest`, but it may have no query yet
            prefix: as typed so far; a space at its end says that the last word is finished
            history: as of `suggest`
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
        """For each session and its prefix what `complete` gives, sooner than one by one."""
        check_number(n, "completions")
        return completion_lists(self.pipeline, sessions, prefixes, n, histories, held_back)

    def follow(self, session: Session, history: Optional[History] = None) -> Following:
        """A value that answers for this session as `suggest` and `complete` do, sooner: the session
        is read and encoded here, once.

        Args:
            session, history: as of `complete`
        """
        return Following.of(self.pipeline, session, history)

    def explain(
        self,
        session: Session,
        suggestion: Union[str, Suggestion],
        history: Optional[History] = None,
    ) -> Explanation:
        """Why it is in the list of a session, or why it is not.

        Args:
            session, history: as of `suggest`
            suggestion: of the list, or any text
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
