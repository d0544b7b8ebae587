"""Queries that look for sexual material of minors: never shown and never answered.

A query matches if it has a word for minors and a sexual word. The list is short, in English, and
cannot be switched off. It misses disguised words: add a block list of your own.
"""

import re

_MINORS = re.compile(
    r"(?<!\S)(child|children|kids?|kiddie|kiddy|baby|babies|toddlers?|infants?|minors?|"
    r"school ?(girl|boy)s?|(little|young|small) (\S+ ){0,2}(girl|boy)s?|"
    r"(1[0-7]|[0-9]|number) ?(y o|yo|(yrs?|years?) ?olds?))(?!\S)"  # `number` is a mask
)
_PRETEENS = re.compile(r"(?<!\S)(pre ?teens?|under ?age|lolitas?|loli)(?!\S)")
_ONE_WORD = re.compile(r"(child|kid|kiddie|kiddy|preteen)s?porn")
_SEXUAL = frozenset(("nude", "nudes", "naked", "topless", "sexy", "erotic", "erotica"))
_PICTURES = re.compile(r"(?<!\S)(models?|pics?|pictures?|photos?|galler(y|ies)|videos?|bbs)(?!\S)")


def looks_for_abuse(query: str, is_explicit: bool) -> bool:
    """Args:
    query: normalised
    is_explicit: whether it has a word of the bundled list
    """
    if "porn" in query and _ONE_WORD.search(query):
        return True
    if is_explicit or not _SEXUAL.isdisjoint(query.split()):
        return _MINORS.search(query) is not None or _has_preteens(query)
    return _has_preteens(query) and _PICTURES.search(query) is not None


def _has_preteens(query: str) -> bool:
    # Looking is quicker than searching, and hardly any query has such words.
    if "teen" in query or "under" in query or "loli" in query:
        return _PRETEENS.search(query) is not None
    return False
