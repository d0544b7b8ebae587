"""Completions of a prefix from every source, each text once.

    history    earlier queries of this person
    counts     queries that people asked after the last query, the last two, …
    session    earlier queries of the session, and its words after the finished words
    edits      the last query changed as people change queries
    popular    the most frequent queries, whatever came before
    beam       hypotheses of the model
    words      words that people type after the last finished word; ends of popular queries
    corrected  popular queries whose start differs by accents or one typing error, if there are few
               other completions that people asked

All but the last kind start exactly with the prefix.
"""

from itertools import chain
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence

from mtn_preprocess.text.typed_queries import in_lower_case

from ..candidates import Candidate, has_misspelt_part
from ..edits import edits
from ..history import Past
from ..next_queries import NextQueries
from .next_words import next_words
from .typed_prefix import Prefix
from .typing_errors import corrected_prefixes, with_other_accents

# In the order of lists without a ranker.
SOURCES = ("history", "counts", "session", "edits", "popular", "beam", "words", "corrected")
HISTORY, COUNTS, SESSION, EDITS, POPULAR, BEAM, WORDS, CORRECTED = SOURCES
# Sources that only completions have are switched on and off with the counts.
SWITCHED_WITH = {POPULAR: COUNTS, WORDS: COUNTS, CORRECTED: COUNTS}

MAX_OWN, MAX_COUNTED, MAX_SESSION, MAX_POPULAR, MAX_WORDS, MAX_CORRECTED = 20, 20, 10, 20, 5, 10
MIN_FOUND = 3  # typing errors are corrected if fewer completions that somebody asked are found
_ASKED = {HISTORY, COUNTS, POPULAR}  # other sources make up text, even after a typing error
_MADE_UP = {SESSION, EDITS, BEAM, WORDS}  # sources of text that perhaps nobody asked


class Completion(NamedTuple):
    """One text, and its place in each source that has it, from 0."""

    text: str
    source: str  # the first of SOURCES that has it
    places: Dict[str, int]  # by source
    queries_ago: Optional[int]  # 1 for the last query of the session

    @property
    def candidate(self) -> Candidate:
        """The completion as a `Candidate`, for display rules and features of lists."""
        get = self.places.get
        return Candidate(
            self.text, self.source, get(HISTORY), get(COUNTS), get(BEAM), None, self.queries_ago
        )


class Typed(NamedTuple):
    """One request."""

    prefix: Prefix
    session: Sequence[str]  # queries before; may be empty
    past: Past


def gather_completions(
    typed: Typed,
    table: Optional[NextQueries],
    beam: Sequence[str],
    sources: Sequence[str],
) -> List[Completion]:
    """All completions except corrected ones, in the order of SOURCES, best first in each source.

    Args:
        table: None for no counts
        beam: hypotheses of the model that start with the prefix, best first
        sources: the sources of suggestions in use
    """
    makers = {
        HISTORY: _own(typed),
        SESSION: _of_session(typed),
        BEAM: iter(beam),
    }
    if table is not None:
        makers[COUNTS] = _followers(typed, table)
        makers[EDITS] = _edits(typed, table)
        makers[POPULAR] = _popular(typed.prefix.text, table)
        makers[WORDS] = _words(typed.prefix, table)
    is_on = {source: SWITCHED_WITH.get(source, source) in sources for source in SOURCES}
    found: Dict[str, Dict[str, int]] = {}
    for source in SOURCES:
        if is_on[source] and source in makers:
            _add(found, source, makers[source], typed, table)
    return _completions(found, typed)


def gather_corrected(
    typed: Typed, table: NextQueries, shown: Sequence[Completion]
) -> List[Completion]:
    """Completions of corrected prefixes, if `shown` has few that somebody asked.

    Args:
        shown: the other completions that may be shown
    """
    if sum(not _ASKED.isdisjoint(each.places) for each in shown) >= MIN_FOUND:
        return []
    found: Dict[str, Dict[str, int]] = {}
    _add(found, CORRECTED, _corrected(typed.prefix, table), typed, table)
    known = {each.text for each in shown}
    return [each for each in _completions(found, typed) if each.text not in known]


