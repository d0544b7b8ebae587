"""Abstract queries: a kind of question about members of a family.

Behaviour is the same for every family, so it works on these tuples; `world` converts them to words
and back.
"""

from typing import NamedTuple

HEAD, ENTITY, TYPO, ASPECT, COMPARE, SITE = "head", "entity", "typo", "aspect", "compare", "site"


class Shape(NamedTuple):
    """The number of members, aspects and sites of a family."""

    members: int
    aspects: int
    sites: int


class Query(NamedTuple):
    """One query; the meaning of `first` and `second` depends on the kind.

    ======== ===================== =========================
    kind     first                 second
    ======== ===================== =========================
    head     --                    --
    entity   member                --
    typo     member (misspelt)     --
    aspect   member                aspect asked of it
    compare  member met earlier    member compared with it
    site     site                  --
    ======== ===================== =========================
    """

    kind: str
    first: int = -1
    second: int = -1
