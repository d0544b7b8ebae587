"""Text typed to get suggestions becomes the same tokens as in the preparation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_logs import some_text, some_words

from mtn_preprocess.text.session_text import escape, is_separator
from mtn_preprocess.text.text_settings import AOL, CHARACTERS, SYMBOLS, TextSettings
from mtn_preprocess.text.typed_queries import EMAIL, NUMBER, QueryReader
from mtn_preprocess.text.typed_sessions import SessionReader
from mtn_preprocess.text.word_pieces import WORD_START

some_settings = st.builds(TextSettings, st.sampled_from(CHARACTERS), st.booleans(), st.booleans())
typed_text = st.one_of(st.text(), some_text, some_words, st.text("aB1é +#.'&-<>\\@", max_size=20))


def in_format(typed):
    """Whether the text means the same as a line of the format: no separator and no mask."""
    words = typed.lower().replace("\ufeff", " ").replace("\0", " ").split()
    return not any(is_separator(word) or word in (NUMBER, EMAIL) for word in words)


@given(typed_text, some_settings)
def test_a_typed_query_is_read_like_the_preparation(typed, settings):
    assert SessionReader(settings).query(typed) == QueryReader(settings)(typed)


@given(typed_text.filter(in_format), some_settings)
def test_a_typed_line_is_read_like_the_preparation(typed, settings):
    if typed.lstrip("\ufeff\0 ").startswith(WORD_START):
        return  # a line in word pieces
    assert SessionReader(settings).line(typed) == QueryReader(settings)(typed)


@given(st.lists(typed_text, min_size=1, max_size=4), some_settings)
def test_prepared_lines_stay_unchanged(typed, settings):
    """Including masks and escaped words."""
    queries = list(filter(None, map(QueryReader(settings), typed)))
    for separator in (" <q> ", " <session> ", " <unit3> "):
        line = separator.join(queries)
        assert SessionReader(settings).line(line) == line


@pytest.mark.parametrize("typed", ["www.ebay.com", "WWW.eBay.com!", '"www ebay com"'])
def test_separators_stay_with_anything_in_between(typed):
    read = SessionReader(TextSettings()).line
    assert read(f"{typed} <Q> {typed}") == "www ebay com <q> www ebay com"
    assert read(f"\ufeff<q> !!! <q> {typed} <session>") == "<q> <q> www ebay com <session>"


def test_masks_and_escapes_of_prepared_lines():
    masking = SessionReader(TextSettings(AOL, True, True))
    line = r"call <number> <q> <email> \madeupword0001"
    assert masking.line(line) == line
    assert masking.line("555 <number> 1234 <q> 5 <q> 6") == "<number> <q> <number> <q> <number>"
    assert masking.query("<number> <q>") == "number q"  # as typed by a searcher
    assert SessionReader(TextSettings()).line("<number>") == "number"  # this text has no masks


def test_word_pieces_are_joined():
    assert SessionReader(TextSettings(SYMBOLS)).line("▁c ++ <q> ▁. net") == "c++ <q> .net"
    assert SessionReader(TextSettings()).line("foo ▁bar") == "foo bar"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("Cafe\u0301  www.X.com", "café www.x.com"), ("par\udcffis", "par?is"), ("a\0\ufeffb", "ab")],
)
def test_foreign_text_keeps_its_characters(typed, expected):
    assert SessionReader().query(typed) == SessionReader().line(typed) == expected


@given(st.sampled_from(["<q>", "<s>", "<unk>", "</s>", "<pad>", "madeupword0001"]))
def test_symbols_in_foreign_text_are_escaped(symbol):
    assert SessionReader().query(symbol) == escape(symbol)
    assert SessionReader().line(symbol) == (symbol if symbol == "<q>" else escape(symbol))
