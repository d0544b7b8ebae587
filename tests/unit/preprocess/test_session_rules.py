"""Each rule of the preparation on a hand-made log."""

import pytest
from preparation_helpers import (
    GOLDEN,
    TRAIN_ONLY,
    bad_run,
    lines,
    many_sessions,
    pairs,
    run,
    session_rows,
    statistics,
)


def log_of(*rows):
    """Rows of (user, query, seconds after ten o'clock)."""
    times = [f"{10 + s // 3600}:{s // 60 % 60:02}:{s % 60:02}" for _, _, s in rows]
    return "".join(
        f"{user}\t{query}\t2006-03-01 {time}\t\t\n" for (user, query, _), time in zip(rows, times)
    )


def of_one_user(*rows):
    return log_of(*(("u", query, seconds) for query, seconds in rows))


def outcome(tmp_path, log, *flags):
    """The sessions written, and the number of rows removed per rule."""
    folder = run(tmp_path, log, *TRAIN_ONLY, "--min-queries", "2", *flags)
    removed = statistics(folder)["rows"]["removed"]
    return lines(folder / "train.whole"), {rule: n for rule, n in removed.items() if n}


def test_the_rules_are_flags(tmp_path):
    flags = "--gap-minutes 20 --min-queries 2 --max-queries 6 --max-query-tokens 3"
    whole, _ = outcome(tmp_path, GOLDEN, *flags.split())
    assert whole == [
        r"\madeupword0001 q x <q> last",
        "1 <q> 2 <q> 3 <q> 4 <q> 5 <q> 6",
        "one <q> two",
    ]


@pytest.mark.parametrize("typed", ["", "-", " ", " - ", "   "])
def test_blank_queries(tmp_path, typed):
    log = of_one_user(("a", 0), (typed, 1), ("b", 2))
    assert outcome(tmp_path, log) == (["a <q> b"], {"blank query": 1})


@pytest.mark.parametrize("typed", ["--", "?", "<>", "\u00a0", " \u00a0 ", "…", "- -"])
def test_queries_that_become_empty(tmp_path, typed):
    log = of_one_user(("a", 0), (typed, 1), ("b", 2))
    assert outcome(tmp_path, log) == (["a <q> b"], {"no letter or digit": 1})


def test_rows_of_the_same_second_with_the_same_query_are_clicks(tmp_path):
    """Also with another query of that second in between, and in another spelling."""
    log = of_one_user(("b", 0), ("a", 0), ("B!", 0), ("b", 0), ("c", 1))
    assert outcome(tmp_path, log) == (["a <q> b <q> c"], {"further click on a query": 2})


def test_queries_of_the_same_second_are_in_alphabetic_order(tmp_path):
    """Ordered by code point, as in all engines and languages."""
    log = of_one_user(("z", 5), ("é", 5), ("a b", 5), ("10", 5), ("9", 5))
    assert outcome(tmp_path, log) == (["10 <q> 9 <q> a b <q> z <q> é"], {})


def test_rows_out_of_order_are_sorted_and_counted(tmp_path):
    folder = run(tmp_path, of_one_user(("c", 9), ("a", 0), ("b", 5)), *TRAIN_ONLY)
    assert lines(folder / "train.whole") == ["a <q> b <q> c"]
    assert statistics(folder)["rows"]["time going backwards"] == 1


@pytest.mark.parametrize(
    ("minutes", "seconds", "parts"),
    [
        ("30", 1799, 1),
        ("30", 1800, 2),
        ("0.5", 29, 1),
        ("0.5", 30, 2),
        ("0.001", 0, 1),
        ("0.001", 1, 2),
        ("16.1", 965, 1),
        ("16.1", 966, 2),  # as floats, 16.1 minutes are slightly more
    ],
)
def test_a_gap_starts_a_new_session(tmp_path, minutes, seconds, parts):
    rows = [("a", 0), ("b", 0), ("c", seconds), ("d", seconds)]
    whole, _ = outcome(tmp_path, of_one_user(*rows), "--gap-minutes", minutes)
    assert whole == (["a <q> b <q> c <q> d"] if parts == 1 else ["a <q> b", "c <q> d"])


