"""Text that may identify a person: invented examples, and text that only looks like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_preprocess.text.personal_data import MIN_DIGITS, has_personal_data


@pytest.mark.parametrize(
    "text",
    [
        "bob@example.com",
        "mail to bob@example",
        "bob example gmail com",
        "bob.example hotmail.com",
        "bob1 yahoo com",
        "anna müller web de",
        "anna web de",
        "anna.mueller@web.de",
        "anna mueller t online de",
        "annam gmx net",
        "anna gmx at",
        "a meier bluewin ch",
        "j dupont laposte net",
        "jean dupont orange fr",
        "jean75 free fr",
        "mario rossi libero it",
        "mario hotmail it",
        "ivan petrov mail ru",
        "ivan77 yandex ru",
        "ivan list ru",
        "jan kowalski wp pl",
        "jan o2 pl",
        "jan novak seznam cz",
        "joao silva uol com br",
        "joao bol com br",
        "wang 163 com",
        "88 qq com",
        "kim77 naver com",
        "priya rediffmail com",
        "jan ziggo nl",
        "anna proton me",
        "anna icloud com",
        "anna1 me com",
        "anna1 live nl",
        "anna1 live it",
        "anna1 yahoo de",
        "anna1 yahoo co uk",
        "bob hotmail co uk",
        "5551234",
        "call 555 1234",
        "1 800 555 1212",
        "078-05-1120",
        "(212) 555-0100",
        "account12345678x",
        "٠١٢٣٤٥٦",
        "2005 5551234",
        "example.com/~bob",
        "example.com/?user=bob",
        "http://example.com/x?a=1&email=bob",
        "www myspace com bob",
        "myspace.com/bob",
        "http www facebook com bob",
    ],
)
def test_personal(text):
    assert has_personal_data(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "windows 95",
        "highway 61 1965",
        "123456",
        "nba 2004 2005",
        "1998 2002 2006",
        "12 monkeys 1995 2 reviews 100 200",  # words between
        "gmail com",
        "www hotmail com",
        "sign in hotmail com",
        "games yahoo com",
        "www yahoo com",
        "web de",
        "www web de",
        "login web de",
        "horoskop web de",
        "pagina web de shakira",
        "diseño web de tiendas",
        "t online de",
        "news t online de",
        "wetter t online de",
        "mail ru",
        "games mail ru",
        "maps yandex ru",
        "recettes orange fr",
        "messagerie orange fr",
        "nachrichten yahoo de",
        "contact me com",
        "bon jovi live de",
        "proton me",
        "u2 live at red rocks",
        "hotmail at work",
        "163 com",
        "pizza online de",
        "red gum tree com br",
        "example.com/pictures",
        "myspace com layouts",
        "www myspace com",
        "<number> <email>",
    ],
)
def test_not_personal(text):
    assert not has_personal_data(text)


@given(st.lists(st.text("0123456789", min_size=1, max_size=3), min_size=1), st.sampled_from(" -."))
def test_groups_of_digits_count_together(groups, between):
    """No group is long enough to be a year."""
    digits = sum(map(len, groups))
    assert has_personal_data(between.join(groups)) == (digits >= MIN_DIGITS)


def test_long_text():
    assert has_personal_data("a " * 20_000 + "bob gmail com")
    assert not has_personal_data("a " * 20_000 + "gmail")
