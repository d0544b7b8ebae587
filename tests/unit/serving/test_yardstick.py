"""`mtn-yardstick`: n-best lists by copying and counting, checked by hand and by brute force."""

import io
import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_evaluation import read_generate_log
from mtn_preprocess.commands import notes
from mtn_preprocess.errors import InputError
from mtn_serving.baselines import METHODS
from mtn_serving.commands import yardstick
from mtn_serving.commands.yardstick import main, run
from mtn_serving.counting import count_followers

ECHO = -math.inf  # the score of all copied queries
EMPTY = ("", 0.0)  # how an empty list is written
HALF, THIRD, QUARTER = math.log(1 / 2), math.log(1 / 3), math.log(1 / 4)


def unrolled(sessions):
    """[(prefix, next query)], shortest prefix first, as the preparation writes them."""
    return [(session[:t], session[t]) for session in sessions for t in range(1, len(session))]


def write(prefix, pairs, history=()):
    """Write the pairs, with the earlier sessions `history` before every source."""
    earlier = "".join(" <q> ".join(session) + " <session> " for session in history)
    lines = [earlier + " <q> ".join(queries) for queries, _ in pairs]
    prefix.with_suffix(".session").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    following = "".join(f"{query}\n" for _, query in pairs)
    prefix.with_suffix(".next").write_text(following, "utf-8")
    return str(prefix)


def answers(folder, method, sessions, asked, nbest=5, history=()):
    """The [(query, score)] of each prefix in `asked`, read from the log."""
    train = write(folder / "train", unrolled(sessions), history)
    test = write(folder / "test", [(queries, "next") for queries in asked], history)
    return ranked_lists(method, train, test, nbest)


def ranked_lists(method, train, test, nbest):
    out = io.StringIO()
    run(method, train, test, nbest, out)
    found = {}
    for line in out.getvalue().splitlines():
        kind, _, rest = line.partition("-")
        number, *fields = rest.split("\t")
        if kind == "T":
            found[int(number)] = []
        elif kind == "H":
            found[int(number)].append((fields[1], float(fields[0])))
    return [found[i] for i in range(len(found))]


def check(found, *expected):
    assert [query for query, _ in found] == [query for query, _ in expected]
    assert [score for _, score in found] == pytest.approx([s for _, s in expected], abs=1e-5)


# After `a`: b twice, c, d. After `a, b`: c, d. After `x, a`: c. After `b`: c, d. After `x`: a.
SESSIONS = [["a", "b", "c"], ["a", "b", "d"], ["x", "a", "c"], ["a", "d"]]


# --- by hand --------------------------------------------------------------------------------------


def test_echo(tmp_path):
    found = answers(tmp_path, "echo", SESSIONS, [["a"], ["a", "b"], ["never seen"]])
    for ranked, query in zip(found, ["a", "b", "never seen"]):
        check(ranked, (query, ECHO))


def test_last(tmp_path):
    asked = [["a"], ["x", "a"], ["b"], ["c"], ["a", "never seen"]]
    one, other, b, c, unseen = answers(tmp_path, "last", SESSIONS, asked)
    check(one, ("b", HALF), ("c", QUARTER), ("d", QUARTER), ("a", ECHO))
    assert other == one  # queries before the last one are ignored
    check(b, ("c", HALF), ("d", HALF), ("b", ECHO))
    check(c, ("c", ECHO))  # `c` only ends sessions
    check(unseen, ("never seen", ECHO))


def test_session_backs_off(tmp_path):
    asked = [["x", "a"], ["y", "a"], ["x", "a", "b"], ["never", "seen"]]
    whole, shorter, middle, unseen = answers(tmp_path, "session", SESSIONS, asked)
    # Only c followed `x, a`; then the followers of `a`, without c.
    check(whole, ("c", 0.0), ("b", HALF), ("d", QUARTER), ("a", ECHO))
    check(shorter, ("b", HALF), ("c", QUARTER), ("d", QUARTER), ("a", ECHO))
    # `x, a, b` was never seen, but `a, b` was; it need not begin a session.
    check(middle, ("c", HALF), ("d", HALF), ("b", ECHO))
    check(unseen, ("seen", ECHO))


