"""`mtn-count-next --add` makes the same table as counting all text at once."""

import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.ownership import locked
from mtn_preprocess.text.session_pairs import Pair
from mtn_serving.commands.count_next import main
from mtn_serving.counted_text import joined
from mtn_serving.counting import count_next_queries, table_of
from mtn_serving.counting_state import State, state_folder
from mtn_serving.next_queries import NextQueries
from mtn_serving.suggester import Suggester
from mtn_serving.tally import count_text

Asked = st.tuples(
    st.integers(0, 3),  # person
    st.lists(st.sampled_from(["a", "b", "a b", "é", "c d"]), min_size=2, max_size=5),
)


def pairs_of(asked):
    return [
        (Pair(" <q> ".join(session[:t]), session[t]), who)
        for who, session in asked
        for t in range(1, len(session))
    ]


def counted(asked, has_users=True, forms=None):
    pairs = pairs_of(asked)
    users = [who for _, who in pairs] if has_users else None
    return count_text([pair for pair, _ in pairs], 3, users, forms=forms)


def content(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# --- in memory ------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(Asked, min_size=1, max_size=5), min_size=1, max_size=4),
    st.integers(1, 3),
    st.booleans(),
    st.dictionaries(st.sampled_from(["a", "a b"]), st.sampled_from(["A!", "a-b"])),
)
def test_adding_day_by_day_equals_counting_at_once(days, min_users, has_users, forms):
    min_users = min_users if has_users else 1
    grown = counted(days[0], has_users, forms)
    for day in days[1:]:
        grown = joined([grown, counted(day, has_users, forms)])
    at_once = counted([each for day in days for each in day], has_users, forms)
    assert grown._replace(facts=at_once.facts).arrays().keys() == at_once.arrays().keys()
    for name, array in at_once.arrays().items():
        np.testing.assert_array_equal(array, grown.arrays()[name], name)
    pairs = pairs_of([each for day in days for each in day])
    by_hand = count_next_queries(
        [pair for pair, _ in pairs],
        [who for _, who in pairs] if has_users else None,
        min_users,
        forms=forms,
    )
    table = table_of(grown, min_users)
    assert {**table.facts, "texts": 1} == by_hand.facts
    for session in (["a"], ["a b", "a"], ["é", "c d", "a"]):
        assert table.suggest(session, 9) == by_hand.suggest(session, 9)
    assert table.users.tolist() == by_hand.users.tolist()


def test_a_person_on_both_days_counts_once():
    first, second = counted([(7, ["a", "b"])]), counted([(7, ["a", "b"]), (9, ["c", "b"])])
    table = table_of(joined([first, second]))
    assert dict(zip(table.queries, table.users.tolist())) == {"a": 1, "b": 2, "c": 1}
    assert table.asked.tolist() == [2, 3, 1] and table.facts["users"] == 2


def test_a_query_enters_the_table_when_enough_people_asked_it():
    first = counted([(1, ["a", "rare"]), (2, ["a", "b"]), (1, ["a", "b"])])
    assert table_of(first, 2).suggest(["a"], 9) == [("b", 1.0)]
    second = counted([(2, ["x", "rare"])])
    found = table_of(joined([first, second]), 2)
    assert found.suggest(["a"], 9) == [("b", pytest.approx(2 / 3)), ("rare", pytest.approx(1 / 3))]
    assert not found.was_left_out("rare") and found.was_left_out("x")


def test_later_forms_win():
    parts = [counted([(1, ["a", "b"])], forms={"a": form, "z": "Z"}) for form in ("A", "a!")]
    assert joined(parts).forms == {"a": "a!"}


def test_ageing_by_hand():
    """`b` four times at 0.5 counts 2; `c` once at 0.5 counts 1 (rounded up), at 0.25 it is 0."""
    old = counted([(1, ["a", "b"])] * 4 + [(2, ["a", "c"])])
    new = counted([(3, ["a", "d"])])
    once = joined([old.aged(0.5), new])
    table = table_of(once)
    assert table.suggest(["a"], 9) == [("b", 0.5), ("c", 0.25), ("d", 0.25)]
    assert dict(zip(table.queries, table.asked.tolist())) == {"a": 4, "b": 2, "c": 1, "d": 1}
    twice = table_of(joined([once.aged(0.5), new]))
    assert twice.suggest(["a"], 9) == [("d", pytest.approx(2 / 3)), ("b", pytest.approx(1 / 3))]
    assert twice.facts["queries_of_long_ago"] == 1 and list(twice.queries) == ["a", "b", "d"]
    assert twice.was_left_out("c")


def test_events_with_tiny_counts_are_dropped_with_their_people():
    old = counted([(1, ["a", "b"]), (2, ["c", "d"]), (2, ["c", "d"])])
    aged = old.aged(0.009)
    assert aged.queries == ["c", "d"] and aged.people.tolist() == [2]
    assert table_of(aged).facts["users"] == 1
    assert old.aged(0.001).queries == [] and old.aged(0.001).people.tolist() == []


