"""A ranker: its order, its files, and the parts it may be used with."""

import random
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from processes import ROOT
from test_fitting import TABLE, TEXT, fitted_example
from test_list_rules import RELATED, STRAY, rows_of
from test_next_queries import MONSTERS, edit_header, flip

from mtn_preprocess.errors import InputError
from mtn_serving.conditions import conditions_of
from mtn_serving.ranker import Calibration, Ranked, Ranker, order
from mtn_serving.suggester import Suggester

PLAIN = Calibration(1.0, 0.0)


# --- order ----------------------------------------------------------------------------------------


def test_the_likeliest_row_comes_first_and_ties_keep_their_order():
    rows = rows_of(*[RELATED] * 2)
    assert [each.row for each in order(rows, np.array([0.1, 0.3]))] == [1, 0]
    assert [each.row for each in order(rows, np.array([0.3, 0.3]))] == [0, 1]
    assert order(rows_of(), np.array([])) == []


def test_each_row_of_a_list_has_its_probability():
    """Scores 0, 2 and -1 with slope 2 and intercept -1: log-odds -1, 3 and -3."""
    learner = SimpleNamespace(predict=lambda rows: np.array([0.0, 2.0, -1.0]))
    ranker = Ranker(learner, Calibration(2.0, -1.0), conditions_of(False, True), {})
    likely = [1 / (1 + np.exp(-odds)) for odds in (-1, 3, -3)]
    assert ranker.order(rows_of(RELATED, RELATED, RELATED)) == [
        Ranked(row, pytest.approx(likely[row]), "likely") for row in (1, 0, 2)
    ]
    assert [each.row for each in ranker.order(rows_of(RELATED, STRAY, RELATED))] == [0, 2]
    all_rows = ranker.order(rows_of(RELATED, STRAY, RELATED), unrelated=True)
    assert [each.row for each in all_rows] == [0, 2, 1]


def test_a_loaded_ranker_equals_the_saved_one(tmp_path):
    fitted = fitted_example()
    fitted.ranker.save(tmp_path / "ranker")
    loaded = Ranker.load(tmp_path / "ranker")
    rows = fitted.examples.features[fitted.examples.rows(0)]
    assert loaded.order(rows) == fitted.ranker.order(rows)
    assert loaded.calibration == fitted.ranker.calibration
    assert loaded.conditions == fitted.ranker.conditions
    assert loaded.conditions.text == TEXT
    assert loaded.facts["examples"] == 400


def test_a_ranker_fitted_without_histories_treats_everybody_as_a_stranger(tmp_path):
    """It cannot weigh a history."""
    fitted = fitted_example().ranker
    table, history = TABLE, [["x", "mine"], ["x", "mine"]]
    alone = Suggester(table, ranker=fitted).suggest(["x"])
    ranker = Ranker(
        fitted.learner,
        fitted.calibration,
        fitted.conditions._replace(history=False),
        fitted.facts,
    )
    ranker.save(tmp_path / "ranker")
    for each in (ranker, Ranker.load(tmp_path / "ranker")):
        assert Suggester(table, ranker=each).suggest(["x"], history=history) == alone
    found = Suggester(table, ranker=fitted).suggest(["x"], history=history)
    assert "mine" in [each.text for each in found]
    assert Suggester(table).suggest(["x"], history=history)[0].text == "mine"


# --- on disk --------------------------------------------------------------------------------------


def cut_in_half(file):
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: len(text) // 2], encoding="utf-8")


@pytest.fixture
def saved(tmp_path):
    fitted_example().ranker.save(tmp_path / "ranker")
    return tmp_path / "ranker"


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda folder: (folder / "header.json").unlink(), "no ranker: it has no header.json"),
        (lambda folder: edit_header(folder, kind="recipes"), "not of ranker; give a folder that"),
        (lambda folder: edit_header(folder, schema=3), "of schema 3, not 4; run mtn-fit-ranker"),
        (lambda folder: edit_header(folder, pairs=1, signed=False), "header.json: damaged"),
        (
            lambda folder: (folder / "header.json").write_text(MONSTERS["deeply nested"]),
            "header.json: damaged; run mtn-fit-ranker again",
        ),
        (lambda folder: edit_header(folder, features=["moon_phase"]), "of another version"),
        (lambda folder: edit_header(folder, calibration={"moon": 1.0}), "header.json: damaged"),
        (lambda folder: edit_header(folder, conditions=[]), "header.json: damaged"),
        (lambda folder: (folder / "learner.txt").unlink(), "learner.txt: missing or damaged"),
        (
            lambda folder: (folder / "learner.txt").write_text("tree"),
            "learner.txt: missing or damaged",
        ),
        (lambda folder: cut_in_half(folder / "learner.txt"), "learner.txt: missing or damaged"),
    ],
)
def test_a_damaged_ranker_gives_one_line_of_error(saved, damage, message):
    damage(saved)
    with pytest.raises(InputError, match=message) as error:
        Ranker.load(saved)
    assert "\n" not in str(error.value)