def test_a_prefix_counts_anywhere_in_a_session(tmp_path):
    sessions = [["s", "a", "b", "c"], ["a", "b", "d"], ["t", "a", "b", "c"]]
    (found,) = answers(tmp_path, "session", sessions, [["a", "b"]])
    check(found, ("c", math.log(2 / 3)), ("d", THIRD), ("b", ECHO))


def test_a_transition_counts_once_in_a_long_session(tmp_path):
    """`a, b` is in three prefixes of the long session, but was typed once."""
    sessions = [["a", "b", "c", "d", "e"], ["a", "z"], ["a", "z"]]
    (found,) = answers(tmp_path, "last", sessions, [["a"]])
    check(found, ("z", math.log(2 / 3)), ("b", THIRD), ("a", ECHO))


def test_the_same_query_twice_in_a_session(tmp_path):
    """In a, b, a, c: b and c followed `a` once each, and a followed `b`."""
    found = answers(tmp_path, "session", [["a", "b", "a", "c"]], [["a"], ["b", "a"]])
    check(found[0], ("b", HALF), ("c", HALF), ("a", ECHO))
    check(found[1], ("c", 0.0), ("b", HALF), ("a", ECHO))


def test_ties_are_in_code_point_order(tmp_path):
    """Whatever the order of the sessions."""
    following = ["b", "B", "é", "a b", "a", "10", "9"]
    sessions = [["q", query] for query in following]
    for seed in range(4):
        random.Random(seed).shuffle(sessions)
        (found,) = answers(tmp_path, "last", sessions, [["q"]], nbest=9)
        assert [query for query, _ in found] == ["10", "9", "B", "a", "a b", "b", "é", "q"]


def test_a_repeated_query_is_counted_and_not_echoed_again(tmp_path):
    """The preparation drops repeated queries, but files of other tools may have them."""
    (found,) = answers(tmp_path, "last", [["a", "a"], ["a", "a"], ["a", "b"]], [["a"]])
    check(found, ("a", math.log(2 / 3)), ("b", THIRD))


@pytest.mark.parametrize("nbest, expected", [(1, "c"), (2, "cb"), (3, "cbd"), (4, "cbda")])
def test_nbest(tmp_path, nbest, expected):
    (found,) = answers(tmp_path, "session", SESSIONS, [["x", "a"]], nbest)
    assert "".join(query for query, _ in found) == expected


def test_words_are_not_queries(tmp_path):
    """`a b` is one query, not `b` and not the two queries `a`, `b`."""
    sessions = [["a b", "one"], ["b", "two"], ["a", "b", "three"]]
    found = answers(tmp_path, "session", sessions, [["a b"], ["b"], ["a", "b"]])
    check(found[0], ("one", 0.0), ("a b", ECHO))
    check(found[1], ("three", HALF), ("two", HALF), ("b", ECHO))
    check(found[2], ("three", 0.0), ("two", HALF), ("b", ECHO))


# --- back to earlier queries of the session -------------------------------------------------------


def test_back(tmp_path):
    asked = [["y", "a"], ["x", "a"], ["never", "seen"], ["seen"], ["u", "v", "u", "w"]]
    counts, whole, unseen, alone, twice = answers(tmp_path, "back", SESSIONS, asked)
    check(counts, ("b", HALF), ("c", QUARTER), ("d", QUARTER), ("y", ECHO))
    check(whole, ("c", 0.0), ("b", HALF), ("d", QUARTER), ("x", ECHO))
    check(unseen, ("never", ECHO))
    check(alone, EMPTY)
    check(twice, ("u", ECHO), ("v", ECHO))  # each query once, newest first


