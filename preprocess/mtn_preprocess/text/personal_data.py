"""Text that may identify a person or show how to reach them; in doubt, text counts as personal.

    an e-mail address       bob@example.com; normalised, `bob gmail com`
    a long number           555-1234, `1 800 555 1212`, `078 05 1120`: 7 digits or more
    a URL with a            example.com/~bob, example.com/?user=bob, `www myspace com bob`
    personal part

Normalised text has spaces instead of punctuation, so only the host reveals an e-mail address.
A series of years is not a long number.
"""

import re
from typing import FrozenSet, Sequence, Tuple

MIN_DIGITS = 7

_DIGITS = re.compile(r"\d(?:[\s().+/-]*\d)*")
_YEARS = re.compile(r"(?:19|20)\d\d(?:\D+(?:19|20)\d\d)*")
_EMAIL = re.compile(r"[^\s@]@[^\s@]")  # a longer match would take quadratic time on long words
_PERSONAL_PART = re.compile(
    r"\.\w+/~\w"  # a home page
    r"|[?&;](?:e?mail|user|user_?name|user_?id|uid|login|name|phone|ssn|pass\w*|token|sid)=\w"
)
_WORD = re.compile(r"[^\W_]+")

# Whose names say nothing but mail: what stands before one is a mailbox, whatever its country.
_MAIL_HOSTS = frozenset(
    ("gmail", "googlemail", "hotmail", "ymail", "rocketmail", "protonmail", "gmx", "icloud")
)
# `games yahoo com` is a page: what stands before a portal is a mailbox if it has a digit.
_PORTALS = frozenset(("yahoo", "aol", "msn", "outlook", "comcast", "verizon", "sbcglobal"))
_NO_MAILBOX = """
    www http https com mail webmail email my login log sign in on to of at the for and new account
    free check go open create delete join about with from or is use using via home
"""
_BEFORE_HOSTS = frozenset(_NO_MAILBOX.split())


def _sites(names: str) -> FrozenSet[Tuple[str, ...]]:
    """As words of normalised text: `t-online.de` is `t online de`."""
    return frozenset(tuple(_WORD.findall(name)) for name in names.split())


# Where many have a mailbox: what stands before is one, unless it names a part of the site.
_MAIL_SITES = _sites("""
    web.de t-online.de freenet.de posteo.de mailbox.org proton.me pm.me bluewin.ch
    wanadoo.fr laposte.net libero.it virgilio.it tin.it ziggo.nl telenet.be
    bk.ru list.ru inbox.ru ukr.net o2.pl interia.pl centrum.cz bol.com.br
    163.com 126.com hanmail.net rediffmail.com gmx.at hotmail.it hotmail.be
""")
# Mostly asked for as pages: a mailbox has a digit, or is a first and a last name.
_PORTAL_SITES = _sites("""
    orange.fr free.fr mail.ru yandex.ru rambler.ru wp.pl onet.pl seznam.cz uol.com.br terra.com.br
    qq.com sina.com naver.com daum.net
""")
# A mailbox has a digit: `tell me com`.
_OTHER_SITES = _sites("""
    me.com mac.com live.com live.de live.fr live.nl live.co.uk live.se live.dk live.ca live.it
    live.at live.be outlook.it outlook.at outlook.be yahoo.it yahoo.in yahoo.at yahoo.be
""")
# Otherwise the start of something else: `sitio web de la escuela`, `u2 live at red rocks`.
_AT_THE_END = _sites("web.de live.it live.at live.be yahoo.in")
_PARTS = """
    app apps auto blog chat club cloud de cinema des du e es fr forum fotos freemail games
    help hilfe horoskop id impressum jeux jobs kontakt kundencenter kundenservice le la les live
    logowanie anmelden anmeldung einloggen magazin maps mein messagerie meteo mobile music musique
    nachrichten news notizie noticias online pagina página passport photo poczta portal posta
    postfach programme radio routenplaner search sitio shop speedtest sport startseite suche
    support translate tv video videos weather wetter почта новости вход карты погода
"""
_PARTS_OF_SITES = _BEFORE_HOSTS | frozenset(_PARTS.split())
# But those that are English words: `hotmail at work`.
_ENDS = "com net org co de fr ch es nl se dk fi pt pl cz ru br mx ar cl ca jp kr cn"
_TOP_LEVEL = frozenset(_ENDS.split(" "))
_FIRST_WORDS = (
    _MAIL_HOSTS | _PORTALS | {site[0] for site in _MAIL_SITES | _OTHER_SITES | _PORTAL_SITES}
)
_PROFILE_HOSTS = frozenset(
    ("myspace", "facebook", "twitter", "linkedin", "flickr", "xanga", "livejournal", "instagram")
)
_HOSTS = _FIRST_WORDS | _PROFILE_HOSTS
_URL_STARTS = frozenset(("www", "http", "https"))


