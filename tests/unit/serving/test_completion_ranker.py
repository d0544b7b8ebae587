"""A ranker of completions: what it learns from, and that it is saved and used."""

import numpy as np
import pytest
from test_next_queries import table_of

from mtn_preprocess.errors import InputError
from mtn_serving.commands.complete import main as complete
from mtn_serving.commands.fit_completion import cut
from mtn_serving.commands.fit_ranker import main as fit
from mtn_serving.completion.features import NAMES
from mtn_serving.completion.ranker import TYPED, CompletionRanker
from mtn_serving.ranker import Ranker
from mtn_serving.suggester import Suggester

# `ax` is popular, but after `q7` everybody asks `ay7`: the session determines the number.
TRAIN = [[f"q{n}", "ax"] for n in range(30)] + [[f"q{n}", f"ay{n}"] for n in range(30)] * 2


def test_prefixes_leave_something_to_type():
    random = np.random.RandomState(1)
    for text in ("a", "ab", "abc", "abcd", "abcde", "a b c d e f"):
        for _ in range(20):
            short_and_long = cut(text, random)
            assert all(text.startswith(each) and each != text for each in short_and_long)
            expected = [False] * (len(text) > 1) + [True] * (len(text) > 4)
            assert [len(each) > 3 for each in short_and_long] == expected
    assert cut("a", random) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    table_of(TRAIN).save(folder / "counts")
    pairs = [(f"q{n}", f"ay{n}") for n in range(30)] * 10
    (folder / "valid.session").write_text("".join(f"{session}\n" for session, _ in pairs))
    (folder / "valid.next").write_text("".join(f"{asked}\n" for _, asked in pairs))
    parts = ["--counts", str(folder / "counts"), "--valid", str(folder / "valid")]
    fit([*parts, "--completion", "--output", str(folder / "ranker")])
    return folder


def load(folder, **options):
    return Suggester.load(counts=folder / "counts", **options)


def test_a_fitted_ranker_is_used(folder):
    ranker = CompletionRanker.load(folder / "ranker")
    assert ranker.names == NAMES and ranker.header == folder / "ranker/header.json"
    found = load(folder, completion_ranker=folder / "ranker").complete(["q7"], "a")
    assert found[0].text == "ay7" and {each.rule for each in found} == {TYPED}
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True) and 0 < scores[-1] <= scores[0] < 1
    assert load(folder, completion_ranker=folder / "ranker").complete(["q7"], "zzz") == []


def test_equal_data_give_an_equal_ranker(folder):
    parts = ["--counts", str(folder / "counts"), "--valid", str(folder / "valid")]
    fit([*parts, "--completion", "--output", str(folder / "again")])
    first, again = (folder / name / "learner.txt" for name in ("ranker", "again"))
    assert first.read_bytes() == again.read_bytes()


def test_the_two_kinds_are_not_interchangeable(folder):
    with pytest.raises(InputError, match="not of ranker"):
        Ranker.load(folder / "ranker")


def test_a_ranker_needs_the_parts_that_it_was_fitted_with(folder):
    with pytest.raises(InputError, match="the ranker was fitted for"):
        load(folder, completion_ranker=folder / "ranker", without=["session"])


def test_the_command(folder, capsys):
    parts = ["--counts", str(folder / "counts"), "--completion-ranker", str(folder / "ranker")]
    complete([*parts, "--session", "q7", "--typed", "a", "--nbest", "1"])
    score, source, rule, text = capsys.readouterr().out.rstrip("\n").split("\t")
    assert (source, rule, text) == ("counts", TYPED, "ay7") and 0 < float(score) < 1
    with pytest.raises(SystemExit):
        complete([*parts, "--session", "q7"])
    assert "give --test or --typed" in capsys.readouterr().err
