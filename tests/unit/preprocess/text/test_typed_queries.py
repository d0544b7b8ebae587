"""Typed text as a query: character rules, masks and block lists, in Python and in SQL."""

import unicodedata

import pytest
import reference_sessions
from hypothesis import given
from hypothesis import strategies as st
from random_logs import WORDS, some_text, some_words

from examples import examples
from mtn_preprocess import log_lines, row_query
from mtn_preprocess.engines.duckdb_engine import DuckDBEngine
from mtn_preprocess.log_files import find_log
from mtn_preprocess.progress import Progress
from mtn_preprocess.rules import Rules
from mtn_preprocess.text.block_lists import block_list
from mtn_preprocess.text.session_text import decode_query, encode_query
from mtn_preprocess.text.text_settings import AOL, CHARACTERS, SYMBOLS, TextSettings
from mtn_preprocess.text.typed_queries import KEPT_SYMBOLS, QueryReader, normalise


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("WWW.E-Bay.com", "www e bay com"),
        ("bob's  \t diner\x00!", "bob s diner"),
        ("cafe\u0301", "café"),
        ("<q> </s> <session>", "q s session"),
        ("a_b", "a b"),
        ("हिन्दी गाने", "हिन्दी गाने"),  # vowel signs are marks and part of the word
        ("no-break\u00a0space\u2028line", "no break space line"),
        ("¿¡…", ""),
        ("akku\u00adschrauber bo\u200bsch\u2060 \ufeffx", "akkuschrauber bosch x"),
        ("cafe\u00ad\u0301", "café"),
    ],
)
def test_character_rule(typed, expected):
    assert normalise(typed) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("C++ and C#", "c++ and c#"),
        ('"ASP.NET" (.net)', "asp.net .net"),
        ("c#.net c++11", "c#.net c++11"),
        ("O'Brien o\u2019brien", "o'brien o'brien"),
        ("e-mail at&t www.e-bay.com", "e-mail at&t www.e-bay.com"),
        ("'quoted' \"words\", dogs'!", "quoted words dogs"),
        ("rock 'n' roll", "rock n roll"),
        ("and so on...then", "and so on then"),
        ("-not +this #that u.s.a.", "not this that u.s.a"),
        ("a--b a.-b a+-b", "a b a b a+-b"),
        ("$5.99 1,000 50%", "5.99 1 000 50"),
        ("bob@x.org/a_b", "bob x.org a b"),
        ("- ' .. + &", ""),
    ],
)
def test_the_symbols_rule(typed, expected):
    assert normalise(typed, SYMBOLS) == expected


typed_symbols = st.text("aB1é +#.'&-\u2019\u2011,@_", max_size=15)


@given(st.one_of(st.text(), typed_symbols), st.sampled_from(CHARACTERS))
def test_normalisation_is_idempotent_nfc_words(typed, characters):
    text = normalise(typed, characters)
    assert normalise(text, characters) == text
    assert unicodedata.is_normalized("NFC", text)
    kept = KEPT_SYMBOLS if characters == SYMBOLS else ""
    letters = [char for char in text if char not in f" {kept}"]
    assert all(unicodedata.category(char)[0] in "LMN" for char in letters)
    assert text == " ".join(text.split())


@given(st.one_of(st.text(), some_words))
def test_without_masks_a_query_is_encoded_in_the_session_text_format(typed):
    for characters in CHARACTERS:
        read = QueryReader(TextSettings(characters))
        assert read(typed) == encode_query(normalise(typed, characters))


@given(st.one_of(st.text(), typed_symbols, some_words), st.sampled_from(CHARACTERS))
def test_character_rules_equal_the_reference(typed, characters):
    assert normalise(typed, characters) == reference_sessions.normalise(typed, characters)


@given(st.text(alphabet="<>/qsunk\\ ", max_size=20))
def test_typed_text_never_becomes_a_separator(typed):
    """Also without the character rule, which already removes `<` and `>`."""
    line = encode_query(typed)
    assert not {"<q>", "<session>", "<s>", "</s>", "<unk>", "<pad>"} & set(line.split())
    assert decode_query(line) == " ".join(typed.split())


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("call 555 1234 now", "call <number> now"),
        ("555-1234", "<number>"),
        ("boeing 747s 4x4", "boeing 747s 4x4"),  # digits inside words stay
        ("٣٤ ½", "<number> ½"),
        ("write to Bob.Smith+x@mail.Example.org!", "write to <email>"),
        ("1 bob@x.org 2", "<number> <email> <number>"),
        ("bob@home a@ @b @", "bob home a b"),  # not addresses
        ("a@b.c d@e.f", "<email> <email>"),
        ("<number> <email>", "number email"),
        ("madeupword0001 5", "\\madeupword0001 <number>"),
    ],
)
def test_masks(typed, expected):
    assert QueryReader(TextSettings(AOL, True, True))(typed) == expected


