"""Make the table of next queries from counted training text."""

from array import array
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np

from mtn_preprocess.text.personal_data import has_personal_data
from mtn_preprocess.text.session_pairs import Pair
from mtn_preprocess.text.text_settings import TextSettings

from .counted_text import NONE, CountedText, Events, renumber_contexts
from .fingerprints import fingerprints
from .misspellings import misspelt_queries
from .next_queries import Followers, NextQueries
from .ranked_lists import RankedLists
from .tally import count_text
from .text_pool import TextPool
from .typed_words import TypedWords, count_typed_words
from .word_changes import change_between

MAX_CONTEXT = 3  # queries per context
MAX_QUERIES_OF_WORD = 100
MIN_CHANGES = 2  # pairs of queries with the same change; most changes occur in only one pair

_HIGH = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def count_next_queries(
    pairs: Iterable[Pair],
    users: Optional[Iterable[int]] = None,
    min_users: int = 1,
    longest: int = MAX_CONTEXT,
    text: Optional[TextSettings] = None,
    forms: Optional[Mapping[str, str]] = None,
) -> NextQueries:
    """The table of one text; see `count_text` and `table_of`."""
    return table_of(count_text(pairs, longest, users, text, forms), min_users)


def count_followers(pairs: Iterable[Pair], longest: int) -> Followers:
    """Count only the part of the table that baselines need."""
    counted = count_text(pairs, longest)
    return _followers(counted, np.ones(len(counted.queries), dtype=bool))


def table_of(counted: CountedText, min_users: int = 1, state: Optional[str] = None) -> NextQueries:
    """Make the table. Equal counts make byte-identical tables, however the text was added.

    Args:
        min_users: queries that fewer people asked are left out of the whole table, as are words
            and word pairs that fewer people typed
        state: key by which `counting_state` finds the counts; None if they are not kept
    """
    queries = _asked(counted)
    enough = (queries.people >= min_users) | (min_users <= 1)
    kept = enough & (queries.asked > 0)
    followers = _followers(counted, kept)
    asked = queries.asked[kept]
    personal = _personal(counted)
    changes = _changes(followers, personal)
    typed = _typed_words(counted, queries, min_users, followers.queries, changes, personal)
    shown = [number for number, query in enumerate(followers.queries) if query in counted.forms]
    forms = TextPool.in_order(counted.forms[followers.queries[number]] for number in shown)
    arrays = {
        "context_keys": followers.context_keys,
        "asked": asked,
        "asked_next": queries.asked_next[kept],
        **_people(followers, queries.people[kept]),
        "left_out": fingerprints(_chosen(counted.queries, ~kept)),
        **{name: getattr(typed, name) for name in typed.types()},
        "shown": np.asarray(shown, dtype=np.uint32),
        "misspelt": np.fromiter(misspelt_queries(followers, asked), dtype=np.uint32),
        **forms.arrays("forms"),
        **followers.queries.arrays("queries"),
        **typed.words.arrays("words"),
        **followers.followers.arrays("followers"),
        **_queries_of_word(followers.queries, typed.words, asked).arrays("queries_of_word"),
        **_rank_changes(changes, typed.words).arrays("changes"),
    }
    facts = {
        **_facts(counted, min_users),
        "queries": len(followers.queries),
        "contexts": len(followers.context_keys),
        "shown_in_another_form": len(shown),
        "queries_of_too_few_users": int((~enough).sum()),
        "queries_of_long_ago": int((enough & ~kept).sum()),
        "state": state,
    }
    return NextQueries(facts, arrays)


def _facts(counted: CountedText, min_users: int) -> Dict[str, Any]:
    settings = counted.facts.settings
    return {
        "text": settings and settings._asdict(),
        "texts": counted.facts.texts,
        "pairs": counted.facts.pairs,
        "longest_context": counted.facts.longest,
        "users": None if counted.people is None else len(counted.people),
        "min_users": min_users,
    }


class _Asked(NamedTuple):
    """Counts for each query of the text."""

    asked: np.ndarray  # how often
    asked_next: np.ndarray  # how often, except as the first query of a session
    people: np.ndarray  # by how many people; 1 if people are not known
    askers: np.ndarray  # query << 32 | person; sorted, distinct


def _asked(counted: CountedText) -> _Asked:
    next_ones = counted.asked_next()
    both = Events.join([next_ones, counted.opening])
    size = len(counted.queries)
    asked, asked_next = (np.zeros(size), np.zeros(size))
    people = np.zeros(size, dtype=np.uint32)
    numbers, times, persons = both.totals()
    asked[numbers.astype(np.int64)] = times
    people[numbers.astype(np.int64)] = persons
    numbers, times, _ = next_ones.totals()
    asked_next[numbers.astype(np.int64)] = times
    askers = both.keys << _HIGH | both.people.astype(np.uint64)
    return _Asked(_rounded(asked), _rounded(asked_next), people, askers)