# --- the command ----------------------------------------------------------------------------------

DAYS = {
    "monday": [(0, ["a", "b", "c"]), (1, ["a", "b"]), (2, ["x", "a", "c"])],
    "tuesday": [(0, ["a", "d"]), (1, ["a", "b", "d"])],
    "wednesday": [(0, ["x", "a", "rare"])],
}
# Each preparation numbers people anew: person 0 of Monday is person 1 of Tuesday.
KEYS = {"monday": "ann bob cy", "tuesday": "bob ann", "wednesday": "dee"}


def key_of(name):
    return f"{int.from_bytes(name.encode(), 'big'):016x}"


@pytest.fixture
def days(tmp_path):
    for day, asked in DAYS.items():
        folder = tmp_path / day
        folder.mkdir()
        lines = [(pair.source, pair.next_query, str(who)) for pair, who in pairs_of(asked)]
        for end, column in zip(("session", "next", "user"), zip(*lines)):
            (folder / f"train.{end}").write_text("".join(f"{line}\n" for line in column))
        names = KEYS[day].split()
        (folder / "users.key").write_text("".join(f"{key_of(name)}\n" for name in names))
    return tmp_path


def train(days, *names):
    return [flag for name in names for flag in ("--train", f"{days}/{name}/train")]


def add(days, *names):
    return [flag for name in names for flag in ("--add", f"{days}/{name}/train")]


def count_first(days, *more):
    main([*train(days, "monday"), "--output", f"{days}/table", "--keep-state", *more])


def test_added_text_gives_the_same_bytes_as_counting_at_once(days):
    main([*train(days, *DAYS), "--output", f"{days}/once", "--keep-state", "--min-users", "2"])
    count_first(days, "--min-users", "2")
    for day in ("tuesday", "wednesday"):
        main([*add(days, day), "--to", f"{days}/table"])
    assert content(days / "table") == content(days / "once")
    assert content(days / "table.state") == content(days / "once.state")
    table = NextQueries.open(days / "table", verify=True)
    # Ann, Bob, Cy and Dee asked `a`; Ann and Bob asked `b`, with other numbers on Tuesday.
    assert dict(zip(table.queries, table.users.tolist()))["a"] == 4
    assert dict(zip(table.queries, table.users.tolist()))["b"] == 2
    assert table.facts["users"] == 4 and table.facts["texts"] == 3


def test_several_days_at_once(days):
    main([*train(days, *DAYS), "--output", f"{days}/once", "--keep-state"])
    count_first(days)
    main([*add(days, "tuesday", "wednesday"), "--to", f"{days}/table"])
    assert content(days / "table") == content(days / "once")


def test_without_people(days):
    for day in DAYS:
        (days / day / "train.user").unlink()
    main([*train(days, *DAYS), "--output", f"{days}/once", "--keep-state"])
    count_first(days)
    main([*add(days, "tuesday", "wednesday"), "--to", f"{days}/table"])
    assert content(days / "table") == content(days / "once")


def test_decay(days, capsys):
    count_first(days, "--min-users", "1")
    main([*add(days, "tuesday"), "--to", f"{days}/table", "--decay", "0.4"])
    table = NextQueries.open(days / "table")
    # `a` after `x`: 0.4, rounded to 0. `b` after `a`: 2 * 0.4 + 1 = 1.8.
    assert table.suggest(["x"], 9) == []
    assert dict(table.suggest(["a"], 9)) == {"b": pytest.approx(2 / 3), "d": pytest.approx(1 / 3)}
    assert "queries of long ago left out" in capsys.readouterr().err


def test_serving_needs_no_state_and_only_the_owner_can_read_it(days):
    count_first(days, "--min-users", "1")
    state = state_folder(days / "table")
    assert state == days / "table.state" and state.stat().st_mode & 0o077 == 0
    shutil.rmtree(state)
    assert [each.text for each in Suggester(NextQueries.open(days / "table")).suggest(["a"])]
    with pytest.raises(InputError, match=r"nothing can be added: table\.state does not have"):
        main([*add(days, "tuesday"), "--to", f"{days}/table"])


def test_a_table_without_state_deletes_the_older_state(days, capsys):
    count_first(days)
    main([*train(days, "monday"), "--output", f"{days}/table"])
    assert not (days / "table.state").exists()
    assert f"{days}/table.state is deleted" in capsys.readouterr().err
    with pytest.raises(InputError, match="count all text again with --keep-state"):
        main([*add(days, "tuesday"), "--to", f"{days}/table"])


def test_other_files_beside_a_state_stay(days):
    count_first(days)
    (days / "table.state" / "thesis.txt").write_text("ten years")
    main([*train(days, "tuesday"), "--output", f"{days}/table"])
    assert [path.name for path in (days / "table.state").iterdir()] == ["thesis.txt"]


def no_keys(days):
    (days / "tuesday" / "users.key").unlink()


