"""Fitting a ranker: folds of people, probabilities, equal rankers from equal data."""

import sys
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest
from optional_parts import need_lightgbm
from test_next_queries import table_of

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import Pair
from mtn_preprocess.text.text_settings import SYMBOLS, TextSettings
from mtn_serving import fitting
from mtn_serving.candidates import Candidate
from mtn_serving.commands import fit_ranker as command
from mtn_serving.commands.fit_ranker import (
    report,
    run,
    session_numbers,
    what_helped,
    what_the_ranker_loses,
)
from mtn_serving.conditions import conditions_of
from mtn_serving.features import NAMES
from mtn_serving.fitting import cross_validated_lists, fit_ranker
from mtn_serving.ranker import import_lightgbm
from mtn_serving.suggester import Suggester

TEXT = TextSettings(SYMBOLS, mask_emails=True)
TABLE = table_of([["x", "b"]] * 3 + [["x", "a"]] * 2 + [["x y", "z"]], text=TEXT)
PAIRS = [Pair("x", "a")] * 300 + [Pair("x y", "x")] * 100
NEXT = [pair.next_query for pair in PAIRS]


@lru_cache(maxsize=1)
def fitted_example():
    """People ask `a` after `x`; by the counts, `b` is more frequent."""
    need_lightgbm()
    suggester = Suggester(TABLE)
    described = list(suggester.describe([pair.source for pair in PAIRS]))
    return fit_ranker(described, NEXT, range(400), suggester.conditions)


@pytest.fixture
def fitted():
    return fitted_example()


def described_again(fitted):
    examples = fitted.examples
    return [
        SimpleNamespace(candidates=candidates, features=examples.features[examples.rows(pair)])
        for pair, candidates in enumerate(examples.pairs)
    ]


NO_CANDIDATES = SimpleNamespace(candidates=[], features=np.empty((0, len(NAMES)), np.float32))


# --- what it learns -------------------------------------------------------------------------------


def test_the_ranker_learns_what_people_ask(fitted):
    suggester = Suggester(TABLE, ranker=fitted.ranker)
    assert [each.text for each in suggester.suggest(["x"])][:2] == ["a", "b"]
    lists = cross_validated_lists(fitted, range(400))
    assert {ranked[0] for ranked in lists[:300]} == {"a"}
    assert {ranked[0] for ranked in lists[300:]} == {"x"}
    (alone,) = {tuple(each) for each in cross_validated_lists(fitted, range(300), ["counts"])}
    assert not {"a", "b"} & set(alone)


def test_the_ranker_learns_to_suggest_earlier_queries():
    """All queries are unique to their session; the last query is no candidate."""
    need_lightgbm()
    suggester = Suggester(table_of([["mail", "news"]] * 3))
    sessions = [[f"first {n}", f"between {n}", f"last {n}"] for n in range(300)]
    described = list(suggester.describe(sessions))
    asked = [session[1] for session in sessions]
    ranker = fit_ranker(described, asked, range(300), suggester.conditions).ranker
    found = Suggester(suggester.table, ranker=ranker).suggest(["old one", "older", "newest thing"])
    assert (found[0].text, found[0].source, found[0].rule) == ("older", "session", "likely")
    assert "newest thing" not in [each.text for each in found]


def test_too_few_people_with_candidates():
    """Only one of five people has a candidate."""
    need_lightgbm()
    suggester = Suggester(TABLE)
    described = [*suggester.describe([["x"]]), *[NO_CANDIDATES] * 4]
    with pytest.raises(InputError, match="fewer than 5 people have a candidate"):
        fit_ranker(described, ["a"] * 5, range(5), suggester.conditions)