def test_back_first(tmp_path):
    asked = [["y", "a"], ["b", "a"], ["never", "seen"], ["seen"], ["u", "v", "u", "w"]]
    new, counted, unseen, alone, twice = answers(tmp_path, "back-first", SESSIONS, asked)
    check(new, ("y", ECHO), ("b", HALF), ("c", QUARTER), ("d", QUARTER))
    check(counted, ("b", ECHO), ("c", QUARTER), ("d", QUARTER))
    check(unseen, ("never", ECHO))
    check(alone, EMPTY)
    check(twice, ("u", ECHO), ("v", ECHO))


@pytest.mark.parametrize("method", ["back", "back-first"])
def test_the_last_query_is_not_suggested_even_if_asked_before_or_counted(tmp_path, method):
    """The list has its full length nevertheless."""
    (found,) = answers(tmp_path, method, [["a", "a"], ["a", "a"], ["a", "b"]], [["a", "c", "a"]], 2)
    expected = [("b", THIRD), ("c", ECHO)]
    check(found, *(expected if method == "back" else expected[::-1]))


# --- a person's history ---------------------------------------------------------------------------

# After `a`: q, r, q, r. The person asked a 4 times, q and r twice each, and s once, at the end.
PAST = [["a", "q"], ["a", "r"], ["a", "q"], ["a", "r"], ["s"]]


@pytest.mark.parametrize("kept", ["beside", "in front"])
def test_personal(tmp_path, kept):
    """The person's next queries, then the person's frequent queries, then those of others."""
    train = write(tmp_path / "train", unrolled(SESSIONS))
    sessions = [["z", "a"], ["s"], ["never", "seen"]]
    pairs = [(session, "next") for session in sessions]
    if kept == "in front":
        test = write(tmp_path / "test", pairs, PAST)
    else:
        test = write(tmp_path / "test", pairs)
        past = " <session> ".join(" <q> ".join(session) for session in PAST)
        (tmp_path / "test.history").write_text(f"{past}\n" * len(pairs), "utf-8")
    after, other, unseen = ranked_lists("personal", train, test, 9)
    ninth = math.log(1 / 9)
    counted = [("b", HALF), ("c", QUARTER), ("d", QUARTER)]
    check(after, ("r", HALF), ("q", HALF), ("s", ninth), *counted)  # r is more recent than q
    often = [("a", math.log(4 / 9)), ("r", math.log(2 / 9)), ("q", math.log(2 / 9))]
    check(other, *often)
    check(unseen, *often, ("s", ninth))


def test_each_pair_has_the_history_of_its_line(tmp_path, capfd):
    """An empty line is an empty history; histories in the session file are ignored."""
    train = write(tmp_path / "train", unrolled(SESSIONS))
    test = write(tmp_path / "test", [(["a"], "x"), (["a"], "x"), (["new"], "x")], [["not this"]])
    (tmp_path / "test.history").write_text("a <q> one\n\n\n", "utf-8")
    known, stranger, nothing = ranked_lists("personal", train, test, 2)
    check(known, ("one", 0.0), ("b", HALF))
    check(stranger, ("b", HALF), ("c", QUARTER))
    check(nothing, EMPTY)
    assert (
        "first suggestions: 1 by what the person asked next before, 1 by the last 1, "
        "1 by nothing, an empty list" in capfd.readouterr().err
    )


def test_personal_needs_a_history(tmp_path):
    train = write(tmp_path / "train", unrolled(SESSIONS))
    test = write(tmp_path / "test", [(["a"], "b"), (["a", "b"], "c")])
    out = io.StringIO()
    with pytest.raises(InputError, match=r"test\.history: no earlier sessions, .*; prepare"):
        run("personal", train, test, 5, out)
    for lines, place in (("x\n", 2), ("x\n" * 3, 3)):
        (tmp_path / "test.history").write_text(lines, "utf-8")
        with pytest.raises(InputError, match=rf"history:{place}: {len(lines) // 2} lines, but"):
            run("personal", train, test, 5, out)
    assert out.getvalue() == ""