def test_a_ranker_is_replaced_atomically(saved):
    """If the learner cannot be written, the older ranker stays, and nothing else."""
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    ranker = fitted_example().ranker
    ranker.save(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    learner = SimpleNamespace(model_to_string=lambda **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Ranker(learner, ranker.calibration, ranker.conditions, {}).save(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert list(saved.parent.iterdir()) == [saved]

    (saved / "left behind").write_text("by somebody")
    with pytest.raises(InputError, match="holds left behind, which mtn-fit-ranker did not write"):
        ranker.save(saved)
    assert (saved / "left behind").read_text() == "by somebody"
    assert list(saved.parent.iterdir()) == [saved]


def test_a_ranker_of_an_earlier_version_is_refused_and_can_be_replaced(tmp_path):
    """Its files have other names, which the header lists."""
    old = tmp_path / "ranker"
    shutil.copytree(ROOT / "tests/kept/ranker", old)
    with pytest.raises(InputError) as error:
        Ranker.load(old)
    assert str(error.value) == f"{old}/header.json: of schema 3, not 4; run mtn-fit-ranker again"
    (old / "thesis.txt").write_text("somebody's")
    with pytest.raises(InputError, match=r"holds thesis\.txt, which mtn-fit-ranker did not write"):
        fitted_example().ranker.save(old)
    (old / "thesis.txt").unlink()
    fitted_example().ranker.save(old)
    assert Ranker.load(old).facts["examples"] == 400
    assert sorted(path.name for path in old.iterdir()) == ["header.json", "learner.txt"]


def test_lightgbm_never_sees_a_damaged_learner(saved, monkeypatch):
    """It crashes on some, hangs on others, and accepts most."""
    rng = random.Random(1)
    monkeypatch.setattr("lightgbm.Booster", lambda **_: pytest.fail("it was given some"))
    for file in sorted(saved.glob("*.txt")):
        whole = file.read_bytes()
        for _ in range(20):
            flip(file, rng.randrange(8 * len(whole)))
            with pytest.raises(InputError, match=f"{file.name}: damaged .*; run mtn-fit-ranker"):
                Ranker.load(saved)
            file.write_bytes(whole)


# --- conditions -----------------------------------------------------------------------------------


def ranker_for(*parts, **options):
    """A ranker with these conditions and no learner."""
    return Ranker(None, PLAIN, conditions_of(*parts, **options), {})


def test_missing_options_are_those_of_the_ranker():
    ranker = ranker_for(False, True, without=["edits"], beam=3)
    suggester = Suggester(TABLE, ranker=ranker)
    assert suggester.conditions == ranker.conditions._replace(text=TEXT)
    assert suggester.sources == ("history", "counts", "session")
    assert Suggester(TABLE, ranker=ranker, beam=7).conditions.beam == 7
    plain = Suggester(TABLE).conditions
    assert plain == (("history", "counts", "edits", "session"), False, True, 30, TEXT, True)


@pytest.mark.parametrize(
    "fitted_for, options, message",
    [
        (
            ((True, True), {}),
            {},
            "fitted with a model; give --model or --checkpoint, with --data, or fit another",
        ),
        (((False, False), {}), {}, "fitted without counts; leave out --counts, or fit another"),
        (
            ((False, True), {}),
            {"without": ["counts"]},
            r"counts\+edits\+session, not for history\+edits\+session; leave out --without, or fit",
        ),
        (
            ((False, True), {"without": ["edits", "history"]}),
            {"without": ["history"]},
            r"for counts\+session, not for counts\+edits\+session",
        ),
        (
            ((False, True), {}),
            {"without": ["history"]},
            r"not for counts\+edits\+session; leave out",
        ),
    ],
)
def test_other_conditions_are_refused(fitted_for, options, message):
    parts, fitted_with = fitted_for
    with pytest.raises(InputError, match=message) as error:
        Suggester(TABLE, ranker=ranker_for(*parts, **fitted_with), **options)
    assert "\n" not in str(error.value)
