"""Suggestions without a ranker: the order of sources, and what is never suggested."""

from collections import Counter

import pytest
from test_next_queries import table_of

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import SYMBOLS, TextSettings
from mtn_serving.candidates import SOURCES, gather
from mtn_serving.display_rules import DisplayRules
from mtn_serving.history import own_queries, past_of
from mtn_serving.request import as_line, has_query
from mtn_serving.suggester import Suggester

TABLE = table_of([["a b", "c"], ["a b", "d"], ["a b", "c"]])


def texts(suggester, session, n=10):
    return [each.text for each in suggester.suggest(session, n)]


def test_counts_then_edits():
    found = Suggester(TABLE, rules=DisplayRules(min_users=0)).suggest(["d", "a b"])
    assert [(each.text, each.source) for each in found] == [
        ("c", "counts"),
        ("d", "counts"),
        ("b", "edits"),
        ("a", "edits"),
        ("a b d", "edits"),
        ("d a b", "edits"),
    ]
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True) and len(set(scores)) == len(scores)
    assert str(scores[0]) == "0.0"


def test_earlier_queries_of_the_session_come_last_newest_first():
    found = Suggester(TABLE, without=["edits"]).suggest(["p", "c", "q", "p", "A B"])
    assert [(each.text, each.source) for each in found] == [
        ("c", "counts"),
        ("d", "counts"),
        ("p", "session"),
        ("q", "session"),
    ]
    assert texts(Suggester(TABLE, without=["edits", "session"]), ["p", "a b"]) == ["c", "d"]


def test_queries_ago_is_known_for_every_source():
    found = gather(["p", "c", "q", "p", "a b"], TABLE, ["q", "new"])
    ago = {each.text: (each.source, each.queries_ago) for each in found}
    expected = {"c": ("counts", 4), "q": ("beam", 3), "p": ("session", 2), "new": ("beam", None)}
    assert expected.items() <= ago.items()


@pytest.mark.parametrize("last", ["a", "A", " a"])
def test_the_last_query_is_never_suggested(last):
    """Whatever the source: here, every source has it."""
    table = table_of([["p", "a"], ["a", "a"], ["a", "b"], ["a c", "a"]])
    past = past_of([["b", "a"], ["b", "a"]], "b")
    assert "a" in own_queries(past) and "a" in dict(table.suggest(["a"], 9))
    for sources in (SOURCES, *([source] for source in SOURCES)):
        found = {
            each.text for each in gather(["a", "p", last.strip()], table, ["a", "A"], sources, past)
        }
        assert "a" not in found and "A" not in found
    assert texts(Suggester(table), ["a", "p", last])[0] == "b"


def test_the_number_of_suggestions():
    assert texts(Suggester(TABLE), ["d", "a b"], n=2) == ["c", "d"]


def test_sources_can_be_switched_off():
    assert texts(Suggester(TABLE, without=["edits"]), ["a b"]) == ["c", "d"]
    assert texts(Suggester(TABLE, without=["counts"]), ["a b"]) == ["b", "a"]
    assert texts(Suggester(TABLE, without=["counts", "edits"]), ["a b"]) == []


def test_more_sessions_than_a_batch():
    sessions = [["a b"], ["b"]] * 50
    found = Suggester(TABLE).suggest_many(sessions)
    assert [len(each) for each in found] == [4, 1] * 50  # `a b` has the word `b`
    assert found[0] == found[98] and found[1] == found[99]


def test_sessions_as_text_or_as_queries():
    assert as_line(["Paris", "<q>"]) == r"paris <q> \<q>"
    assert as_line("a  b <q> c") == "a b <q> c"
    assert as_line("▁a ▁b c <q> ▁d") == "a bc <q> d"
    assert as_line("foo ▁bar baz") == "foo ▁bar baz"  # typed: pieces would begin with the mark
    assert texts(Suggester(TABLE), "x <q> a b") == texts(Suggester(TABLE), ["x", "a b"])


def test_a_model_needs_its_data():
    with pytest.raises(InputError, match="give --model and --data together"):
        Suggester.load(model="checkpoint.pt")


def test_no_gpu(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InputError, match="no GPU here; leave out --gpu"):
        Suggester.load(model="checkpoint.pt", data="data-bin", cpu=False)


@pytest.mark.parametrize(
    ("session", "line"),
    [
        ("a <q>", "a"),
        ("<q> a", "a"),
        ("a <q> <q> b", "a <q> b"),
        ("a <q> <session> b", "a <session> b"),
        ("a <session> <q> b", "a <session> b"),
        (["", "a", "  "], "a"),
        ("Cafe\u0301 PARIS", "café paris"),
        ("par\udcffis", "par?is"),  # a byte that is not UTF-8
    ],
)
def test_lines_of_typed_sessions(session, line):
    assert as_line(session) == line