def test_users_are_separate_and_in_alphabetic_order(tmp_path):
    rows = [(user, query, second) for second, query in enumerate("ab") for user in ("9", "10", "é")]
    log = log_of(*((user, f"{query}{user}", second) for user, query, second in rows))
    whole, _ = outcome(tmp_path, log)
    assert whole == ["a10 <q> b10", "a9 <q> b9", "aé <q> bé"]


# --- queries removed from their session
# ------------------------------------------------------------


def test_a_long_query_is_removed_but_not_its_session(tmp_path):
    log = of_one_user(("a", 0), ("x y z", 1), ("x y", 2))
    found = outcome(tmp_path, log, "--max-query-tokens", "2")
    assert found == (["a <q> x y"], {"too many tokens": 1})


def test_a_removed_query_still_bridges_a_gap(tmp_path):
    """The query was issued, so the user did not pause for 30 minutes."""
    log = of_one_user(("a", 0), ("b", 60), ("x y z", 1700), ("c", 3400))
    assert outcome(tmp_path, log, "--max-query-tokens", "2")[0] == ["a <q> b <q> c"]


def test_duplicates_separated_by_a_long_query_count_once(tmp_path):
    log = of_one_user(("a", 0), ("x y z", 1), ("a", 2), ("b", 3), ("a", 4))
    found = outcome(tmp_path, log, "--max-query-tokens", "2")
    assert found == (["a <q> b <q> a"], {"too many tokens": 1, "successive duplicate": 1})


def test_equal_queries_in_two_sessions_are_not_duplicates(tmp_path):
    log = of_one_user(("a", 0), ("b", 1), ("b", 5000), ("c", 5001))
    assert outcome(tmp_path, log) == (["a <q> b", "b <q> c"], {})


def test_equal_queries_of_two_users_are_not_duplicates(tmp_path):
    log = log_of(("1", "a", 0), ("1", "b", 1), ("2", "b", 1), ("2", "c", 2))
    assert outcome(tmp_path, log) == (["a <q> b", "b <q> c"], {})


def test_block_list(tmp_path):
    listed = tmp_path / "blocked.txt"
    listed.write_text("# names\n\nJohn Smith\n /^tel/ \n", encoding="utf-8")
    queries = ["a", "call JOHN-SMITH", "telephone", "hotel", "john smithers", "john"]
    log = of_one_user(*((query, second) for second, query in enumerate(queries)))
    found = outcome(tmp_path, log, "--block-list", str(listed))
    assert found == (["a <q> hotel <q> john smithers <q> john"], {"on the block list": 2})


def test_queries_that_too_few_users_asked(tmp_path):
    """People are counted, not rows, before other rules remove rows."""
    rows = [("1", query, second) for second, query in enumerate(["a", "mine", "b", "mine", "c"])]
    rows += [("2", query, second) for second, query in enumerate(["c", "B!", "a"])]
    rows += [("3", "a", 0)]
    folder = run(tmp_path, log_of(*rows), *TRAIN_ONLY, "--min-users", "2")
    assert lines(folder / "train.whole") == ["a <q> b <q> c", "c <q> b <q> a"]
    removed = statistics(folder)["rows"]["removed"]
    assert removed["asked by too few users"] == 2
    assert removed["in a session of too few queries"] == 1
    found = bad_run(tmp_path, log_of(*rows), "--min-users", "3", output="three")
    assert found.startswith("no session is left under these rules; ")


def test_a_row_is_counted_under_the_first_rule_that_removes_it(tmp_path):
    listed = tmp_path / "blocked.txt"
    listed.write_text("bad\n", encoding="utf-8")
    rows = [("1", "a", 0), ("1", "b", 1), ("2", "a", 0), ("2", "b", 1)]
    rows += [("1", "bad x y", 2), ("1", "bad x y", 2)]  # blocked, long and rare; and a click
    rows += [("1", "x y z", 3)]  # long and rare
    rows += [("1", "rare", 4), ("1", "rare", 5)]  # rare and a duplicate
    flags = ["--block-list", str(listed), "--max-query-tokens", "2", "--min-users", "2"]
    assert outcome(tmp_path, log_of(*rows), *flags)[1] == {
        "further click on a query": 1,
        "on the block list": 1,
        "too many tokens": 1,
        "asked by too few users": 2,
    }