def no_people(days):
    (days / "tuesday" / "train.user").unlink()


def other_text(days):
    settings = '{"characters": "%s", "mask_numbers": false, "mask_emails": false}'
    (days / "tuesday" / "text.json").write_text(settings % "symbols")
    (days / "monday" / "text.json").write_text(settings % "aol")
    count_first(days)


def too_few_keys(days):
    (days / "tuesday" / "users.key").write_text(f"{key_of('bob')}\n")


def damaged_key(days):
    (days / "tuesday" / "users.key").write_text("bob\nann\n")


def damaged_state(days):
    path = next((days / "table.state").glob("*/followed_times.npy"))
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")


@pytest.mark.parametrize(
    "change, message",
    [
        (no_keys, r"tuesday/train\.user: numbers of people, which mean others in other text"),
        (no_people, "not in the same way in all text|nobody knows how many people"),
        (other_text, "was prepared with --characters symbols"),
        (too_few_keys, r"tuesday/train\.user:2: person 1, but users\.key has 1"),
        (damaged_key, r"users\.key:1: not a key of a user"),
        (damaged_state, r"followed_times\.npy: damaged .*; run mtn-count-next again"),
    ],
)
def test_incompatible_or_damaged_text_is_refused(days, change, message):
    count_first(days)
    change(days)
    before = content(days / "table")
    with pytest.raises(InputError, match=message) as error:
        main([*add(days, "tuesday"), "--to", f"{days}/table"])
    assert "\n" not in str(error.value)
    assert content(days / "table") == before


def test_the_same_text_twice_is_refused(days):
    count_first(days)
    with pytest.raises(InputError, match=r"monday/train\.session: has been counted already"):
        main([*add(days, "monday"), "--to", f"{days}/table"])
    with pytest.raises(InputError, match="has been counted already"):
        main([*train(days, "tuesday", "tuesday"), "--output", f"{days}/other"])


def test_two_simultaneous_runs_are_refused(days):
    count_first(days)
    with locked(days / "table.state"), pytest.raises(InputError, match="another run is adding"):
        main([*add(days, "tuesday"), "--to", f"{days}/table"])


@pytest.mark.parametrize(
    "flags",
    [
        "--add x",
        "--to x",
        "--train x",
        "--train x --output y --decay 0.5",
        "--add x --to y --train z",
        "--add x --to y --longest 2",
        "--add x --to y --decay 0",
        "--add x --to y --decay nan",
        "--add x --to y --decay 1.1",
    ],
)
def test_conflicting_flags(flags, capsys):
    with pytest.raises(SystemExit):
        main(flags.split())
    assert "error:" in capsys.readouterr().err


# --- killed ---------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
import numpy as np
from mtn_serving import counting_state
from mtn_serving.commands.count_next import main

def kill_before(place, name, number):
    asked = [number]
    found = getattr(place, name)
    def call(*args, **options):
        asked[0] -= 1
        if asked[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found(*args, **options)
    setattr(place, name, call)

if sys.argv[1] == "removing":
    kill_before(counting_state, "_remove_all_but", 0)
else:
    kill_before(np, "save", int(sys.argv[1]))
main(sys.argv[2:])
"""


@pytest.mark.parametrize("moment", ["0", "5", "14", "30", "removing"])
def test_killed_at_any_moment(days, moment):
    """While writing the state, between state and table, while writing the table, before the old
    state is removed."""
    count_first(days)
    old = content(days / "table")
    command = [*add(days, "tuesday"), "--to", f"{days}/table"]
    killed = subprocess.run([sys.executable, "-c", KILLED, moment, *command])
    assert killed.returncode == -signal.SIGKILL
    if moment == "removing":
        assert content(days / "table") != old
    else:
        assert content(days / "table") == old
        main(command)
    main([*add(days, "wednesday"), "--to", f"{days}/table"])
    main([*train(days, *DAYS), "--output", f"{days}/once", "--keep-state"])
    assert content(days / "table") == content(days / "once")
    assert content(days / "table.state") == content(days / "once.state")


def test_a_table_that_cannot_be_written_leaves_its_state(days, monkeypatch):
    count_first(days)
    before = {name: content(days / name) for name in ("table", "table.state")}

    def fail(self, folder):
        raise InputError("cannot be written", "free space", folder)

    monkeypatch.setattr(NextQueries, "save", fail)
    with pytest.raises(InputError, match="cannot be written"):
        main([*add(days, "tuesday"), "--to", f"{days}/table"])
    assert {name: content(days / name) for name in before} == before


def test_a_key_depends_on_all_content():
    first, second = counted([(1, ["a", "b"])]), counted([(2, ["a", "b"])])
    keys = {
        State(*fields).key
        for fields in [
            (first, ("x",), "keys"),
            (first, ("y",), "keys"),
            (first, ("x",), "numbers"),
            (second, ("x",), "keys"),
            (first.aged(0.5), ("x",), "keys"),
        ]
    }
    assert len(keys) == 5