@pytest.mark.parametrize(
    "session", ["", "<q>", "<q> <session> <q>", "a b <session>", "a b <unit3> <q>", []]
)
def test_a_session_without_a_query(session):
    """An earlier session has ended and does not take its place."""
    with pytest.raises(InputError, match="a session without a query; give at least one"):
        Suggester(TABLE).suggest(session)


def test_queries_without_a_word_have_no_suggestions():
    """As over HTTP: what people type is no mistake, and costs the other sessions nothing."""
    table = table_of([["a b", "c"], ["a b", "d"]], text=TextSettings(SYMBOLS))
    suggester = Suggester(table, without=["edits"])
    assert suggester.suggest(["!!!"]) == suggester.suggest(["", " "]) == []
    assert suggester.complete(["!!!"], "") == suggester.follow(["!!!"]).suggest() == []
    found = suggester.suggest_many([["!!!"], ["a b"], ["", "!"], ["a b", "!!!"]])
    assert [len(each) for each in found] == [0, 2, 0, 2] and found[1] == found[3]


def test_unseen_queries_and_no_sessions_have_no_suggestions():
    assert Suggester(TABLE).suggest(["never"], n=1000) == []
    assert Suggester(TABLE).suggest_many([]) == []


def test_queries_as_typed_get_suggestions_as_typed():
    table = table_of([[r"\<q>", r"\<q> tag"]])
    assert texts(Suggester(table, without=["edits"]), ["<q>"]) == ["<q> tag"]
    assert texts(Suggester(table, without=["edits"]), r"\<q>") == [r"\<q> tag"]


@pytest.mark.parametrize("line", ["", "<q>", "<Q> <Session>", "▁", " \n", "a b <session>"])
def test_lines_without_a_query(line):
    assert not has_query(line)
    with pytest.raises(InputError, match="a session without a query"):
        as_line(line)


def test_lines_with_a_query():
    assert has_query("<q> a") and has_query("a ▁b") and has_query("a <session> b")


def test_unrelated_needs_a_ranker():
    with pytest.raises(InputError, match="`unrelated` needs a ranker"):
        Suggester(TABLE, unrelated=True)


def test_candidates_held_back_are_replaced():
    """There are 30 followers; 10 of the first 20 may not be shown."""
    followers = [f"{'bad' if number < 10 else 'good'} w{number:02}" for number in range(30)]
    sessions = [["a", each] for number, each in enumerate(followers) for _ in range(40 - number)]
    suggester = Suggester(
        table_of(sessions), without=["edits"], rules=DisplayRules(block_list=("bad",))
    )
    held_back = Counter()
    (found,) = suggester.suggest_many([["a"]], 99, held_back=held_back)
    assert [each.text for each in found] == followers[10:30]
    assert held_back == {"block list": 10}
    assert len(Suggester(table_of(sessions), without=["edits"]).suggest(["a"], 99)) == 20
    nothing = Suggester(table_of(sessions), rules=DisplayRules(block_list=("bad", "good")))
    assert nothing.suggest(["a"], 99) == []


# --- one session or many --------------------------------------------------------------------------


def test_a_list_of_queries_is_one_session():
    suggester = Suggester(TABLE)
    one = suggester.suggest(["d", "a b"])
    assert one == suggester.suggest(("d", "a b")) == suggester.suggest("d <q> a b")
    assert suggester.suggest_many([["d", "a b"], "a b"]) == [one, suggester.suggest(["a b"])]
    assert suggester.suggest_many(["d", "a b"]) == [[], suggester.suggest("a b")]


HOW = r"suggest\(session\) takes one session, suggest_many\(sessions\) a list"


@pytest.mark.parametrize(
    "session, message",
    [
        ([["ebay"]], "a query is text, not list; "),
        (["ebay", ("ebay", "motors")], "a query is text, not tuple; "),
        (["ebay", None], "a query is text, not NoneType; "),
        ([b"ebay"], "a query is text, not bytes; "),
        (b"ebay", "a session is a list of queries, not bytes; "),
        ({"ebay", "motors"}, "a session is a list of queries, not set; "),
        (None, "a session is a list of queries, not NoneType; "),
    ],
)
def test_not_a_session(session, message):
    with pytest.raises(TypeError, match=message + HOW):
        Suggester(TABLE).suggest(session)
    with pytest.raises(TypeError, match=message + HOW):
        Suggester(TABLE).suggest_many([["a"], session])
    with pytest.raises(TypeError, match=message + HOW):
        list(Suggester(TABLE).describe([session]))


