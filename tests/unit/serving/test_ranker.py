"""Features, the order that a ranker gives, and how it is fitted."""

import math
import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from optional_parts import need_lightgbm
from test_next_queries import MONSTERS, edit_header, flip, table_of

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import Pair
from mtn_preprocess.text.text_settings import SYMBOLS, TextSettings
from mtn_serving import fitting
from mtn_serving.candidates import Candidate
from mtn_serving.commands.fit_ranker import report, run, session_numbers, what_paid
from mtn_serving.conditions import conditions_of
from mtn_serving.engine import Scores
from mtn_serving.features import NAMES, features
from mtn_serving.fitting import cross_validated_lists, fit_ranker
from mtn_serving.ranker import (
    LEARNERS,
    MATCHES,
    Ranker,
    Weights,
    import_lightgbm,
    order,
)
from mtn_serving.suggester import Suggester

TEXT = TextSettings(SYMBOLS, mask_emails=True)


def column(rows, name):
    return rows[:, NAMES.index(name)].tolist()


# --- features -------------------------------------------------------------------------------------

SESSION = ["red car", "car hire"]
TABLE = table_of([["car hire", "red car"], ["car hire", "blue car"], ["car hire", "red car"]])
CANDIDATES = [
    Candidate("red car", "counts", counted=0, queries_ago=2),
    Candidate("car hire rome", "beam", hypothesis=1),
    Candidate("car", "edits", edit=0),
]


def test_features_by_hand():
    scores = Scores(np.log([0.5, 0.25, 0.25]), np.array([3, 4, 2]), np.array([0, 1, 0]))
    rows = features(SESSION, CANDIDATES, TABLE, scores)
    assert rows.shape == (3, len(NAMES))
    assert column(rows, "queries") == [2, 2, 2]
    assert column(rows, "last_words") == [2, 2, 2]
    assert column(rows, "last_asked")[0] == pytest.approx(math.log(1 + 3))
    assert column(rows, "last_followed")[0] == pytest.approx(math.log(1 + 3))
    np.testing.assert_equal(column(rows, "counted_place"), [0, math.nan, math.nan])
    np.testing.assert_equal(column(rows, "hypothesis_place"), [math.nan, 1, math.nan])
    np.testing.assert_equal(column(rows, "edit_kind"), [math.nan, math.nan, 0])
    np.testing.assert_equal(column(rows, "queries_ago"), [2, math.nan, math.nan])
    assert column(rows, "share_after_1") == pytest.approx([2 / 3, 0, 0])
    assert column(rows, "count_after_1") == [2, 0, 0]
    assert np.isnan(column(rows, "share_after_2")).all()  # `red car, car hire` never was
    assert column(rows, "asked") == pytest.approx([math.log(3), 0, 0])
    assert column(rows, "below_best") == pytest.approx([0, math.log(0.5), math.log(0.5)])
    assert column(rows, "model_place") == [0, 1, 2]
    assert column(rows, "log_probability_per_token")[1] == pytest.approx(math.log(0.25) / 4)
    assert column(rows, "unknown_words") == [0, 1, 0]
    # Shared words with the three, doubled, by all words of both: 1, 2/5, 2/3 for the first.
    assert column(rows, "agreement")[0] == pytest.approx(0.5 + 0.25 * 2 / 5 + 0.25 * 2 / 3)
    assert column(rows, "words") == [2, 3, 1]
    assert column(rows, "shared_with_last") == [1, 2, 1]
    assert column(rows, "share_of_last_kept") == [0.5, 1, 0.5]
    assert column(rows, "share_of_it_from_last") == pytest.approx([0.5, 2 / 3, 1])
    assert column(rows, "shared_with_earlier") == [1, 0, 0]
    assert column(rows, "new_words") == [0, 1, 0]
    assert column(rows, "starts_with_last") == [0, 1, 0]
    assert column(rows, "last_starts_with_it") == [0, 0, 1]


def test_no_candidates_have_no_features():
    nothing = Scores(*(np.empty(0) for _ in Scores._fields))
    assert features(["a"], [], None, nothing).shape == (0, len(NAMES))


def test_what_is_not_known_is_nan():
    rows = features(SESSION, CANDIDATES, None, None)
    for name in ("asked", "share_after_1", "last_followed", "log_probability", "agreement"):
        assert np.isnan(column(rows, name)).all()
    assert features(SESSION, [], TABLE, None).shape == (0, len(NAMES))


# --- order ----------------------------------------------------------------------------------------


def rows_of(words, queries_ago):
    rows = np.full((len(words), len(NAMES)), np.nan, dtype=np.float32)
    rows[:, NAMES.index("words")] = words
    rows[:, NAMES.index("queries_ago")] = queries_ago
    return rows