def test_pairs_without_candidates_change_nothing(fitted):
    """LightGBM accepts no empty lists, so they must be left out."""
    described = described_again(fitted)
    # At the beginning, in the middle and at the end.
    more = [NO_CANDIDATES, *described[:150], NO_CANDIDATES, *described[150:], NO_CANDIDATES]
    asked = ["u", *NEXT[:150], "v", *NEXT[150:], "w"]
    found = fit_ranker(more, asked, range(403), fitted.ranker.conditions)
    assert found.ranker.learner.model_to_string() == fitted.ranker.learner.model_to_string()
    lists = cross_validated_lists(found, range(403))
    assert lists[0] == lists[151] == lists[402] == [""] and lists[1][0] == "a"


def test_the_same_data_give_the_same_ranker(fitted, tmp_path):
    again = fit_ranker(described_again(fitted), NEXT, range(400), fitted.ranker.conditions)
    for name, ranker in (("one", fitted.ranker), ("two", again.ranker)):
        ranker.save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["header.json", "learner.txt"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


# --- folds ----------------------------------------------------------------------------------------


def test_no_pair_is_ranked_by_a_learner_that_saw_its_person(monkeypatch):
    """The learners here only remember people. Each person has four pairs of two candidates, partly
    far apart; the numbers of people have gaps."""
    person = NAMES.index("queries")
    seen, predicted = [], []

    class Memory:
        def __init__(self, rows):
            self.people = set(rows[:, person].tolist())
            seen.append(len(self.people))

        def predict(self, rows):
            asked = rows[:, person].tolist()
            assert not self.people & set(asked)
            predicted.extend(asked)
            return np.zeros(len(rows))

    def remember(examples, chosen, seed, names):
        return Memory(examples.features[np.repeat(chosen, np.diff(examples.bounds))])

    monkeypatch.setattr(fitting, "_fit", remember)
    person_of = [37 * number for number in range(20) for _ in range(2)] * 2
    described = []
    for number in person_of:
        rows = np.full((2, len(NAMES)), np.nan, dtype=np.float32)
        rows[:, person] = number
        described.append(SimpleNamespace(candidates=[Candidate("a", "counts")] * 2, features=rows))
    fit_ranker(described, ["a"] * 80, person_of, conditions_of(False, True))
    assert seen == [16] * 5 + [20]
    assert sorted(predicted) == sorted(person_of * 2)


def test_a_session_is_in_one_fold():
    pairs = [Pair(source, "n") for source in ("a", "a <q> b", "c", "d", "d <q> e", "d <q> e <q> f")]
    assert session_numbers(pairs) == [0, 0, 1, 2, 2, 2]


def written(folder, sessions, asked=None, **more):
    files = {"session": sessions, "next": asked or ["a"] * len(sessions), **more}
    for ending, lines in files.items():
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"valid.{ending}").write_text(text, encoding="utf-8")
    return f"{folder}/valid"


def fitted_on(monkeypatch, valid, **options):
    """What `mtn-fit-ranker` fits on: candidates, next queries and people."""
    given = {}

    def stop(described, next_queries, person_of, conditions, **_):
        given.update(
            described=described,
            next_queries=list(next_queries),
            person_of=list(person_of),
            conditions=conditions,
        )
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "fit_ranker", stop)
    with pytest.raises(KeyboardInterrupt):
        run(Suggester(TABLE), valid, f"{valid}-ranker", seed=1, **options)
    return given


SESSIONS = ["x", "x <q> y", "x", "x", "x", "x"]


def test_folds_split_people_if_they_are_known(tmp_path, monkeypatch):
    valid = written(tmp_path, SESSIONS)
    assert fitted_on(monkeypatch, valid)["person_of"] == [0, 0, 1, 2, 3, 4]
    valid = written(tmp_path, SESSIONS, user=[9, 9, 3, 5, 9, 1])
    with pytest.raises(InputError, match="valid: only 4 people; a ranker needs at least 5"):
        run(Suggester(TABLE), valid, f"{tmp_path}/ranker", seed=1)
    valid = written(tmp_path, SESSIONS, user=[9, 9, 3, 5, 7, 1])
    assert fitted_on(monkeypatch, valid)["person_of"] == [9, 9, 3, 5, 7, 1]


