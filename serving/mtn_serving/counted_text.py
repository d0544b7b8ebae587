"""All counts of training text: who asked what after what, and what began a session.

`counting` makes the table from it. More text can be added, because nothing is left out: it also has
queries that too few people asked so far, and who asked each query. So it is personal data.
"""

from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from mtn_preprocess.text.text_settings import TextSettings

from .text_pool import TextPool

NONE = -1  # the new number of items that are left out
FORGOTTEN = 0.01  # events with a smaller count after ageing are dropped

_HIGH = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Events(NamedTuple):
    """What was asked, and by whom: one row per key and person, sorted by both."""

    keys: np.ndarray  # (events,) uint64
    people: np.ndarray  # (events,) uint32; 0 if people are not known
    times: np.ndarray  # (events,) float64: how often; ageing reduces it

    @classmethod
    def sum(cls, keys: np.ndarray, people: np.ndarray, times: np.ndarray) -> "Events":
        """Sum up events in any order, with duplicates."""
        order = np.lexsort([people, keys])
        keys, people, times = keys[order], people[order], times[order]
        first = np.ones(len(keys), dtype=bool)
        first[1:] = (keys[1:] != keys[:-1]) | (people[1:] != people[:-1])
        starts = np.flatnonzero(first)
        summed = np.add.reduceat(times, starts) if len(starts) else times
        return cls(keys[starts], people[starts], summed)

    @classmethod
    def join(cls, parts: Sequence["Events"]) -> "Events":
        return cls.sum(*(np.concatenate(each) for each in zip(*parts)))

    def arrays(self, name: str) -> Dict[str, np.ndarray]:
        """The arrays to save; `from_arrays` is the inverse."""
        return {f"{name}_{field}": array for field, array in self._asdict().items()}

    @staticmethod
    def types(name: str) -> Dict[str, str]:
        """The types of `arrays`."""
        return {f"{name}_keys": "<u8", f"{name}_people": "<u4", f"{name}_times": "<f8"}

    @classmethod
    def from_arrays(cls, arrays: Dict[str, np.ndarray], name: str) -> "Events":
        return cls(*(arrays[f"{name}_{field}"] for field in cls._fields))

    def where(self, chosen: np.ndarray) -> "Events":
        return Events(*(each[chosen] for each in self))

    def totals(self) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """-> (distinct keys, how often each was asked, by how many people)"""
        keys, starts = np.unique(self.keys, return_index=True)
        if not len(keys):
            return keys, self.times, np.zeros(0, np.int64)
        times = np.add.reduceat(self.times, starts)
        return keys, times, np.diff(np.append(starts, len(self.keys)))


class TextFacts(NamedTuple):
    """Facts about the counted text."""

    longest: int  # maximum number of queries in a context
    pairs: int
    texts: int = 1  # how many texts were counted, one after the other
    settings: Optional[TextSettings] = None  # how the text was prepared, if known


