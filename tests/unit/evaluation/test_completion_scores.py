"""Scores of completions, computed by hand, and incomplete files."""

import json

import pytest

from mtn_evaluation.commands.evaluate import main
from mtn_evaluation.completion import evaluate_completion
from mtn_evaluation.completion_log import prefixes_of
from mtn_preprocess.errors import InputError

NEXT = ["abcd", "xy", "x"]  # 7 characters; nothing is left of `x` after the first

# Lists by pair and number of characters typed.
LISTS = {
    (0, 1): ["ax", "abcd"],  # rank 2
    (0, 2): ["abcd"],
    (0, 3): [],
    (1, 1): ["xz"],
}
BASELINE = {(0, 1): ["a", "ab", "abc", "abcd"], (0, 2): ["abcd"], (0, 3): ["abcd"], (1, 1): []}


@pytest.fixture
def text(tmp_path):
    (tmp_path / "test.session").write_text("q\nq\nq\n")
    (tmp_path / "test.next").write_text("".join(f"{query}\n" for query in NEXT))
    (tmp_path / "test.user").write_text("1\n1\n2\n")
    write(tmp_path / "mine", LISTS)
    write(tmp_path / "base", BASELINE)
    return tmp_path


def write(path, lists, end=({"pairs": 3, "characters": [1, 2, 3], "nbest": 10},)):
    lines = [
        {"pair": pair, "typed": typed, "completions": completions}
        for (pair, typed), completions in lists.items()
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in [*lines, *end]), "utf-8")


def scores(folder, baselines=()):
    files = {name: str(folder / name) for name in ("mine", "base")}
    return evaluate_completion(files, str(folder / "test"), baselines, samples=50)


def test_scores_by_hand(text):
    mine, base = scores(text)["systems"]
    one, two, three = mine["typed"]
    # After one character two next queries continue: one is second, the other missing. Of the 3 + 1
    # characters left, the 3 of `abcd` are saved.
    assert one == {"typed": 1, "pairs": 2, "mrr@10": 25.0, "hit@10": 50.0, "saved": 75.0}
    assert two == {"typed": 2, "pairs": 1, "mrr@10": 100.0, "hit@10": 100.0, "saved": 100.0}
    assert three == {"typed": 3, "pairs": 1, "mrr@10": 0.0, "hit@10": 0.0, "saved": 0.0}
    # `abcd` is listed after its first character: 3 of the 7 characters of all next queries.
    assert mine["saved"] == base["saved"] == pytest.approx(100 * 3 / 7)


def test_a_next_query_is_chosen_where_it_first_appears(text):
    write(text / "mine", {**LISTS, (0, 1): [], (0, 2): ["abcd"], (0, 3): []})
    assert scores(text)["systems"][0]["saved"] == pytest.approx(100 * 2 / 7)


def test_ranks_beyond_the_tenth_do_not_count(text):
    write(text / "mine", {**LISTS, (0, 1): [*(f"a{i}" for i in range(10)), "abcd"]})
    assert scores(text)["systems"][0]["typed"][0]["hit@10"] == 0


def test_ratios_to_a_baseline(text):
    found = [each for each in scores(text, ["base"])["comparisons"] if each["typed"] < 3]
    assert [each["ratio"] for each in found] == [2.0, 1.0]  # 1/2 to 1/4; 1 to 1
    assert all(each["low"] <= each["ratio"] <= each["high"] for each in found)
    write(text / "base", {key: [] for key in BASELINE})
    assert {each["ratio"] for each in scores(text, ["base"])["comparisons"]} == {None}


def test_intervals_resample_people_if_known(text):
    assert scores(text)["bootstrap"]["units"] == 2
    (text / "test.user").unlink()
    assert scores(text)["bootstrap"]["unit"] == "pairs"


def test_prefixes_leave_something_to_type():
    assert prefixes_of("a bé", [1, 2, 3, 4]) == [(1, "a"), (2, "a "), (3, "a b")]


END = {"pairs": 3, "characters": [1, 2, 3], "nbest": 10}


@pytest.mark.parametrize(
    ("lists", "end", "reason"),
    [
        (LISTS, [], "its last line is missing"),
        ({(0, 1): []}, [END], "pair 0 with 2 characters typed is missing"),
        ({**LISTS, (2, 1): []}, [END], "pair 2 with 1 characters typed is none of this test text"),
        (LISTS, [{**END, "pairs": 4}], "of 4 pairs, but the test text has 3"),
        (LISTS, [{**END, "nbest": 5}], "mine has lists of 5"),
        (LISTS, [{"pair": 0, "typed": 1, "completions": []}, END], "pair 0 with 1 typed, twice"),
        (LISTS, [{"pair": 0, "typed": 1, "completions": [1]}, END], "no line of mtn-complete"),
        (LISTS, [["pair"], END], "no line of mtn-complete"),
        ({(0, 1): [], (1, 1): []}, [{**END, "characters": [1]}], "base has lists after other"),
    ],
)
def test_incomplete_files(text, lists, end, reason):
    write(text / "mine", lists, end)
    with pytest.raises(InputError, match=reason):
        scores(text)


def test_unknown_baseline(text):
    with pytest.raises(InputError, match="no system 'other'; name one of mine, base"):
        scores(text, ["other"])


def test_the_command(text, capsys):
    systems = [f"{name}={text / name}" for name in ("mine", "base")]
    test = ["--test", str(text / "test"), "--completion"]
    main([*systems, *test, "--baseline", "base", "--json", str(text / "scores.json")])
    out = capsys.readouterr().out
    assert "|     1 |     2 |  25.0 |  12.5 |" in out and "mine / base" in out
    assert json.loads((text / "scores.json").read_text())["systems"][0]["saved"] == 300 / 7
    with pytest.raises(SystemExit):
        main([*systems, *test, "--train", "x"])
    assert "--train is not for --completion" in capsys.readouterr().err