def test_text_in_word_pieces_and_a_history_in_words(tmp_path):
    write(tmp_path / "train", [(["▁x y"], "▁b")])
    test = write(tmp_path / "test", [(["▁x y"], "▁c")])
    (tmp_path / "test.history").write_text("xy <q> old\n", "utf-8")
    (found,) = ranked_lists("personal", str(tmp_path / "train"), test, 5)
    check(found, ("old", 0.0), ("b", 0.0))


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"personal"}))
def test_earlier_sessions_are_ignored(tmp_path, method):
    asked = [["x", "a"], ["a"], ["new"]]
    expected = answers(tmp_path, method, SESSIONS, asked)
    assert answers(tmp_path, method, SESSIONS, asked, history=[["a", "q"], ["x"]]) == expected


# --- by brute force -------------------------------------------------------------------------------


def by_brute_force(method, sessions, queries, nbest):
    """The list from whole sessions, where each query occurs once, not from unrolled pairs."""
    longest = {"echo": 0, "last": 1}.get(method, len(queries))
    ranked = []
    for length in range(longest, 0, -1):
        counts = Counter(
            session[t]
            for session in sessions
            for t in range(length, len(session))
            if session[t - length : t] == queries[-length:]
        )
        best = sorted(counts, key=lambda query: (-counts[query], query))
        ranked += [(query, math.log(counts[query] / sum(counts.values()))) for query in best]
    if method.startswith("back"):
        earlier = [(query, ECHO) for query in reversed(queries[:-1])]
        ranked = ranked + earlier if method == "back" else earlier + ranked
        ranked = [pair for pair in ranked if pair[0] != queries[-1]]
    else:
        ranked.append((queries[-1], ECHO))
    distinct = [pair for i, pair in enumerate(ranked) if pair[0] not in dict(ranked[:i])]
    return distinct[:nbest] or [EMPTY]


a_query = st.sampled_from(["a", "b", "c", "a b", "b a", "ü"])
a_session = st.lists(a_query, min_size=2, max_size=6)


@given(
    sessions=st.lists(a_session, min_size=1, max_size=25),
    asked=st.lists(st.lists(a_query, min_size=1, max_size=5), min_size=1, max_size=6),
    nbest=st.integers(1, 7),
)
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"personal"}))
def test_against_brute_force(tmp_path_factory, method, sessions, asked, nbest):
    folder = tmp_path_factory.mktemp("text")
    found = answers(folder, method, sessions, asked, nbest)
    for queries, ranked in zip(asked, found):
        check(ranked, *by_brute_force(method, sessions, queries, nbest))


# --- files ----------------------------------------------------------------------------------------


def test_the_log_has_the_format_of_fairseq_generate(tmp_path, capfd):
    """Every pair is in its place, with its whole source, and words are unchanged."""
    history = [["old", "\\<q> typed"]]
    pairs = [(["x", "a"], "c"), (["é ß"], "\\<unk> 中"), (["a"], "b")]
    train = write(tmp_path / "train", unrolled(SESSIONS), history)
    test = write(tmp_path / "test", pairs, history)
    main(["session", "--train", train, "--test", test, "--nbest", "2"])
    printed = capfd.readouterr()
    log = tmp_path / "generate.log"
    log.write_text(printed.out, "utf-8")
    read = read_generate_log(str(log))
    assert [pair.ranked for pair in read] == [["c", "b"], ["é ß"], ["b", "c"]]
    assert [pair.next_query for pair in read] == [following for _, following in pairs]
    assert [pair.session for pair in read] == (tmp_path / "test.session").read_text(
        "utf-8"
    ).splitlines()
    kinds = [line.partition("-")[0] for line in printed.out.splitlines()]
    last = "Yardstick session with nbest=2: 3 pairs"
    assert kinds == [*"STHDPHDP", *"STHDP", *"STHDPHDP", last]
    assert f"7 pairs of {train}\n" in printed.err
    assert "first suggestions: 1 by the last 2, 1 by the last 1, 1 by echo" in printed.err


