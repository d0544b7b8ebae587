"""Count how many people asked each query in training, to judge lists."""

from collections import Counter
from typing import Container, Dict, FrozenSet, Optional, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import read_pairs_in_words
from mtn_preprocess.text.users import read_users

_SEVERAL = -1  # people; not a valid user number


class TrainingCounts:
    """Counts over the pairs of `TRAIN.session` and `TRAIN.next`.

    Args:
        last_queries: followers are counted only after these queries
    """

    def __init__(self, train: str, last_queries: Container[str]) -> None:
        self.asked: Counter = Counter()  # how often each query was asked
        self._asker: Dict[str, int] = {}  # query -> its user, or _SEVERAL
        self._followers: Dict[Tuple[str, str], int] = {}  # (query, next query) -> user, or _SEVERAL
        users = read_users(train)
        self.knows_people = users is not None
        number = 0
        for number, pair in enumerate(read_pairs_in_words(train), 1):
            # Without users, each pair counts as another person.
            user = number if users is None else _checked_user(next(users, None), train, number)
            queries = pair.queries()
            for query in [*queries[: len(queries) == 1], pair.next_query]:
                self.asked[query] += 1
                _add(self._asker, query, user)
            if queries[-1] in last_queries:
                _add(self._followers, (queries[-1], pair.next_query), user)
        if users is not None and next(users, None) is not None:
            _checked_user(None, train, number + 1)

    def asked_by_one(self, query: str) -> bool:
        """Whether exactly one person asked the query; unknown without `TRAIN.user`."""
        return self._asker.get(query, _SEVERAL) != _SEVERAL

    def follows(self, last: str, query: str) -> bool:
        """Whether `query` was asked after `last` at least once."""
        return (last, query) in self._followers

    def follows_for_several(self, last: str, query: str) -> bool:
        """The same by at least two people or, without `TRAIN.user`, at least twice."""
        return self._followers.get((last, query)) == _SEVERAL

    def most_asked(self, count: int) -> FrozenSet[str]:
        """The most frequent queries; ties go to the lower code points."""
        ranked = sorted(self.asked, key=lambda query: (-self.asked[query], query))
        return frozenset(ranked[:count])


def _add(found: Dict, key: object, user: int) -> None:
    if found.setdefault(key, user) != user:
        found[key] = _SEVERAL


def _checked_user(user: Optional[int], train: str, number: int) -> int:
    if user is None:
        raise InputError(
            f"not as many lines as {train}.session",
            "line n of all files must belong together; prepare the text again",
            f"{train}.user",
            number,
        )
    return user
