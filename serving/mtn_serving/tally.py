"""One pass over training pairs: who asked what after what.

Each pair is stored as numbers; each text is stored once.
"""

from array import array
from itertools import repeat, zip_longest
from typing import Dict, Iterable, Mapping, Optional

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import Pair
from mtn_preprocess.text.text_settings import TextSettings

from .counted_text import CountedText, Events, TextFacts, joined
from .next_queries import context_key


def count_text(
    pairs: Iterable[Pair],
    longest: int,
    users: Optional[Iterable[int]] = None,
    settings: Optional[TextSettings] = None,
    forms: Optional[Mapping[str, str]] = None,
) -> CountedText:
    """Each pair counts once for each context that *ends* its session, as in `mtn-yardstick`.

    Args:
        pairs: of the training split, in words
        longest: maximum number of queries in a context
        users: who asked, one number below 2^64 per pair
        settings: how the text was prepared, if known
        forms: how queries are shown, if not as in the text
    """
    tally = _Tally(longest)
    for pair, user in zip_longest(pairs, repeat(None, 0) if users is None else users):
        if pair is None or (user is None and users is not None):
            raise InputError(
                f"users and pairs are not of the same number: one of them ends after {tally.pairs}",
                "line n of all files must belong together; prepare the text again",
            )
        tally.add(pair, user or 0)
    return tally.counted(users is not None, settings, forms or {})


class _Tally:
    """Numbers queries, contexts and people as they arrive."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.pairs = 0
        self.numbers: Dict[str, int] = {}  # of queries
        self.contexts: Dict[int, int] = {}  # numbers by `context_key`
        self.people: Dict[int, int] = {}
        self.followed = array("Q")  # events: context << 32 | query that followed it
        self.followed_by = array("I")  # the person of each event
        self.opening = array("Q")  # first queries of sessions
        self.opening_by = array("I")  # the person of each of them

    def add(self, pair: Pair, user: int) -> None:
        session = pair.queries()
        query = self._number(pair.next_query)
        person = self.people.setdefault(user, len(self.people))
        context = None
        for earlier in reversed(session[-self.longest :]):
            key = context_key(context, self._number(earlier))
            context = self.contexts.setdefault(key, len(self.contexts))
            self.followed.append(context << 32 | query)
            self.followed_by.append(person)
        self.pairs += 1
        if len(session) == 1:  # otherwise it was the next query of an earlier pair
            self.opening.append(self._number(session[0]))
            self.opening_by.append(person)

    def _number(self, query: str) -> int:
        return self.numbers.setdefault(query, len(self.numbers))

    def counted(
        self, has_people: bool, settings: Optional[TextSettings], forms: Mapping[str, str]
    ) -> CountedText:
        as_it_came = CountedText(
            TextFacts(self.longest, self.pairs, settings=settings),
            list(self.numbers),
            np.fromiter(self.contexts, np.uint64, len(self.contexts)),
            np.fromiter(self.people, np.uint64, len(self.people)) if has_people else None,
            _summed(self.followed, self.followed_by),
            _summed(self.opening, self.opening_by),
            dict(forms),
        )
        return joined([as_it_came])


def _summed(keys: "array[int]", people: "array[int]") -> Events:
    return Events.sum(
        np.frombuffer(keys, np.uint64), np.frombuffer(people, np.uint32), np.ones(len(keys))
    )