def test_repeated_spaces_become_one(tmp_path):
    write(tmp_path / "train", [(["a  b", " c"], " d  e ")])
    write(tmp_path / "test", [(["a b", "c"], "x")])
    found = ranked_lists("session", str(tmp_path / "train"), str(tmp_path / "test"), 5)
    check(found[0], ("d e", 0.0), ("c", ECHO))


def test_only_echo_needs_no_training_text(tmp_path, capfd):
    test = write(tmp_path / "test", [(["a"], "b")])
    main(["echo", "--test", test])
    assert "D-0\t-inf\ta\n" in capfd.readouterr().out
    for method in ("last", "session", "back", "back-first", "personal"):
        with pytest.raises(SystemExit):
            main([method, "--test", test])
        assert "give --train PREFIX" in capfd.readouterr().err


@pytest.mark.parametrize("nbest", ["0", "-1", "many"])
def test_nbest_is_a_number_above_0(tmp_path, capfd, nbest):
    with pytest.raises(SystemExit):
        main(["echo", "--test", str(tmp_path / "test"), "--nbest", nbest])
    assert "--nbest" in capfd.readouterr().err


SPOILED = {
    "no such file": (lambda path: path("session").unlink(), "session: no such file"),
    "no such next": (lambda path: path("next").unlink(), "next: no such file"),
    "fewer targets": (lambda path: path("next").write_text("b\n"), "next:2: line missing"),
    "fewer sources": (lambda path: path("session").write_text("b\n"), "session:2: line missing"),
    "empty query": (lambda path: path("session").write_text("a\na <q>\n"), "session:2: empty"),
    "two queries": (lambda path: path("next").write_text("a\na <q> b\n"), "next:2: a separator"),
    "not UTF-8": (lambda path: path("next").write_bytes(b"a\n\xff\n"), "next:2: not UTF-8"),
    "nothing": (lambda path: [path(e).write_text("") for e in ("session", "next")], "no pairs"),
}


@pytest.mark.parametrize("what", SPOILED)
@pytest.mark.parametrize("spoiled", ["train", "test"])
def test_bad_text_is_refused_before_anything_is_written(tmp_path, spoiled, what):
    for name in ("train", "test"):
        write(tmp_path / name, [(["a"], "b"), (["a", "b"], "c")])
    spoil, message = SPOILED[what]
    spoil(lambda ending: tmp_path / f"{spoiled}.{ending}")
    out = io.StringIO()
    with pytest.raises(InputError, match=message) as error:
        run("last", str(tmp_path / "train"), str(tmp_path / "test"), 5, out)
    assert str(tmp_path / spoiled) in str(error.value)
    assert out.getvalue() == ""


def test_progress(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(notes, "PROGRESS_EVERY", 3)
    answers(tmp_path, "last", SESSIONS, [["a"]])
    said = capsys.readouterr().err.splitlines()
    train = tmp_path / "train"
    assert said[:2] == [f"mtn-yardstick: {count} pairs of {train} so far" for count in (3, 6)]
    assert said[2] == f"mtn-yardstick: 7 pairs of {train}"


@pytest.mark.parametrize("method", ["last", "session"])
def test_only_pairs_with_a_last_query_of_the_test_are_counted(tmp_path, monkeypatch, method):
    """Millions of training pairs must not need millions of counters."""
    counted = []

    def count(pairs, longest):
        counted.extend(pairs)
        return count_followers(counted, longest)

    monkeypatch.setattr(yardstick, "count_followers", count)
    (found,) = answers(tmp_path, method, SESSIONS, [["x", "a"]], nbest=2)
    assert [pair.source for pair in counted] == ["a", "a", "x <q> a", "a"]
    assert [query for query, _ in found] == (["b", "c"] if method == "last" else ["c", "b"])