@pytest.mark.parametrize("sessions", ["ebay", b"ebay", None, iter([["ebay"]])])
def test_not_a_list_of_sessions(sessions):
    with pytest.raises(TypeError, match="sessions are a list, not .*; " + HOW):
        Suggester(TABLE).suggest_many(sessions)


@pytest.mark.parametrize("word", ["<session>", " <SESSION> ", "<unit3>", "\ufeff<ses\0sion>"])
def test_earlier_sessions_in_a_list_are_refused(word):
    with pytest.raises(InputError, match="read as one session; give the queries of the last"):
        Suggester(TABLE).suggest(["d", word, "a b"])


@pytest.mark.parametrize("n", [0, -1])
def test_n_below_one(n):
    with pytest.raises(InputError, match=f"{n} suggestions were asked for; ask for at least 1"):
        Suggester(TABLE).suggest(["a b"], n)
    with pytest.raises(TypeError):
        Suggester(TABLE).suggest(["a b"], 1.5)


@pytest.mark.parametrize("n", [1.5, "3", None, True])
def test_how_many_is_a_whole_number(n):
    suggester = Suggester(TABLE)
    with pytest.raises(TypeError, match=r"n is a whole number, not .*: how many suggestions"):
        suggester.suggest(["a b"], n)
    with pytest.raises(TypeError, match=r"n is a whole number, not .*: how many suggestions"):
        suggester.follow(["a b"]).suggest(n)
    with pytest.raises(TypeError, match=r"n is a whole number, not .*: how many completions"):
        suggester.complete(["a b"], "c", n)


def test_a_prefix_is_text():
    suggester = Suggester(TABLE)
    for call in (
        suggester.complete,
        lambda session, prefix: suggester.follow(session).complete(prefix),
    ):
        with pytest.raises(TypeError, match="a prefix is text, not NoneType; complete"):
            call(["a b"], None)
    with pytest.raises(TypeError, match="prefixes are a list, not str; complete"):
        suggester.complete_many([["a b"]], "c")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "nothing to suggest from; give a bundle, or counts, or a model and its data"),
        ({"counts": 0, "min_users": -1}, "min_users=-1 is out of bounds; .* at least 0"),
        ({"counts": 0, "min_users": 2.5}, "min_users=2.5 is no whole number; .* at least 0"),
        ({"counts": 0, "min_users": "a"}, "min_users='a' is no whole number"),
        ({"counts": 0, "threads": 0}, "threads=0 is out of bounds; give a whole number, 1 to 256"),
        ({"counts": 0, "beam": 0}, "beam=0 is out of bounds; give a whole number, 1 to 1,000"),
        ({"counts": 0, "beam": -3}, "beam=-3 is out of bounds"),
        ({"counts": 0, "beam": 10_000}, "beam=10000 is out of bounds"),
        ({"counts": 0, "beam": True}, "beam=True is no whole number"),
    ],
)
def test_arguments_are_checked_when_it_is_loaded(arguments, message, tmp_path):
    TABLE.save(tmp_path / "counts")
    if "counts" in arguments:
        arguments = {**arguments, "counts": tmp_path / "counts"}
    with pytest.raises(InputError, match=message):
        Suggester.load(**arguments)


@pytest.mark.parametrize("symbol", ["<s>", "<PAD>", "</s>", "<unk>", "MadeUpWord0000"])
def test_typed_symbols_are_words(symbol):
    """fairseq's symbols; in a line, only separators keep their meaning."""
    escaped = "\\" + symbol.lower()
    assert as_line([f"w1 {symbol}", symbol, "<q>"]) == rf"w1 {escaped} <q> {escaped} <q> \<q>"
    assert as_line(f"w1 {symbol} <q> {symbol}") == f"w1 {escaped} <q> {escaped}"
    assert as_line(f"w1 {escaped} <q> w2") == f"w1 {escaped} <q> w2"
    assert as_line(f"▁w1 ▁{symbol}") == f"w1 {escaped}"
    found = Suggester(table_of([[escaped, f"b {escaped}"]])).suggest([symbol], n=1)
    assert found[0].text == f"b {symbol.lower()}"  # as it would be typed


def test_byte_order_marks_and_nul_are_dropped():
    for session in ("\ufeffa\0 b <q> c", ["\ufeffa\0 b", "\0", "c"], "\ufeff▁a ▁b <q> ▁c"):
        assert as_line(session) == "a b <q> c"
    assert not has_query("\ufeff\0 <q>")


def test_sources_that_do_not_exist():
    with pytest.raises(InputError, match="no source 'beams'; name some of history, counts"):
        Suggester(TABLE, without=["beams"])