def has_personal_data(text: str) -> bool:
    """Args:
    text: a query as typed or as in prepared text
    """
    lower = text.lower()
    # Only letters: no address, number or URL, unless the words are those of one.
    has_only_letters = text.isascii() and text.replace(" ", "").isalpha()
    if has_only_letters and _HOSTS.isdisjoint(lower.split()):
        return False
    words = _WORD.findall(lower)
    # Every suggestion is checked, and hardly any has such data: a quick look before each search.
    return (
        any(map(_is_long, _DIGITS.findall(text)))
        or ("@" in text and _EMAIL.search(text) is not None)
        or (("/~" in text or "=" in text) and _PERSONAL_PART.search(lower) is not None)
        or (not _FIRST_WORDS.isdisjoint(words) and _is_mail_address(words))
        or (not _PROFILE_HOSTS.isdisjoint(words) and _is_profile(lower, words))
    )


def _is_long(number: str) -> bool:
    digits = sum(character.isdigit() for character in number)
    return digits >= MIN_DIGITS and _YEARS.fullmatch(number) is None


def _is_mail_address(words: Sequence[str]) -> bool:
    return any(
        _is_mailbox(words[max(place - 2, 0) : place], words[place : place + 3])
        for place in range(1, len(words))
        if words[place] in _FIRST_WORDS
    )


def _is_mailbox(before: Sequence[str], behind: Sequence[str]) -> bool:
    """Whether a name of a mailbox stands before its host.

    Args:
        before: one or two words
        behind: up to three
    """
    name, has_digit = before[-1], any(map(str.isdigit, before[-1]))
    if name in _BEFORE_HOSTS or len(behind) < 2:
        return False
    host, end = behind[:2]
    if end in _TOP_LEVEL and (host in _MAIL_HOSTS or (has_digit and host in _PORTALS)):
        return True
    if name in _PARTS_OF_SITES or ((host, end) in _AT_THE_END and len(behind) > 2):
        return False
    site = {(host, end), tuple(behind[:3])}
    return (
        not site.isdisjoint(_MAIL_SITES)
        or (has_digit and not site.isdisjoint(_OTHER_SITES))
        or ((has_digit or _is_full_name(before)) and not site.isdisjoint(_PORTAL_SITES))
    )


def _is_full_name(words: Sequence[str]) -> bool:
    """Or at least it looks like one."""
    return len(words) == 2 and all(
        word.isalpha() and len(word) > 1 and word not in _PARTS_OF_SITES for word in words
    )


def _is_profile(lower: str, words: Sequence[str]) -> bool:
    """Whether a text, in lower case, is the URL of a person's page on a profile host."""
    is_url = words[:1] and words[0] in _URL_STARTS
    for host, end, name in zip(words, words[1:], words[2:]):
        if host in _PROFILE_HOSTS and end in _TOP_LEVEL:
            return bool(is_url or f"{host}.{end}/{name}" in lower)
    return False