def test_masks_apply_before_queries_are_compared(tmp_path):
    log = of_one_user(("call 1", 0), ("call 2", 0), ("call 3", 1), ("to a@b.org", 2))
    assert outcome(tmp_path, log, "--mask-numbers", "--mask-emails") == (
        ["call <number> <q> to <email>"],
        {"further click on a query": 1, "successive duplicate": 1},
    )


@pytest.mark.parametrize(("least", "most", "kept"), [(2, 3, [2, 3]), (3, 4, [3, 4]), (5, 5, [5])])
def test_bounds_of_sessions(tmp_path, least, most, kept):
    log = "".join(
        session_rows("u", f"2006-03-0{length} 10:00:00", *"abcdef"[:length])
        for length in range(1, 7)
    )
    flags = ["--min-queries", str(least), "--max-queries", str(most)]
    whole, removed = outcome(tmp_path, log, *flags)
    assert [len(line.split(" <q> ")) for line in whole] == kept
    assert removed.get("in a session of too few queries", 0) == sum(range(1, least))
    assert removed["in a session of too many queries"] == sum(range(most + 1, 7))


# --- splits and pairs -----------------------------------------------------------------------------


def test_split_has_about_the_shares_asked_for(tmp_path):
    splits = statistics(run(tmp_path, many_sessions(), "--split", "80,10,10"))["splits"]
    found = {name: split["sessions"] for name, split in splits.items()}
    assert sum(found.values()) == 1000
    assert abs(found["train"] - 800) < 60  # 4.7 standard deviations
    assert abs(found["valid"] - 100) < 45


def test_split_by_user_keeps_a_user_in_one_split(tmp_path):
    folder = run(tmp_path, many_sessions(), "--split", "80,10,10", "--split-by", "user")
    users = [
        {source.split()[0] for source, _ in pairs(folder, split)}
        for split in ("train", "valid", "test")
    ]
    assert sum(map(len, users)) == len(set.union(*users)) == 40


def test_split_by_time_puts_the_latest_sessions_into_the_test(tmp_path):
    folder = run(tmp_path, many_sessions(10, 20), "--split", "80,10,10", "--split-by", "time")
    days = {
        split: {int(source.split()[1]) for source, _ in pairs(folder, split)}
        for split in ("train", "valid", "test")
    }
    assert days == {"train": set(range(16)), "valid": {16, 17}, "test": {18, 19}}


def test_history_prepends_the_latest_sessions_oldest_first(tmp_path):
    log = "".join(
        session_rows("u", f"2006-03-0{day} 10:00:00", f"a{day}", f"b{day}", f"c{day}")
        for day in (1, 2, 3, 4)
    )
    log += session_rows("u", "2006-03-03 20:00:00", "too", "short")
    log += session_rows("v", "2006-03-05 10:00:00", "d", "e", "f")
    folder = run(tmp_path, log, *TRAIN_ONLY, "--history", "2")
    found = pairs(folder)
    assert found[0] == ("a1", "b1")
    assert found[2] == ("a1 <q> b1 <q> c1 <session> a2", "b2")
    history = "a2 <q> b2 <q> c2 <session> a3 <q> b3 <q> c3 <session>"
    assert found[6] == (f"{history} a4", "b4")
    assert found[7] == (f"{history} a4 <q> b4", "c4")
    assert found[8] == ("d", "e")  # another user's
    assert lines(folder / "train.whole")[1] == "a2 <q> b2 <q> c2"  # each query once


def test_history_crosses_splits(tmp_path):
    """The history is what was known at the time, whatever the split of its sessions."""
    flags = ["--split", "50,0,50", "--split-by", "time", "--history", "1"]
    folder = run(tmp_path, many_sessions(1, 2), *flags)
    assert pairs(folder)[0] == ("0 0", "more")
    assert pairs(folder, "test")[0] == ("0 0 <q> more <q> end <session> 0 1", "more")
    assert not (folder / "valid.session").exists()  # no share, no file