NONE = math.nan
FREE = Weights(
    exact=1.0, word=0.0, ngram_gains=(1.0, 0.0, 0.0, 0.0), ngram_costs=(0.0, 0.0, 0.0, 0.0)
)


def ordered(exact, overlap, weights=FREE, words=None, ago=None, matching="1-gram"):
    rows = rows_of(words or len(exact) * [1], ago or len(exact) * [NONE])
    none = np.zeros(len(exact))
    predicted = {"exact": np.array(exact), **dict.fromkeys(MATCHES, none)}
    return order(rows, {**predicted, matching: np.array(overlap)}, weights).rows()


def test_the_likeliest_first_where_nothing_else_is_known():
    assert ordered([0.1, 0.3, 0.2, 0.3], [0, 0, 0, 0]) == [1, 3, 2, 0]


def test_the_head_may_be_one_of_the_likeliest_few():
    assert ordered([0.4, 0.3, 0.2, 0.1], [0, 0, 0.5, 9]) == [2, 0, 1, 3]
    assert ordered([0.4, 0.3, 0.2, 0.1], [0, 0, 0, 9], ago=[NONE, NONE, 2, 1]) == [3, 0, 1, 2]
    assert ordered([0.4, 0.3, 0.2, 0.1], [0, 0, 0, 9], ago=[NONE, NONE, 1, 2]) == [0, 1, 2, 3]


def test_what_n_grams_cost():
    """The second has two words: two unigrams and a bigram."""
    costs = FREE._replace(ngram_costs=(0.125, 0.5, 7.0, 7.0))
    assert ordered([0, 0], [0.1, 0.7], costs, words=[1, 2]) == [0, 1]  # 0.1 - 0.125, 0.7 - 0.75
    assert ordered([0, 0], [0.1, 0.74], costs, words=[1, 2]) == [1, 0]
    assert ordered([0, 0], [0.1, 0.7], costs._replace(word=0.1), words=[1, 2]) == [1, 0]


def test_what_n_grams_gain():
    gains = FREE._replace(ngram_gains=(0.1, 0.0, 0.0, 2.0))
    assert ordered([0.5, 0.1], [0, 0.6], gains) == [0, 1]
    assert ordered([0.5, 0.1], [0, 0.6], gains, matching="2-gram") == [0, 1]
    assert ordered([0.5, 0.1], [0, 0.6], gains, matching="4-gram") == [1, 0]


def test_what_being_exact_is_worth():
    assert ordered([0.5, 0.1], [0, 0.6]) == [1, 0]
    assert ordered([0.5, 0.1], [0, 0.6], FREE._replace(exact=2.0)) == [0, 1]


# --- fitting --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    """People ask `a` after `x`, again and again; the counts say `b`."""
    need_lightgbm()
    table = table_of([["x", "b"], ["x", "b"], ["x", "a"], ["x y", "z"]], text=TEXT)
    suggester = Suggester(table, repeats=True)
    pairs = [Pair("x", "a")] * 300 + [Pair("x y", "x")] * 100
    described = list(suggester.describe([pair.source for pair in pairs]))
    lasts = [pair.queries()[-1] for pair in pairs]
    asked = [pair.next_query for pair in pairs]
    sessions = list(range(400))
    return fit_ranker(described, asked, lasts, sessions, suggester.conditions), table


def test_it_learns_what_people_ask(fitted):
    ranker = fitted[0].ranker
    suggester = Suggester(fitted[1], ranker=ranker)
    assert suggester.suggest(["x"])[0].text == "a"
    lists = cross_validated_lists(fitted[0])
    assert {ranked[0] for ranked in lists[:300]} == {"a"}
    assert {ranked[0] for ranked in cross_validated_lists(fitted[0], ["counts"])[:300]} == {"x"}


def test_the_report_says_what_each_source_brings(fitted):
    lines = report(fitted[0], ["counts", "edits", "session"])
    found = {line[:20].strip(): line[20:].split() for line in lines[1:-1]}
    assert lines[0].split() == ["bleu", "exact", "mrr@10", "hit@10"]
    assert found["no ranker"][1] == "0.00"
    assert found["ranker"][1] == "100.00"
    assert found["… without edits"][1] == "75.00"
    assert found["… without counts"][1] == "25.00"
    assert found["… without session"][1] == "100.00"
    assert lines[-1] == (
        "session did not pay: without it, 4 x bleu + exact + mrr@10 is no lower; "
        "try --without session"
    )


@pytest.mark.parametrize(
    "without, sentence",
    [
        ({}, []),
        ({"beam": 9.0, "edits": 9.99}, ["Every source paid: without any of them, 4 x bleu"]),
        (
            {"beam": 10.1, "counts": 5, "edits": 9.999},
            ["beam, edits did not pay: without any one of them, 4 x bleu"],
        ),
    ],
)
def test_which_sources_did_not_pay(without, sentence):
    found = what_paid(10.0, without)
    assert [line[: len(start)] for line, start in zip(found, sentence)] == sentence
    assert len(found) == len(sentence)