class CountedText(NamedTuple):
    facts: TextFacts
    queries: List[str]  # all of them, numbered in sorted order
    context_keys: np.ndarray  # sorted; see `next_queries.context_key`
    people: Optional[np.ndarray]  # (people,) uint64, sorted: identifies each person
    followed: Events  # key: (number of a context) << 32 | number of the query that followed it
    opening: Events  # key: number of a query that began a session
    forms: Dict[str, str]  # how queries are shown, if not as in the text

    def followed_contexts(self) -> np.ndarray:
        """(events of `followed`,): the context of each"""
        return (self.followed.keys >> _HIGH).astype(np.int64)

    def following(self) -> np.ndarray:
        """(events of `followed`,): the query of each"""
        return (self.followed.keys & _LOW).astype(np.int64)

    def asked_next(self) -> Events:
        """Events of queries asked right after any other query; key: number of the query."""
        single = int(np.searchsorted(self.context_keys, np.uint64(1 << 32)))
        here = self.followed_contexts() < single
        queries = self.following()[here].astype(np.uint64)
        return Events.sum(queries, self.followed.people[here], self.followed.times[here])

    def aged(self, decay: float) -> "CountedText":
        """Multiply all counts by `decay`; drop events with tiny counts, and people without any."""
        aged = (each._replace(times=each.times * decay) for each in (self.followed, self.opening))
        followed, opening = (each.where(each.times >= FORGOTTEN) for each in aged)
        return joined([self._replace(followed=followed, opening=opening)])

    def arrays(self) -> Dict[str, np.ndarray]:
        """The arrays to save, everything but the facts; `from_arrays` is the inverse."""
        return {
            "context_keys": self.context_keys,
            "people": np.empty(0) if self.people is None else self.people,
            **self.followed.arrays("followed"),
            **self.opening.arrays("opening"),
            **TextPool.in_order(self.queries).arrays("queries"),
            **TextPool.in_order(self.forms).arrays("shown"),
            **TextPool.in_order(self.forms.values()).arrays("forms"),
        }

    @staticmethod
    def types() -> Dict[str, str]:
        """The types of `arrays`."""
        pools = (TextPool.types(name) for name in ("queries", "shown", "forms"))
        events = (Events.types(name) for name in ("followed", "opening"))
        merged = {"context_keys": "<u8", "people": "<u8"}
        for types in (*pools, *events):
            merged.update(types)
        return merged

    @classmethod
    def from_arrays(
        cls, facts: TextFacts, arrays: Dict[str, np.ndarray], has_people: bool
    ) -> "CountedText":
        shown, forms = (TextPool.from_arrays(arrays, name) for name in ("shown", "forms"))
        return cls(
            facts,
            list(TextPool.from_arrays(arrays, "queries")),
            arrays["context_keys"],
            arrays["people"] if has_people else None,
            Events.from_arrays(arrays, "followed"),
            Events.from_arrays(arrays, "opening"),
            dict(zip(shown, forms)),
        )


def joined(parts: Sequence[CountedText]) -> CountedText:
    """The same counts as if all parts had been counted at once, in any order; the exception is
    `forms`, where the last part wins.

    Queries, contexts and people without events are left out.
    """
    used = [_used_queries(part) for part in parts]
    texts = [[part.queries[number] for number in each.tolist()] for part, each in zip(parts, used)]
    all_texts = sorted(set().union(*texts))
    place = {text: number for number, text in enumerate(all_texts)}
    new_queries = [np.full(len(part.queries), NONE, dtype=np.int64) for part in parts]
    for new, numbers, of_part in zip(new_queries, used, texts):
        new[numbers] = [place[text] for text in of_part]
    keys, new_contexts = renumber_contexts(
        [
            (part.context_keys, new, np.unique(part.followed_contexts()))
            for part, new in zip(parts, new_queries)
        ]
    )
    people, new_people = _join_people(parts)
    return CountedText(
        _join_facts([part.facts for part in parts]),
        all_texts,
        keys,
        people,
        Events.join(
            [
                part.followed._replace(
                    keys=_packed(contexts[part.followed_contexts()], queries[part.following()]),
                    people=who[part.followed.people],
                )
                for part, contexts, queries, who in zip(
                    parts, new_contexts, new_queries, new_people
                )
            ]
        ),
        Events.join(
            [
                part.opening._replace(
                    keys=queries[part.opening.keys.astype(np.int64)].astype(np.uint64),
                    people=who[part.opening.people],
                )
                for part, queries, who in zip(parts, new_queries, new_people)
            ]
        ),
        _join_forms(parts, place),
    )


