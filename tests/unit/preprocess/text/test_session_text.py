"""The text format and its checks: typed text never becomes a symbol, and errors name the place."""

import pytest
from fairseq.data import Dictionary
from hypothesis import given
from hypothesis import strategies as st

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import (
    decode_query,
    encode_query,
    escape,
    escape_symbols,
    find_symbol,
    is_separator,
    join_units,
    last_session,
    separator,
    split_units,
    unescape,
    without_unseen,
)
from mtn_preprocess.text.text_checks import (
    check_next_query,
    check_pairs,
    check_session,
    numbered_lines,
    session_lines,
)

SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>", "<q>", "<session>", "<unit3>", "madeupword0001"]

# Typed words: anything, often words that look like symbols or escapes.
typed_words = st.one_of(
    st.text(),
    st.builds(
        lambda slashes, word: "\\" * slashes + word, st.integers(0, 3), st.sampled_from(SYMBOLS)
    ),
    st.sampled_from(["<unit12>", "<Q>", "q>", "<q", "<q>s", "\\", "\\\\", "madeupword", "<unit>"]),
)
typed_queries = st.lists(typed_words, max_size=6).map(" ".join)


@pytest.mark.parametrize("word", SYMBOLS)
def test_symbols_are_escaped(word):
    assert escape(word) == "\\" + word
    assert escape("\\" + word) == "\\\\" + word
    assert unescape(escape(word)) == word


@pytest.mark.parametrize("word", ["q", "<Q>", "a<q>", "<q>a", "\\", "\\a", "<unit>", "madeupword"])
def test_other_words_stay_unchanged(word):
    assert escape(word) == unescape(word) == word


@given(typed_words)
def test_escape_round_trip(word):
    assert unescape(escape(word)) == word


@given(st.lists(typed_words, min_size=2, max_size=2, unique=True))
def test_different_words_stay_different(pair):
    assert escape(pair[0]) != escape(pair[1])


@given(typed_queries)
def test_query_round_trip(text):
    assert decode_query(encode_query(text)) == " ".join(text.split())


@given(typed_queries)
def test_no_typed_word_is_a_symbol(text):
    reserved = Dictionary()
    for word in encode_query(text).split():
        assert word not in reserved.symbols
        assert not is_separator(word)
        assert not word.startswith("madeupword") or not word[10:].isdecimal() or len(word) != 14


@given(typed_queries)
def test_a_typed_line_has_separators_and_no_other_symbol(line):
    """Its meaning stays the same, and escaped text does not change."""
    safe = escape_symbols(line)
    assert find_symbol(safe) is None
    assert not set(Dictionary().symbols) & set(safe.split())
    assert list(map(unescape, safe.split())) == list(map(unescape, line.split()))
    separators = [list(filter(is_separator, each.split())) for each in (line, safe)]
    assert separators[0] == separators[1]
    assert escape_symbols(safe) == safe
    assert escape_symbols(encode_query(line)) == encode_query(line)


def test_symbols_in_a_typed_line():
    assert (
        escape_symbols("<pad> <pad> w1 <q>\t<s> w2<s>")
        == r"\<pad> \<pad> w1 <q>" + "\t" + r"\<s> w2<s>"
    )
    assert escape_symbols(r"\<unk> <number> <email> <session> madeupword0001") == (
        r"\<unk> <number> <email> <session> \madeupword0001"
    )
    assert escape_symbols("a <q> b <unit3> <unk>\tc", ["<q>"]) == r"a <q> b \<unit3> \<unk> c"
    assert escape_symbols(r"a <q>  \<unit3>", ["<q>"]) == r"a <q>  \<unit3>"
    assert without_unseen("\ufeffa\0b <\0q> \ufeff") == "ab <q> "


@given(st.lists(typed_queries.filter(str.split), min_size=1, max_size=5), st.integers(1, 4))
def test_join_and_split(queries, level):
    units = [encode_query(query) for query in queries]
    assert split_units(join_units(units, level), level) == units


def test_separators():
    assert [separator(level) for level in (1, 2, 3, 4)] == [
        "<q>",
        "<session>",
        "<unit3>",
        "<unit4>",
    ]
    assert all(is_separator(separator(level)) for level in range(1, 12))
    assert not any(map(is_separator, ["q", "<unk>", "\\<q>", "<q>a", "<unit>", ""]))
    with pytest.raises(ValueError, match="not 0"):
        separator(0)


def test_join_two_levels():
    sessions = [join_units(["cheap flights", "flights paris"], 1), "paris hotels"]
    history = join_units(sessions, 2)
    assert history == "cheap flights <q> flights paris <session> paris hotels"
    assert split_units(history, 2) == sessions
    assert split_units(sessions[0], 1) == ["cheap flights", "flights paris"]


