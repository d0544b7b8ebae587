"""A query without its words: which kind of question, about which members of a family.

Behaviour is the same for every family, so it is written on these plain tuples; `world` turns them
into words and back.
"""

from typing import NamedTuple

HEAD, ENTITY, TYPO, ASPECT, COMPARE, SITE = "head", "entity", "typo", "aspect", "compare", "site"


class Shape(NamedTuple):
    """How many members, aspects and sites a family has to choose from."""

    members: int
    aspects: int
    sites: int


class Query(NamedTuple):
    """One query; `first` and `second` mean what the kind needs.

    ======== ===================== =========================
    kind     first                 second
    ======== ===================== =========================
    head     --                    --
    entity   member                --
    typo     member (misspelt)     --
    aspect   member                aspect asked of it
    compare  member met earlier    member it is compared to
    site     site                  --
    ======== ===================== =========================
    """

    kind: str
    first: int = -1
    second: int = -1