def renumber_contexts(
    parts: Sequence[Tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> Tuple[np.ndarray, List[np.ndarray]]:
    """-> (sorted keys, the new numbers of each part's contexts, NONE for those left out)

    Contexts are sorted by length, then by key. A key contains the number of a shorter context, so
    each length is numbered before the next. Longer contexts then have larger keys, so one sorted
    array holds all keys.

    Args:
        parts: for each part (keys of its contexts, a shorter context before those that contain it;
            new numbers of its queries, NONE for those left out; numbers of the useful contexts)
    """
    new = [np.full(len(keys), NONE, dtype=np.int64) for keys, _, _ in parts]
    lengths = [_lengths(keys) for keys, _, _ in parts]
    levels: List[np.ndarray] = [np.empty(0, np.uint64)]
    longest = max((int(each.max(initial=0)) for each in lengths), default=0)
    total = 0
    for length in range(1, longest + 1):
        found = [
            _keys_of_length(length, length_of, number, *part)
            for length_of, number, part in zip(lengths, new, parts)
        ]
        level = np.unique(np.concatenate([keys for _, keys in found]))
        for number, (here, keys) in zip(new, found):
            number[here] = total + np.searchsorted(level, keys)
        levels.append(level)
        total += len(level)
    return np.concatenate(levels), new


def _keys_of_length(
    length: int,
    lengths: np.ndarray,
    new: np.ndarray,
    keys: np.ndarray,
    queries: np.ndarray,
    useful: np.ndarray,
) -> Tuple[np.ndarray, np.ndarray]:
    """-> (old numbers of the contexts of this length, their new keys)"""
    here = useful[lengths[useful] == length]
    query = queries[(keys[here] & _LOW).astype(np.int64)]
    above = np.full(len(here), NONE)
    if length > 1:
        above = new[(keys[here] >> _HIGH).astype(np.int64) - 1]
    kept = (query != NONE) & ((above != NONE) | (length == 1))
    return here[kept], _packed(above[kept] + 1, query[kept])


def _lengths(keys: np.ndarray) -> np.ndarray:
    """Lengths of contexts, in queries; each context comes after the shorter one it contains."""
    lengths = np.zeros(len(keys), dtype=np.int64)
    shorter = (keys >> _HIGH).astype(np.int64) - 1
    here, length = np.flatnonzero(shorter == NONE), 0
    rest = np.flatnonzero(shorter != NONE)
    while len(here):
        length += 1
        lengths[here] = length
        longer = lengths[shorter[rest]] == length
        here, rest = rest[longer], rest[~longer]
    return lengths


def _used_queries(part: CountedText) -> np.ndarray:
    """Numbers of the queries that occur in an event."""
    contexts = np.unique(part.followed_contexts())
    of_contexts = part.context_keys[contexts] & _LOW
    return np.unique(
        np.concatenate([of_contexts.astype(np.int64), part.following(), part.opening.keys])
    ).astype(np.int64)


def _join_people(
    parts: Sequence[CountedText],
) -> Tuple[Optional[np.ndarray], List[np.ndarray]]:
    """-> (people of all parts, the new numbers of each part's people)"""
    known = [part.people for part in parts if part.people is not None]
    if len(known) < len(parts):
        if known:
            raise ValueError("people are known of some parts only")
        return None, [np.zeros(1, np.uint32) for _ in parts]
    used = [
        who[np.unique(np.concatenate([part.followed.people, part.opening.people]))]
        for part, who in zip(parts, known)
    ]
    people = np.unique(np.concatenate(used))
    return people, [np.searchsorted(people, each).astype(np.uint32) for each in known]


def _join_facts(parts: Sequence[TextFacts]) -> TextFacts:
    """Facts of all parts; the settings are those of the first part that has any."""
    (longest,) = {part.longest for part in parts}
    settings = next((part.settings for part in parts if part.settings is not None), None)
    pairs, texts = sum(part.pairs for part in parts), sum(part.texts for part in parts)
    return TextFacts(longest, pairs, texts, settings)


def _join_forms(parts: Sequence[CountedText], known: Mapping[str, int]) -> Dict[str, str]:
    forms: Dict[str, str] = {}
    for part in parts:
        forms.update(part.forms)
    return {query: forms[query] for query in sorted(forms) if query in known}


def _packed(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    return high.astype(np.uint64) << _HIGH | low.astype(np.uint64)