def test_saved_and_loaded_it_gives_the_same(fitted, tmp_path):
    fitted[0].ranker.save(tmp_path / "ranker")
    loaded = Ranker.load(tmp_path / "ranker")
    rows = fitted[0].examples.features[fitted[0].examples.rows(0)]
    assert loaded.order(rows) == fitted[0].ranker.order(rows)
    assert loaded.weights == fitted[0].ranker.weights
    assert loaded.conditions == fitted[0].ranker.conditions
    assert loaded.conditions.text == TEXT
    assert loaded.facts["pairs"] == 400


def test_the_same_data_give_the_same_ranker(fitted, tmp_path):
    examples = fitted[0].examples
    described = [
        SimpleNamespace(candidates=candidates, features=examples.features[examples.rows(i)])
        for i, candidates in enumerate(examples.pairs)
    ]
    lasts = ["x"] * 300 + ["x y"] * 100
    sessions, conditions = list(range(400)), fitted[0].ranker.conditions
    again = fit_ranker(described, examples.next_queries, lasts, sessions, conditions)
    for name, ranker in (("one", fitted[0].ranker), ("two", again.ranker)):
        ranker.save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert "header.json" in files and "exact.txt" in files
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_no_pair_is_ranked_by_what_has_seen_its_session(monkeypatch):
    """Learners here only remember; sessions have two pairs each, of two candidates each."""
    session = NAMES.index("queries")
    fits = []

    class Memory:
        def __init__(self, seen):
            self.seen = set(seen[:, session].tolist())
            fits.append(self.seen)

        def predict(self, rows):
            return np.array([float(each in self.seen) for each in rows[:, session].tolist()])

    monkeypatch.setattr(
        fitting, "_fit", lambda name, examples, chosen, seed: Memory(examples.features[chosen])
    )
    session_of = [number for number in range(20) for _ in range(2)]
    described = []
    for number in session_of:
        rows = rows_of([1, 1], [NONE, NONE])
        rows[:, session] = number
        candidates = [Candidate("a", "counts", counted=0), Candidate("b", "counts", counted=1)]
        described.append(SimpleNamespace(candidates=candidates, features=rows))
    found = fit_ranker(described, ["a"] * 40, ["c"] * 40, session_of, conditions_of(False, True))
    assert all(not scores.any() for scores in found.predicted.values())
    in_folds, in_the_end = fits[:-5], fits[-5:]
    assert {len(seen) for seen in in_folds} == {16} and {len(seen) for seen in in_the_end} == {20}


def test_nothing_to_learn_from(tmp_path):
    for ending in ("session", "next"):
        (tmp_path / f"valid.{ending}").write_text("never\n" * 5)
    with pytest.raises(InputError, match="valid: no candidates for any pair"):
        run(Suggester(TABLE), f"{tmp_path}/valid", f"{tmp_path}/ranker", seed=1)
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


def test_a_session_is_in_one_fold():
    pairs = [Pair(source, "n") for source in ("a", "a <q> b", "c", "d", "d <q> e", "d <q> e <q> f")]
    assert session_numbers(pairs) == [0, 0, 1, 2, 2, 2]


# --- on disk --------------------------------------------------------------------------------------


def cut_in_half(file):
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: len(text) // 2], encoding="utf-8")


@pytest.fixture
def saved(fitted, tmp_path):
    fitted[0].ranker.save(tmp_path / "ranker")
    return tmp_path / "ranker"


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda folder: (folder / "header.json").unlink(), "no ranker: it has no header.json"),
        (lambda folder: edit_header(folder, kind="recipes"), "not of ranker; give a folder that"),
        (lambda folder: edit_header(folder, schema=2), "of schema 2, not 3; run mtn-fit-ranker"),
        (lambda folder: edit_header(folder, pairs=1, signed=False), "header.json: damaged"),
        (
            lambda folder: (folder / "header.json").write_text(MONSTERS["deeply nested"]),
            "header.json: damaged; run mtn-fit-ranker again",
        ),
        (lambda folder: edit_header(folder, features=["moon_phase"]), "of another version"),
        (lambda folder: edit_header(folder, weights={"moon": 1.0}), "header.json: damaged"),
        (lambda folder: edit_header(folder, conditions=[]), "header.json: damaged"),
        (lambda folder: (folder / "exact.txt").unlink(), "exact.txt: missing or damaged"),
        (lambda folder: (folder / "exact.txt").write_text("tree"), "exact.txt: missing or damaged"),
        (lambda folder: cut_in_half(folder / "exact.txt"), "exact.txt: missing or damaged"),
    ],
)
def test_a_damaged_ranker_is_one_line(saved, damage, message):
    damage(saved)
    with pytest.raises(InputError, match=message) as error:
        Ranker.load(saved)
    assert "\n" not in str(error.value)