@pytest.mark.parametrize(
    "line, expected",
    [
        ("a", "a"),
        ("a <q> b", "a <q> b"),
        ("a <q> b <session> c <q> d e", "c <q> d e"),
        ("a <session> b <unit3> c", "c"),
        ("a <unit3> b <session> c <q> d", "c <q> d"),
        ("a <session> \\<session> b", "\\<session> b"),
    ],
)
def test_last_session(line, expected):
    assert last_session(line) == expected


# --- checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["a", "a b <q> c", "a <q> b <session> c", "\\<q> <q> \\<session>", "\\<pad>"]
)
def test_good_sessions(line):
    check_session(line, "x.session", 1)


@pytest.mark.parametrize(
    "line, reason",
    [
        ("", "empty line"),
        (" \t", "empty line"),
        ("<q>", "only separators"),
        ("<q> <session>", "only separators"),
        ("<q> a", "empty query"),
        ("a <q>", "empty query"),
        ("a <q> <q> b", "empty query"),
        ("a <q> <session> b", "empty query"),
        ("a <session> <q> b", "empty query"),
        *(
            (f"a {symbol} b", f"{symbol} in the text, which fairseq would read as a symbol .*")
            for symbol in SYMBOLS
            if not is_separator(symbol)
        ),
    ],
)
def test_bad_sessions(line, reason):
    with pytest.raises(InputError, match=rf"^data/x\.session:7: {reason}; \w+"):
        check_session(line, "data/x.session", 7)


@pytest.mark.parametrize(
    "line, reason",
    [
        ("", "empty query"),
        ("a <q> b", "a separator"),
        ("<session>", "a separator"),
        ("a <unk>", "<unk> in the text"),
        ("madeupword0000", "madeupword0000 in the text"),
    ],
)
def test_bad_next_queries(line, reason):
    with pytest.raises(InputError, match=rf"^x\.next:3: {reason}.*; \w+"):
        check_next_query(line, "x.next", 3)


def write(folder, sessions, queries):
    (folder / "train.session").write_bytes(sessions)
    (folder / "train.next").write_bytes(queries)
    return str(folder / "train")


def test_good_pairs(tmp_path):
    assert check_pairs(write(tmp_path, b"a\na <q> b\n", b"b\nc d\n")) == 2


@pytest.mark.parametrize(
    "sessions, queries, message",
    [
        (b"a\na <q>\n", b"b\nc\n", r"train\.session:2: empty query; remove"),
        (b"a\nb\n", b"b\n\n", r"train\.next:2: empty query; remove"),
        (b"a\nb\nc\n", b"b\n", r"train\.session:2: 3 lines, but .*train\.next has 1; "),
        (b"a\n", b"b\nc\n", r"train\.session:2: 1 lines, but .*train\.next has 2; "),
        (b"a\ncaf\xe9\n", b"b\nc\n", r"train\.session:2: not UTF-8 at byte 4 of the line; .*iconv"),
        (b"a\nb\n", b"b\n\xff\n", r"train\.next:2: not UTF-8 at byte 1 of the line; "),
        (b"", b"", r"train\.session: no pairs; "),
        (b"\xef\xbb\xbfa\n", b"b\n", r"train\.session:1: a byte order mark.*; .*sed 's"),
        (b"a\nb\n", b"b\na\0\n", r"train\.next:2: a NUL character; .*`tr -d '\\0'`"),
        (b"a\n", b"<pad>\n", r"train\.next:1: <pad> in the text.*`\\<pad>`"),
    ],
)
def test_bad_pairs(tmp_path, sessions, queries, message):
    with pytest.raises(InputError, match=message):
        check_pairs(write(tmp_path, sessions, queries))


def test_missing_files(tmp_path):
    with pytest.raises(InputError, match=r"train\.session: no such file; "):
        check_pairs(str(tmp_path / "train"))
    (tmp_path / "train.session").write_text("a\n")
    with pytest.raises(InputError, match=r"train\.next: no such file; "):
        check_pairs(str(tmp_path / "train"))


def test_numbered_lines_end_at_line_feeds_only(tmp_path):
    """Other Unicode line ends are part of a line, as in fairseq's tools."""
    path = tmp_path / "text"
    path.write_text("a\u2028b\x0c\n\nc", encoding="utf-8")
    assert list(numbered_lines(path)) == [(1, "a\u2028b\x0c"), (2, ""), (3, "c")]


def test_a_carriage_return_within_a_line_is_refused(tmp_path):
    path = tmp_path / "train.session"
    path.write_bytes(b"a b\r\nb\rc\n")  # at the end of a line it is allowed, as in fairseq
    with pytest.raises(InputError, match=r"train\.session:2: a carriage return .*`tr -d '\\r'`"):
        list(numbered_lines(path))


def test_symbols_are_refused_in_any_session_text(tmp_path):
    path = tmp_path / "train.whole"
    path.write_text("a <number>\nb </s>\n")
    lines = session_lines(path)
    assert next(lines) == (1, "a <number>")
    with pytest.raises(InputError, match=r"train\.whole:2: </s> in the text.*; .*`\\</s>`"):
        next(lines)
