"""Queries that look for sexual material of minors: never shown and never answered.

A query matches if it has a word for minors and a sexual word. The list is short, in English, and
cannot be switched off. It misses disguised words: add a block list of your own.
"""

import re
from typing import Callable

_MINORS = re.compile(
    r"(?<!\S)(child|children|kids?|kiddie|kiddy|baby|babies|toddlers?|infants?|minors?|"
    r"school ?(girl|boy)s?|(little|young|small) (\S+ ){0,2}(girl|boy)s?|"
    r"(1[0-7]|[0-9]|number) ?(y o|yo|(yrs?|years?) ?olds?))(?!\S)"  # `number` is a mask
)
_PRETEENS = re.compile(r"(?<!\S)(pre ?teens?|under ?age|lolitas?|loli)(?!\S)")
_ONE_WORD = re.compile(r"(child|kid|kiddie|kiddy|preteen)s?porn")
_SEXUAL = re.compile(r"(?<!\S)(nudes?|naked|topless|sexy|erotica?)(?!\S)")
_PICTURES = re.compile(r"(?<!\S)(models?|pics?|pictures?|photos?|galler(y|ies)|videos?|bbs)(?!\S)")


def looks_for_abuse(query: str, is_explicit: Callable[[str], bool]) -> bool:
    """Args:
    query: normalised
    is_explicit: whether a text has a word of the bundled list
    """
    if _ONE_WORD.search(query):
        return True
    sexual = _SEXUAL.search(query) is not None or is_explicit(query)
    if _PRETEENS.search(query):
        return sexual or _PICTURES.search(query) is not None
    return sexual and _MINORS.search(query) is not None
