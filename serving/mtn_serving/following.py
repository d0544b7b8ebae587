"""Follow a session while somebody types: it is read and encoded once, and used at each key.

following = suggester.follow(["paris hotels"])
following.complete("lon", n=5)
following.suggest(n=5)
following = following.then("london")  # a new object: the session with one more query

Only the caller keeps it. `then` encodes only the new query, if the engine supports that.
"""

from typing import List, NamedTuple, Optional

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import QUERY_SEPARATOR

from .argument_checks import check_number
from .completion.completer import Asked
from .completion.lists import completed
from .completion.typed_prefix import read_prefix
from .engine import Sources
from .pipeline import Pipeline, Suggestion
from .request import Request, read_request
from .session_checks import (
    History,
    Session,
    check_histories,
    check_prefix,
    check_sessions,
    may_be_wordless,
)


class Following(NamedTuple):
    """One session, read and encoded. It keeps its parts even if a new version is loaded.

    Immutable, so thread-safe.
    """

    pipeline: Pipeline
    session: Session
    history: Optional[History]
    request: Request  # session and history, read; the session may be empty
    sources: Optional[Sources]  # for the model; None without a model or a query

    @classmethod
    def of(
        cls,
        pipeline: Pipeline,
        session: Session,
        history: Optional[History],
        shorter: Optional[Sources] = None,
    ) -> "Following":
        """Read and encode a session.

        Args:
            shorter: sources of the session without its last query
        """
        check_sessions([session])
        check_histories([history], [session])
        request = read_request(session, history, pipeline.reader, may_be_empty=True)
        sources = pipeline.sources_of([request], shorter) if request.session else None
        return cls(pipeline, session, history, request, sources)

    def then(self, query: str) -> "Following":
        """The session with one more query."""
        if isinstance(self.session, str):
            longer: Session = f"{self.session} {QUERY_SEPARATOR} {query}"
        else:
            longer = [*self.session, query]
        return self.of(self.pipeline, longer, self.history, self.sources)

    def suggest(self, n: int = 10) -> List[Suggestion]:
        """The same as `Suggester.suggest` for the session and its history."""
        check_number(n)
        if not self.request.session:
            if may_be_wordless(self.session):
                return []
            raise InputError("a session without a query", "give at least one")
        (found,) = self.pipeline.suggestions([self.request], self.sources)
        return [self.pipeline.shown(each, self.session) for each in found[:n]]

    def complete(self, prefix: str, n: int = 5) -> List[Suggestion]:
        """The same as `Suggester.complete` for the session and its history."""
        check_number(n, "completions")
        check_prefix(prefix)
        asked = Asked(self.request, read_prefix(prefix, self.pipeline.reader))
        if not asked.prefix.text:
            return self.suggest(n) if asked.is_for_suggestions else []
        (found,) = completed(self.pipeline, [asked], sources=self.sources)
        return [self.pipeline.shown(each, self.session) for each in found[:n]]
