"""Convert the queries of every family to words and back."""

from typing import Dict, List, NamedTuple, Sequence, Tuple

from .query import ASPECT, COMPARE, ENTITY, HEAD, SITE, TYPO, Query, Shape
from .topics import TOPICS, Family, Topic


class Phrases:
    """The wording of one family: all of its queries and their words."""

    def __init__(self, topic: Topic, family: Family) -> None:
        self.head = family.head
        self.sites = topic.sites
        self.shape = Shape(len(family.members), len(topic.aspects), len(topic.sites))
        names = [member.name for member in family.members]
        self.words: Dict[Query, str] = {Query(HEAD): family.head}
        for m, member in enumerate(family.members):
            self.words[Query(ENTITY, m)] = member.name
            self.words[Query(TYPO, m)] = member.misspelt
            for a, aspect in enumerate(topic.aspects):
                self.words[Query(ASPECT, m, a)] = f"{member.name} {aspect}"
            for o, other in enumerate(names):
                if o != m:
                    self.words[Query(COMPARE, m, o)] = f"{member.name} {topic.link} {other}"
        for s, site in enumerate(topic.sites):
            self.words[Query(SITE, s)] = site
        self.queries: Dict[str, Query] = {text: query for query, text in self.words.items()}
        if len(self.queries) != len(self.words):
            raise ValueError(f"family {family.head!r}: two queries in the same words")


class Reading(NamedTuple):
    """The recognised queries of a session, and their family."""

    family: int
    queries: Tuple[Query, ...]


class World:
    """All families; a query in words belongs to one of them, unless it names a web site."""

    def __init__(self, topics: Sequence[Topic] = TOPICS) -> None:
        self.families: List[Phrases] = [Phrases(t, family) for t in topics for family in t.families]
        self._homes: Dict[str, List[int]] = {}
        for number, phrases in enumerate(self.families):
            for text in phrases.queries:
                self._homes.setdefault(text, []).append(number)
        sites = {site for topic in topics for site in topic.sites}
        for text, homes in self._homes.items():
            if len(homes) > 1 and text not in sites:
                raise ValueError(f"query {text!r} belongs to more than one family")

    def homes(self, text: str) -> List[int]:
        """The families in whose sessions this query occurs; empty if it is unknown."""
        return self._homes.get(text, [])

    def read(self, prefix: Sequence[str]) -> Reading:
        """Recognise the queries of a session, all of one family.

        Raises:
            ValueError: no family has all these queries, or several have.
        """
        homes = self.homes(prefix[0]) if prefix else []
        queries = self.families[homes[0]].queries if len(homes) == 1 else {}
        if not queries or any(text not in queries for text in prefix):
            raise ValueError(f"not a session of the sample log: {list(prefix)!r}")
        return Reading(homes[0], tuple(queries[text] for text in prefix))