def _followers(counted: CountedText, kept: np.ndarray) -> Followers:
    """Args:
    kept: (queries,) whether each may be in the table
    """
    new = np.where(kept, np.cumsum(kept) - 1, NONE)  # queries stay in the order of their texts
    events = counted.followed
    pairs, times, people = events.totals()
    contexts, queries = (pairs >> _HIGH).astype(np.int64), new[(pairs & _LOW).astype(np.int64)]
    often = _rounded(times)
    useful = (queries != NONE) & (often > 0)
    keys, (numbers,) = renumber_contexts([(counted.context_keys, new, np.unique(contexts[useful]))])
    useful &= numbers[contexts] != NONE
    chosen = numbers[contexts[useful]].astype(np.uint64), queries[useful].astype(np.uint64)
    lists = RankedLists.rank(*chosen, often[useful], len(keys))
    users = None
    if counted.people is not None:
        packed = chosen[0] << _HIGH | chosen[1]
        order = np.argsort(packed)
        place = np.searchsorted(packed[order], lists.keys() << _HIGH | lists.items)
        users = lists.with_counts(people[useful][order][place].astype(np.uint32))
    return Followers(TextPool.in_order(_chosen(counted.queries, kept)), keys, lists, users)


def _typed_words(
    counted: CountedText,
    queries: _Asked,
    min_users: int,
    in_table: TextPool,
    changes: List[Tuple[str, str]],
    personal: Set[str],
) -> TypedWords:
    """Words of all queries but personal ones, and the texts by which the lists are numbered.

    Args:
        personal: queries with personal data: no text is composed of their words
    """
    material = np.array([query not in personal for query in counted.queries], dtype=bool)
    askers = None
    if counted.people is not None:
        of_query = (queries.askers >> _HIGH).astype(np.int64)
        chosen = material[of_query]
        new = (np.cumsum(material) - 1)[of_query[chosen]].astype(np.uint64)
        askers = new << _HIGH | queries.askers[chosen] & _LOW
    typed = count_typed_words(
        _chosen(counted.queries, material), queries.asked[material], askers, min_users
    )
    return typed.with_texts(
        [word for query in in_table for word in query.split()]
        + [text for change in changes for text in change]
    )


def _personal(counted: CountedText) -> Set[str]:
    """The queries that have personal data, in the text or as most people typed them: also those of
    one person, whose words would otherwise make up text for others."""
    typed = {query for query, form in counted.forms.items() if has_personal_data(form)}
    return typed | set(filter(has_personal_data, counted.queries))


def _rounded(times: np.ndarray) -> np.ndarray:
    """Rounded counts; after ageing, a count may be 0, which is left out of the table."""
    return np.floor(times + 0.5).astype(np.uint32)


def _chosen(texts: Sequence[str], chosen: np.ndarray) -> List[str]:
    return [texts[number] for number in np.flatnonzero(chosen).tolist()]


def _people(followers: Followers, users: np.ndarray) -> Dict[str, np.ndarray]:
    """Numbers of people as arrays of the table; empty if users are not known."""
    if followers.follower_users is None:
        return {"users": users[:0], "follower_users": users[:0]}
    return {"users": users, "follower_users": followers.follower_users.counts}


def _changes(counted: Followers, personal: Set[str]) -> List[Tuple[str, str]]:
    """Changes from the last query to the next, one per distinct pair of queries.

    Args:
        personal: queries from which no change is taken
    """
    queries, keys, followers = counted.queries, counted.context_keys, counted.followers
    changes = []
    for context in range(int(np.searchsorted(keys, np.uint64(1 << 32)))):  # contexts of one query
        before = queries[int(keys[context])]
        for after in (queries[number] for number in followers[context][0].tolist()):
            if before in personal or after in personal:
                continue
            change = change_between(before.split(), after.split())
            if change is not None:
                changes.append((change.removed, change.added))
    return changes


def _rank_changes(changes: List[Tuple[str, str]], words: TextPool) -> RankedLists:
    place = {text: number for number, text in enumerate(words)}
    removed = [place[change[0]] for change in changes]
    added = [place[change[1]] for change in changes]
    packed = (np.asarray(removed, dtype=np.uint64) << np.uint64(32)) | np.asarray(added, np.uint64)
    events, counts = np.unique(packed, return_counts=True)
    often = counts >= MIN_CHANGES
    events, counts = events[often], counts[often]
    halves = events >> np.uint64(32), events & np.uint64(0xFFFFFFFF)
    return RankedLists.rank(*halves, counts, len(words))


def _queries_of_word(queries: TextPool, words: TextPool, asked: np.ndarray) -> RankedLists:
    """For each word, the queries that contain it, most frequent first."""
    place = {text: number for number, text in enumerate(words)}
    keys, items = array("I"), array("I")
    for number, query in enumerate(queries):
        for word in set(query.split()):
            keys.append(place[word])
            items.append(number)
    numbers = np.asarray(items)
    return RankedLists.rank(
        np.asarray(keys), numbers, asked[numbers], len(words), MAX_QUERIES_OF_WORD
    )