@pytest.mark.parametrize("lines", [5, 7])
def test_people_and_pairs_must_have_the_same_number(tmp_path, lines):
    valid = written(tmp_path, SESSIONS, user=range(lines))
    with pytest.raises(InputError, match=rf"valid\.user:.* {lines} lines, but .* has 6; line n of"):
        run(Suggester(TABLE), valid, f"{tmp_path}/ranker", seed=1)


def test_too_few_sessions(tmp_path):
    with pytest.raises(InputError, match="valid: only 4 sessions; a ranker needs at least 5"):
        run(Suggester(TABLE), written(tmp_path, SESSIONS[:5]), f"{tmp_path}/ranker", seed=1)


def test_each_pair_is_learned_with_and_without_its_history(tmp_path, monkeypatch):
    history = ["x <q> mine", "", "", "", "", ""]
    valid = written(tmp_path, SESSIONS, list("abcdef"), history=history)
    own = NAMES.index("own_sessions")
    given = fitted_on(monkeypatch, valid)
    assert given["next_queries"] == list("abcdef") * 2
    assert given["person_of"] == [0, 0, 1, 2, 3, 4] * 2
    past = [each.features[0, own] for each in given["described"]]
    assert past == [1, *[0] * 11]
    texts = [{each.text for each in one.candidates} for one in given["described"]]
    assert ["mine" in each for each in texts] == [True, *[False] * 11]
    assert given["conditions"].history
    as_strangers = fitted_on(monkeypatch, valid, use_history=False)
    assert len(as_strangers["next_queries"]) == 6 and not as_strangers["conditions"].history


# --- probabilities --------------------------------------------------------------------------------


def calibrated(scores, is_next):
    scores, is_next = np.asarray(scores, dtype=float), np.asarray(is_next, dtype=float)
    calibration = fitting._calibrate(scores, is_next)
    return calibration, calibration.probabilities(scores)


def test_probabilities_by_hand():
    """With two distinct scores, the line fits the mean target of each: targets are 5/6 for the 4
    next queries and 1/18 for the 16 others."""
    scores = [0] * 10 + [1] * 10
    is_next = [1] + [0] * 9 + [1] * 3 + [0] * 7
    low, high = (5 / 6 + 9 / 18) / 10, (3 * 5 / 6 + 7 / 18) / 10
    calibration, found = calibrated(scores, is_next)
    assert found[[0, -1]] == pytest.approx([low, high])
    assert calibration.intercept == pytest.approx(np.log(low / (1 - low)))


@pytest.mark.parametrize("scale", [0.01, 1, 20])
@pytest.mark.parametrize("share", [0.5, 0.01])
def test_probabilities_have_the_right_mean(scale, share):
    rng = np.random.RandomState(1)
    is_next = (rng.rand(5000) < share).astype(float)
    scores = scale * (rng.randn(5000) + 2 * is_next - 3)
    _, found = calibrated(scores, is_next)
    assert found.mean() == pytest.approx(is_next.mean(), abs=1e-3)
    assert (np.diff(found[np.argsort(scores)]) > 0).all()


def test_perfect_scores_give_finite_probabilities():
    is_next = np.arange(1000) < 10
    calibration, found = calibrated(np.where(is_next, 30.0, -30.0), is_next)
    assert np.isfinite(calibration).all()
    assert found[0] == pytest.approx(11 / 12) and found[-1] == pytest.approx(1 / 992)


@pytest.mark.parametrize("scores", [np.zeros(100), -np.arange(100.0)], ids=["alike", "misleading"])
def test_uninformative_scores_give_equal_probabilities(scores):
    """So the order of sources is kept, not reversed."""
    is_next = np.arange(100) >= 90
    target = (10 * 11 / 12 + 90 / 92) / 100
    assert calibrated(scores, is_next)[1] == pytest.approx([target] * 100)


# --- the report -----------------------------------------------------------------------------------


