"""`mtn-judge shares`, computed by hand on a training text of a few people."""

import json

import pytest
from scoring_logs import Answer, write_log, write_text

from mtn_evaluation.commands.judge import main
from mtn_evaluation.judging.shares import _is_shortened
from mtn_preprocess.errors import InputError

# (session, next query, person). Asked: google 4 times by 3 people, `red car` 3 times by 3 people,
# `blue car` twice by one, `old map` once. After `red car`: google by two people, `blue car` twice
# by one.
TRAIN = [
    ("red car", "google", 1),
    ("red car", "google", 2),
    ("red car", "blue car", 3),
    ("old map", "google", 4),
    ("green car <q> red car", "blue car", 3),
    ("x <q> y", "google", 1),
]
STATED = "Suggest counts with nbest=10: 2 pairs\n"


@pytest.fixture
def text(tmp_path):
    write_text(tmp_path / "train", [Answer(session, query, []) for session, query, _ in TRAIN])
    (tmp_path / "train.user").write_text("".join(f"{user}\n" for *_, user in TRAIN))
    return tmp_path


def shares(folder, *answers, flags=("--generic", "1")):
    """`answers`: pairs of (session, its list)."""
    pairs = [Answer(session, "next", ranked) for session, ranked in answers]
    write_text(folder / "test", pairs)
    write_log(folder / "m.log", pairs, STATED)
    prefixes = ["--test", f"{folder}/test", "--train", f"{folder}/train"]
    main(["shares", f"m={folder}/m.log", *prefixes, "--json", f"{folder}/shares.json", *flags])
    return json.loads((folder / "shares.json").read_text())["systems"][0]


def test_generic(text):
    """`google` is the most frequent query; two people asked it after `red car`."""
    found = shares(
        text,
        ("red car", ["google"]),  # this session leads to it
        ("old map", ["google"]),  # one person asked this
        ("google maps", ["google"]),  # shares a word
        ("old <q> google <q> map", ["google"]),  # with any query of the session
        ("other", ["a", "b", "google"]),
        ("other", ["a", "a", "b", "google"]),  # a repeated suggestion takes one place
        ("other", ["a", "b", "c", "google"]),  # below the top 3
        ("other", ["red car"]),  # less frequent
    )
    assert found["generic"] == pytest.approx(100 * 3 / 8)
    two = shares(text, ("other", ["red car"]), ("other", ["old map"]), flags=("--generic", "2"))
    assert two["generic"] == 50


def test_without_people_repetitions_count(text, capfd):
    assert shares(text, ("old map", ["google"]))["generic"] == 100
    (text / "train.user").unlink()
    with_pairs = [*TRAIN, ("old map", "google", 4)]
    write_text(text / "train", [Answer(session, query, []) for session, query, _ in with_pairs])
    capfd.readouterr()
    found = shares(text, ("old map", ["google"]))
    assert found["generic"] == 0 and found["one_person"] is None
    assert "Times are counted, not people" in capfd.readouterr().out


def test_made_up_private_and_unrelated(text):
    found = shares(
        text,
        # Of one person's two queries, `old map` started the session.
        ("red car", ["google", "blue car", "old map", "made up", "fast car", "beyond five"]),
        ("other <q> made up", ["other", "blue car"]),
    )
    of = 7
    assert found["made_up"] == pytest.approx(100 * 2 / of)  # made up, fast car; `other` was asked
    assert found["one_person"] == pytest.approx(100 * 3 / of)  # blue car twice, old map
    # `blue car` and `fast car` share a word with the session, google was asked after it.
    assert found["unrelated"] == pytest.approx(100 * 3 / of)  # old map, made up; blue car
    assert found["mean_length"] == 4 and found["empty"] == 0


def test_a_persons_own_queries_are_neither_private_nor_made_up(text):
    lists = [("red car", ["old map", "mine alone"]), ("red car", ["old map", "mine alone"])]
    assert shares(text, *lists)["one_person"] == shares(text, *lists)["made_up"] == 50
    (text / "test.history").write_text("mine alone <session> a <q> old map\n\n")
    found = shares(text, *lists)
    assert found["one_person"] == found["made_up"] == 25
    (text / "test.history").write_text("a\n")
    with pytest.raises(InputError, match=r"test.history:2: 1 lines, but"):
        shares(text, *lists)


def test_first_suggestions_and_empty_lists(text):
    found = shares(
        text,
        ("cheap red car", ["cheap red car", "red car"]),
        ("cheap red car", ["red car"]),
        ("cheap red car", ["cheap blue car"]),
        ("cheap red car", [""]),
        ("cheap red car", ["google", "red car"]),
    )
    assert (found["last_query"], found["shortened"]) == (20, 20)
    assert found["empty"] == 1 and found["mean_length"] == pytest.approx(6 / 5)
    nothing = shares(text, ("red car", [""]), ("red car", [""]))
    assert {nothing[name] for name in ("generic", "made_up", "one_person", "unrelated")} == {0}


@pytest.mark.parametrize(
    "first, shortened",
    [("a", True), ("c", True), ("a c", True), ("c a", False), ("a b a", True), ("a b a c", False)],
)
def test_shortened_queries_keep_the_order_of_words(first, shortened):
    assert _is_shortened(first, "a b a c") == shortened


def test_additional_words_are_not_a_shortening():
    assert not _is_shortened("a a", "a b") and not _is_shortened("a d", "a b c")


@pytest.mark.parametrize("users", ["1\n2\n", "1\n" * 7])
def test_users_of_another_text_are_refused(text, users):
    (text / "train.user").write_text(users)
    with pytest.raises(InputError, match=r"train.user:(3|7): not as many lines"):
        shares(text, ("red car", ["google"]))


def test_several_systems_in_one_table(text, capfd):
    shares(text, ("red car", ["google"]))
    logs = [f"{name}={text}/m.log" for name in ("one", "two")]
    main(["shares", *logs, "--test", f"{text}/test", "--train", f"{text}/train"])
    printed = capfd.readouterr().out
    assert printed.count("| one ") == printed.count("| two ") == 2
    assert "google" not in printed


@pytest.mark.parametrize("name", ["m.log", "test.next", "train.user"])
def test_no_input_is_overwritten(text, name):
    shares(text, ("red car", ["google"]))
    prefixes = ["--test", f"{text}/test", "--train", f"{text}/train"]
    with pytest.raises(InputError, match="one of the files to read"):
        main(["shares", f"m={text}/m.log", *prefixes, "--json", f"{text}/{name}"])