def _completions(found: Dict[str, Dict[str, int]], typed: Typed) -> List[Completion]:
    ago = {query: place for place, query in reversed(list(enumerate(typed.session[::-1], 1)))}
    return [
        Completion(text, next(iter(places)), places, ago.get(text))
        for text, places in found.items()
    ]


def _add(
    found: Dict[str, Dict[str, int]],
    source: str,
    texts: Iterable[str],
    typed: Typed,
    table: Optional[NextQueries],
) -> None:
    """Add the texts of a source, except the prefix itself, the last query and misspelt queries, and
    what is made up of these."""
    misspelt = frozenset() if table is None else table.misspelt
    prefix, may_be_made_up = typed.prefix.text, source in _MADE_UP
    left_out = {prefix, prefix.rstrip(), *typed.session[-1:]}
    place = 0
    for text in map(in_lower_case, texts):
        if (
            text in left_out
            or text in misspelt
            or not (source == CORRECTED or text.startswith(prefix))
            or (may_be_made_up and has_misspelt_part(text, table))
        ):
            continue
        if found.setdefault(text, {}).setdefault(source, place) == place:
            place += 1


def _own(typed: Typed) -> List[str]:
    """Queries this person asked right after the last query, then their most frequent ones."""
    past, prefix = typed.past, typed.prefix.text
    own = [query for query in past.sessions_ago if query.startswith(prefix)]
    own.sort(key=lambda query: (-past.after_last.get(query, 0), -past.habit[query]))
    return own[:MAX_OWN]


def _followers(typed: Typed, table: NextQueries) -> Iterator[str]:
    """Queries that followed the session, longest context first."""
    numbers = table.queries.starting_with(typed.prefix.text)
    for context in reversed(table.contexts(typed.session)):
        items = table.followers[context][0]
        wanted = items[(items >= numbers.start) & (items < numbers.stop)]
        for number in wanted[:MAX_COUNTED].tolist():
            yield table.queries[number]


def _of_session(typed: Typed) -> List[str]:
    """Earlier queries; then the finished words plus a word of the session, alone or with all words
    after it."""
    finished, start = typed.prefix.finished, typed.prefix.open_word
    newest_first = list(dict.fromkeys(reversed(typed.session)))
    found = [query for query in newest_first if query.startswith(typed.prefix.text)]
    for query in newest_first:
        words = query.split()
        for place, word in enumerate(words):
            if word.startswith(start) and word not in finished:
                found.append(" ".join([*finished, word]))
                found.append(" ".join([*finished, *words[place:]]))
    return list(dict.fromkeys(found))[:MAX_SESSION]


def _edits(typed: Typed, table: NextQueries) -> Iterator[str]:
    if typed.session:
        for edit in edits(typed.session, table):
            if edit.text.startswith(typed.prefix.text):
                yield edit.text


def _popular(prefix: str, table: NextQueries, most: int = MAX_POPULAR) -> Iterator[str]:
    numbers = table.queries.starting_with(prefix)
    return (table.queries[number] for number in table.most_asked.of(numbers, most))


def _words(prefix: Prefix, table: NextQueries) -> Iterator[str]:
    """Text that perhaps nobody asked: the prefix plus words that people type.

    First, words after the last finished word. Then, for unusual first words, queries that start
    with the rest of the prefix: `reykjavik cheap ho` -> `cheap hotels`.
    """
    finished = prefix.finished
    if not finished:
        return
    for word in next_words(table, finished[-1], prefix.open_word, MAX_WORDS):
        yield " ".join([*finished, word])
    for dropped in range(1, len(finished) + 1):
        rest = " ".join([*finished[dropped:], prefix.open_word])
        if not rest:
            return
        tails = list(_popular(rest, table, MAX_WORDS))
        for tail in tails:
            yield " ".join([*finished[:dropped], tail])
        if tails:
            return


def _corrected(prefix: Prefix, table: NextQueries) -> Iterator[str]:
    """The most frequent queries with other accents, then those with a corrected error."""
    for corrected in (with_other_accents, corrected_prefixes):
        found = chain.from_iterable(
            table.most_asked.of(table.queries.starting_with(each), MAX_CORRECTED)
            for each in corrected(table.queries, prefix.text)
        )
        best_first = sorted(set(found), key=lambda number: (-int(table.asked[number]), number))
        yield from (table.queries[number] for number in best_first[:MAX_CORRECTED])