def test_the_report_has_scores_without_each_source(fitted, monkeypatch):
    monkeypatch.setattr(command, "MIN_PAIRS", 400)
    lines = report(fitted, "as strangers", range(400), NEXT)
    found = {line[:20].strip(): line[20:].split() for line in lines[1:-1]}
    assert lines[0].split() == ["as", "strangers", "exact", "hit@3", "hit@10", "mrr@10"]
    assert found["no ranker"][0] == "0.00"
    assert found["ranker"] == ["100.00"] * 4
    assert found["… without edits"][0] == "75.00"
    assert found["… without counts"][0] == "25.00"
    assert set(found) == {"no ranker", "ranker", "… without edits", "… without counts"}
    assert lines[-1] == "Every source helps: without any of them, mrr@10 is lower."


def test_a_report_on_a_group_of_pairs(fitted, monkeypatch):
    monkeypatch.setattr(command, "MIN_PAIRS", 100)
    lines = report(fitted, "some", range(300, 400), NEXT[300:])
    found = {line[:20].strip(): line[20:].split() for line in lines[1:-1]}
    assert found["… without edits"][0] == "0.00" and found["… without counts"][0] == "100.00"
    useless = "counts did not help: without it, mrr@10 is no lower; try --without counts"
    assert lines[-1] == useless


@pytest.mark.parametrize(
    "without, sentence",
    [
        ({}, []),
        ({"beam": 9.0, "edits": 9.99}, ["Every source helps: without any of them, mrr@10"]),
        (
            {"beam": 10.1, "counts": 5, "edits": 9.999},
            ["beam, edits did not help: without any one of them, mrr@10"],
        ),
    ],
)
def test_which_sources_did_not_pay(without, sentence):
    found = what_helped(10.0, without, 1000)
    assert [line[: len(start)] for line, start in zip(found, sentence)] == sentence
    assert len(found) == len(sentence)


@pytest.mark.parametrize(
    "ranked, in_turn, sentence",
    [
        ((10.0, 20.0), (10.0, 20.0), []),
        ((11.0, 20.0), (10.0, 19.0), []),
        ((9.99, 30.0), (10.0, 20.0), ["The ranker does not help: mrr@10 is 9.99 with it and"]),
        ((11.0, 19.0), (10.0, 20.0), ["hit@10 is lower with the ranker, 19.00 and 20.00"]),
        ((9.0, 19.0), (10.0, 20.0), ["The ranker does not help", "hit@10 is lower"]),
    ],
)
def test_a_ranker_that_makes_lists_worse(ranked, in_turn, sentence):
    found = what_the_ranker_loses(
        *(dict(zip(("mrr@10", "hit@10"), each)) for each in (ranked, in_turn))
    )
    assert [line[: len(start)] for line, start in zip(found, sentence)] == sentence
    assert len(found) == len(sentence)


def test_few_pairs_judge_no_source():
    (found,) = what_helped(10.0, {"beam": 10.1, "counts": 5.0}, 999)
    assert found == "Too few pairs to judge sources: 999 of 1,000."


# --- errors ---------------------------------------------------------------------------------------


def test_nothing_to_learn_from(tmp_path):
    with pytest.raises(InputError, match="valid: no candidates for any pair"):
        run(Suggester(TABLE), written(tmp_path, ["never"] * 5), f"{tmp_path}/ranker", seed=1)
    assert not (tmp_path / "ranker").exists()


@pytest.mark.parametrize(
    "error, remedy",
    [
        (ImportError("no module"), r"; pip install 'lightgbm>=4\.0'$"),
        (OSError("libgomp.so.1: cannot open"), r"does not start \(libgomp.*; install OpenMP"),
    ],
)
def test_lightgbm_is_missing(monkeypatch, error, remedy):
    def fail(name, *_):
        raise error

    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    monkeypatch.setattr("builtins.__import__", fail)
    with pytest.raises(InputError, match=remedy):
        import_lightgbm()