def test_one_mask_without_the_other():
    assert QueryReader(TextSettings(mask_numbers=True))("12 bob@x.org") == "<number> bob x org"
    assert QueryReader(TextSettings(mask_emails=True))("12 bob@x.org") == "12 <email>"


def test_masks_do_not_depend_on_the_character_rule():
    """A telephone number is a number even if its hyphens are kept."""
    read = QueryReader(TextSettings(SYMBOLS, True, True))
    assert read("call 555-1234 3.5% bob.x@y.org 4x4 .22") == "call <number> <email> 4x4 <number>"


@pytest.mark.parametrize(
    ("query", "blocked"),
    [
        ("bad", True),
        ("a bad day", True),
        ("badge", False),
        ("not so bad", True),
        ("two words", True),
        ("one two words three", True),
        ("two wordsmiths", False),
        ("words two", False),
        ("é", True),
        ("éa", False),
        ("x17", True),
        ("ax17", False),
        ("\\madeupword0001", True),
        ("good", False),
    ],
)
def test_block_list(query, blocked):
    """Whole words and phrases in any spelling, and regular expressions."""
    entries = ["Bad", "TWO-words", "E\u0301", r"/^x\d+$/", "madeupword0001", "bad word"]
    assert block_list(entries)(query) == blocked


def test_a_block_list_uses_the_character_rule_of_the_queries():
    assert block_list(["C++"], SYMBOLS)("learn c++") and not block_list(["C++"], SYMBOLS)("c")
    assert block_list(["C++"], AOL)("learn c")


def test_an_empty_block_list_blocks_nothing():
    assert not block_list([])("anything")


# --- in SQL ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def read_in_sql(tmp_path_factory):
    """Typed texts -> (query, reason), from the rows that DuckDB makes of a log."""
    folder = tmp_path_factory.mktemp("sql")
    path = folder / "log.tsv"

    def read(typed, rules):
        lines = "".join(f"u\t{text}\t2006-03-01 10:00:00\n" for text in typed)
        path.write_text(lines, encoding="utf-8", newline="")
        log = find_log([str(path)])
        engine = DuckDBEngine(folder, threads=1)
        try:
            next(engine.sessions(log, rules, Progress()), None)  # defines the functions
            batches = log_lines.read_lines(log.files[0].location, log.layout)
            engine._connection.register("lines", next(batches))
            query = f"SELECT query, reason FROM ({row_query.rows(log, rules)}) ORDER BY place"
            return engine._connection.execute(query).fetchall()
        finally:
            engine.close()

    return read


plain_ascii = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)


@examples(60)
@given(
    typed=st.lists(st.one_of(plain_ascii, some_words, some_text), min_size=1, max_size=30),
    text=st.builds(TextSettings, st.sampled_from(CHARACTERS), st.booleans(), st.booleans()),
)
def test_sql_and_python_read_queries_alike(read_in_sql, typed, text):
    """SQL reads ASCII and passes the rest to Python, without any visible difference."""
    reader = QueryReader(text)
    for each, (query, _) in zip(typed, read_in_sql(typed, Rules(**text._asdict()))):
        blank = each.strip(" ") in ("", "-")
        assert (query or "") == ("" if blank else reader(each))


def test_ascii_is_read_without_python(read_in_sql, monkeypatch):
    """Calling Python for each row would take longer than everything else."""

    def fail(self, typed):
        raise AssertionError(f"{typed!r} was given to Python")

    monkeypatch.setattr(QueryReader, "__call__", fail)
    typed = [word for word in WORDS if word.isascii() and word.isprintable()]
    typed = [word for word in typed if "madeupword" not in word.lower()]
    assert len(typed) > 15
    found = read_in_sql(typed, Rules())
    assert [query or "" for query, _ in found] == [
        "" if word in ("", "-") else normalise(word) for word in typed
    ]
