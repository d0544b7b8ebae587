"""Candidates for a session from every source, each text once."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from mtn_preprocess.text.typed_queries import in_lower_case

from .edits import KINDS, edits
from .history import Past, own_queries
from .next_queries import NextQueries

# In the order of lists without a ranker.
SOURCES = ("history", "counts", "beam", "edits", "session")
HISTORY, COUNTS, BEAM, EDITS, SESSION = SOURCES
MAX_COUNTED = 20  # candidates from the counts that may be shown
MAX_MISSPELT = 3  # words of a misspelt query that is looked for in made-up text

# The field of a candidate for each source.
FIELD_OF = {
    HISTORY: "own",
    COUNTS: "counted",
    BEAM: "hypothesis",
    EDITS: "edit",
    SESSION: "queries_ago",
}


class Candidate(NamedTuple):
    """One text and its places in the sources; None for sources that do not have it."""

    text: str
    source: str  # the first of SOURCES that has it
    own: Optional[int] = None  # place among the person's earlier queries, from 0
    counted: Optional[int] = None  # place among the next queries by the counts, from 0
    hypothesis: Optional[int] = None  # place in the beam, from 0
    edit: Optional[int] = None  # index in edits.KINDS
    queries_ago: Optional[int] = None  # 2 for the query before the last


_Found = Dict[str, List[Any]]  # by text: the fields of its candidate
_NO_PLACES = [None] * len(FIELD_OF)
_COLUMN_OF = {source: Candidate._fields.index(field) for source, field in FIELD_OF.items()}


def gather(
    session: Sequence[str],
    table: Optional[NextQueries],
    beam: Sequence[str],
    sources: Sequence[str] = SOURCES,
    past: Optional[Past] = None,
    max_counted: int = MAX_COUNTED,
) -> List[Candidate]:
    """All candidates in the order of SOURCES, best first within each source.

    Args:
        session: its queries
        table: None for no counts and no edits
        beam: hypotheses of the model, best first
        sources: the sources in use
        past: of this person; None for a stranger
        max_counted: maximum number of candidates from the counts
    """
    found: _Found = {}
    if HISTORY in sources and past is not None:
        _add(found, HISTORY, own_queries(past))
    if COUNTS in sources and table is not None:
        _add(found, COUNTS, [text for text, _ in table.suggest(session, max_counted)])
    if BEAM in sources:
        _add(found, BEAM, [text for text in beam if not _is_broken(text, session, table)])
    if EDITS in sources and table is not None:
        for text, kind in edits(session, table):
            if not _is_broken(text, session, table):
                _put(found, text, EDITS, KINDS.index(kind))
    if SESSION in sources:
        _add(found, SESSION, session[::-1], start=1)
    # The last query is never the next one: the preparation merges successive equal queries.
    found.pop(in_lower_case(session[-1]), None)
    if table is not None:
        found = {text: places for text, places in found.items() if text not in table.misspelt}
    # `queries_ago` is set for candidates of every source.
    ago = {
        in_lower_case(query): place for place, query in reversed(list(enumerate(session[::-1], 1)))
    }
    for text, fields in found.items():
        fields[_COLUMN_OF[SESSION]] = ago.get(text)
    return list(map(Candidate._make, found.values()))


def _is_broken(text: str, session: Sequence[str], table: Optional[NextQueries]) -> bool:
    """Whether a text looks broken, unless people ask it."""
    words = text.split()
    if _repeats_words(words, session) or _is_fragment(words, table):
        return not _is_asked(text, table)
    return has_misspelt_part(text, table)


def _is_asked(text: str, table: Optional[NextQueries]) -> bool:
    return table is not None and table.queries.find(in_lower_case(text)) is not None


def _repeats_words(words: Sequence[str], session: Sequence[str]) -> bool:
    """Whether one or two words come twice in a row, unless they do so in the session."""
    if len(set(words)) == len(words):
        return False
    spans = [words[i : i + 2 * n] for n in (1, 2) for i in range(len(words) - 2 * n + 1)]
    twice = [span for span in spans if span[: len(span) // 2] == span[len(span) // 2 :]]
    typed = f" {' <q> '.join(session)} "
    return any(f" {' '.join(span)} " not in typed for span in twice)


def _is_fragment(words: Sequence[str], table: Optional[NextQueries]) -> bool:
    """Whether hardly any query starts or ends like this: `york hotels`, `hotels in`."""
    if table is None or not words:
        return False
    return words[0] in table.seldom_first or words[-1] in table.seldom_last


def has_misspelt_part(text: str, table: Optional[NextQueries]) -> bool:
    """Whether a part of the text is a misspelt query, unless people ask the text: `londen` of
    `londen hotels`."""
    words = text.split()
    if table is None or table.words_of_misspelt.isdisjoint(words):  # as nearly always
        return False
    parts = (
        " ".join(words[start : start + length])
        for length in range(1, min(len(words), MAX_MISSPELT) + 1)
        for start in range(len(words) - length + 1)
    )
    return any(part in table.misspelt for part in parts) and not _is_asked(text, table)


def _add(found: _Found, source: str, texts: Sequence[str], start: int = 0) -> None:
    for place, text in enumerate(texts, start):
        _put(found, text, source, place)


def _put(found: _Found, text: str, source: str, place: int) -> None:
    text = in_lower_case(text)
    if not text:
        return
    fields = found.get(text)
    if fields is None:
        fields = found[text] = [text, source, *_NO_PLACES]
    if fields[_COLUMN_OF[source]] is None:
        fields[_COLUMN_OF[source]] = place
