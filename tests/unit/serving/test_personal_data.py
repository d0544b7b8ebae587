"""Text that may identify a person: invented examples, and text that only looks like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_serving.personal_data import MIN_DIGITS, has_personal_data


@pytest.mark.parametrize(
    "text",
    [
        "bob@example.com",
        "mail to bob@example",
        "bob example gmail com",
        "bob.example hotmail.com",
        "bob1 yahoo com",
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
