"""Text that may identify a person or show how to reach them; in doubt, text counts as personal.

    an e-mail address       bob@example.com; normalised, `bob gmail com`
    a long number           555-1234, `1 800 555 1212`, `078 05 1120`: 7 digits or more
    a URL with a            example.com/~bob, example.com/?user=bob, `www myspace com bob`
    personal part

Normalised text has spaces instead of punctuation, so only the host reveals an e-mail address.
A series of years is not a long number.
"""

import re
from typing import Sequence

MIN_DIGITS = 7

_DIGITS = re.compile(r"\d(?:[\s().+/-]*\d)*")
_YEARS = re.compile(r"(?:19|20)\d\d(?:\D+(?:19|20)\d\d)*")
_EMAIL = re.compile(r"[^\s@]@[^\s@]")  # a longer match would take quadratic time on long words
_PERSONAL_PART = re.compile(
    r"\.\w+/~\w"  # a home page
    r"|[?&;](?:e?mail|user|user_?name|user_?id|uid|login|name|phone|ssn|pass\w*|token|sid)=\w"
)
_WORD = re.compile(r"[^\W_]+")

# `X gmail com` is an e-mail address, `games yahoo com` a page: for portals, X must have a digit.
_MAIL_HOSTS = frozenset(("gmail", "googlemail", "hotmail", "ymail", "rocketmail", "protonmail"))
_PORTALS = frozenset(("yahoo", "aol", "msn", "outlook", "comcast", "verizon", "sbcglobal"))
_NO_MAILBOX = """
    www http https com mail webmail email my login log sign in on to of at the for and new account
    free check go open create delete join about with from or is use using via home
"""
_BEFORE_HOSTS = frozenset(_NO_MAILBOX.split())
_TOP_LEVEL = frozenset(("com", "net", "org", "co", "de", "fr"))
_PROFILE_HOSTS = frozenset(
    ("myspace", "facebook", "twitter", "linkedin", "flickr", "xanga", "livejournal", "instagram")
)
_URL_STARTS = frozenset(("www", "http", "https"))


def has_personal_data(text: str) -> bool:
    """Args:
    text: a query as typed or as in prepared text
    """
    words = _WORD.findall(text.lower())
    return (
        any(map(_is_long, _DIGITS.findall(text)))
        or _EMAIL.search(text) is not None
        or _PERSONAL_PART.search(text.lower()) is not None
        or _is_mail_address(words)
        or _is_profile(text, words)
    )


def _is_long(number: str) -> bool:
    digits = sum(character.isdigit() for character in number)
    return digits >= MIN_DIGITS and _YEARS.fullmatch(number) is None


def _is_mail_address(words: Sequence[str]) -> bool:
    for before, host, end in zip(words, words[1:], words[2:]):
        if end not in _TOP_LEVEL or before in _BEFORE_HOSTS:
            continue
        if host in _MAIL_HOSTS or (host in _PORTALS and any(map(str.isdigit, before))):
            return True
    return False


def _is_profile(text: str, words: Sequence[str]) -> bool:
    """Whether the text is the URL of a person's page on a profile host."""
    is_url = words[:1] and words[0] in _URL_STARTS
    for host, end, name in zip(words, words[1:], words[2:]):
        if host in _PROFILE_HOSTS and end in _TOP_LEVEL:
            return bool(is_url or f"{host}.{end}/{name}" in text.lower())
    return False
