"""The law of the sample log over queries in words."""

from typing import Dict, Optional, Sequence

from .behaviour import Behaviour, Law
from .query import Shape
from .world import Reading, World

# P(number of queries of a session), without successive repeats. Independent of the content, so that
# filtering sessions by length does not change what they contain.
SESSION_LENGTHS: Dict[int, float] = {
    1: 0.06,
    2: 0.07,
    3: 0.29,
    4: 0.27,
    5: 0.23,
    6: 0.05,
    7: 0.02,
    8: 0.01,
}


class Process:
    """Sessions of queries in words, with exact probabilities."""

    def __init__(self, world: Optional[World] = None) -> None:
        self.world = world or World()
        self._behaviours: Dict[Shape, Behaviour] = {}

    def behaviour(self, family: int) -> Behaviour:
        """The behaviour in a family; families of the same shape share it."""
        shape = self.world.families[family].shape
        if shape not in self._behaviours:
            self._behaviours[shape] = Behaviour(shape)
        return self._behaviours[shape]

    def wording(self, family: int, law: Law) -> Dict[str, float]:
        """Convert a law over queries to a law over their words."""
        words = self.world.families[family].words
        return {words[query]: p for query, p in law.items()}

    def first_queries(self) -> Dict[str, float]:
        """P(first query of a session), over all users: families are equally popular."""
        families = range(len(self.world.families))
        law: Dict[str, float] = {}
        for family in families:
            for text, p in self.wording(family, self.behaviour(family).first_queries).items():
                law[text] = law.get(text, 0.0) + p / len(families)
        return law

    def read(self, prefix: Sequence[str]) -> Reading:
        """Recognise a session's queries and check that the process can issue them in this order.

        Raises:
            ValueError: the prefix is empty or cannot occur.
        """
        reading = self.world.read(prefix)
        behaviour, queries = self.behaviour(reading.family), reading.queries
        possible = queries[0] in behaviour.first_queries
        for end in range(1, len(queries)):
            possible = possible and queries[end] in behaviour.next_queries(queries[:end])
        if not possible:
            raise ValueError(f"cannot occur in the sample log: {list(prefix)!r}")
        return reading

    def next_queries(self, prefix: Sequence[str]) -> Dict[str, float]:
        """P(next query | the session's queries so far), over all queries that can follow.

        Raises:
            ValueError: the prefix is empty or cannot occur.
        """
        reading = self.read(prefix)
        law = self.behaviour(reading.family).next_queries(reading.queries)
        return self.wording(reading.family, law)