def test_it_is_replaced_whole_or_not_at_all(fitted, saved):
    """A ranker whose last learner cannot be written leaves the older one, and nothing else."""
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    ranker = fitted[0].ranker
    ranker.save(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    broken = Ranker(dict(ranker.learners), ranker.weights, ranker.conditions, {})
    broken.learners["4-gram"] = SimpleNamespace(model_to_string=lambda **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        broken.save(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert list(saved.parent.iterdir()) == [saved]

    (saved / "left behind").write_text("by somebody")
    with pytest.raises(InputError, match="holds left behind, which mtn-fit-ranker did not write"):
        ranker.save(saved)
    assert (saved / "left behind").read_text() == "by somebody"
    assert list(saved.parent.iterdir()) == [saved]


def test_lightgbm_never_sees_a_damaged_learner(saved, monkeypatch):
    """It would abort the process on some, never end on others, and believe most."""
    rng = random.Random(1)
    monkeypatch.setattr("lightgbm.Booster", lambda **_: pytest.fail("it was given some"))
    for file in sorted(saved.glob("*.txt")):
        whole = file.read_bytes()
        for _ in range(20):
            flip(file, rng.randrange(8 * len(whole)))
            with pytest.raises(InputError, match=f"{file.name}: damaged .*; run mtn-fit-ranker"):
                Ranker.load(saved)
            file.write_bytes(whole)


# --- which rule puts a suggestion where it stands -------------------------------------------------


def test_scores_fall_among_suggestions_of_one_rule(fitted):
    """The head is what shares most words with what is asked next; all others are by probability."""
    rows = fitted[0].examples.features[fitted[0].examples.rows(0)]
    found = fitted[0].ranker.order(rows)
    assert [rule for *_, rule in found][:2] == ["head", "likely"]
    for each in ("likely", "too many"):
        scores = [score for _, score, rule in found if rule == each]
        assert scores == sorted(scores, reverse=True)
    assert [rule for *_, rule in found] == sorted((rule for *_, rule in found))


def test_too_many_of_a_kind_are_said_to_be():
    """Five that share no word with the session, and nobody asked after it."""
    rows = rows_of([1] * 5, [NONE] * 5)
    for name in ("shared_with_last", "shared_with_earlier"):
        rows[:, NAMES.index(name)] = 0
    learner = SimpleNamespace(predict=lambda rows: np.array([0.1, 0.5, 0.4, 0.3, 0.2]))
    ranker = Ranker(dict.fromkeys(LEARNERS, learner), FREE, conditions_of(False, True), {})
    assert ranker.order(rows) == [
        (1, 0.5, "head"),
        (2, 0.4, "likely"),
        (3, 0.3, "too many"),
        (4, 0.2, "too many"),
        (0, 0.1, "too many"),
    ]


# --- used as it was fitted ------------------------------------------------------------------------


def ranker_for(*parts, **options):
    """That was fitted so, and can do nothing."""
    return Ranker({}, FREE, conditions_of(*parts, **options), {})


def test_what_is_left_open_is_as_the_ranker_was_fitted():
    ranker = ranker_for(False, True, without=["edits"], beam=3, repeats=True)
    suggester = Suggester(TABLE, ranker=ranker)
    assert suggester.conditions == ranker.conditions
    assert suggester.sources == ("history", "counts", "session")
    assert Suggester(TABLE, ranker=ranker, beam=7).conditions.beam == 7
    plain = Suggester(TABLE).conditions
    assert plain == (("history", "counts", "edits"), False, True, 10, False, None)


@pytest.mark.parametrize(
    "fitted_for, options, message",
    [
        (((True, True), {}), {}, "fitted with a model; give --model and --data, or fit another"),
        (((False, False), {}), {}, "fitted without counts; leave out --counts, or fit another"),
        (((False, True), {}), {"repeats": True}, "without repeats; leave out --repeats, or"),
        (
            ((False, True), {"repeats": True}),
            {"repeats": False},
            "with repeats; give --repeats, or",
        ),
        (
            ((False, True), {}),
            {"without": ["counts"]},
            r"history\+counts\+edits, not for history\+edits; leave out --without, or fit another",
        ),
        (
            ((False, True), {"without": ["edits", "history"]}),
            {"without": ["history"]},
            r"for counts, not for counts\+edits",
        ),
        (((False, True), {}), {"without": ["history"]}, r"not for counts\+edits; leave out"),
    ],
)
def test_otherwise_it_is_refused(fitted_for, options, message):
    parts, fitted_with = fitted_for
    with pytest.raises(InputError, match=message) as error:
        Suggester(TABLE, ranker=ranker_for(*parts, **fitted_with), **options)
    assert "\n" not in str(error.value)
