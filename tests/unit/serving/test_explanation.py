"""Why a text is suggested, or why not: with counts alone, with any engine, with a ranker."""

import json
from math import log
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sessions import ALL_MODELS, build
from test_fitting import TABLE as FITTED_TABLE
from test_fitting import fitted_example
from test_next_queries import pairs_of, table_of
from test_suggester_threads import by_likelihood

from mtn_preprocess.errors import InputError
from mtn_serving import contributions
from mtn_serving.commands.explanation_text import explanation_lines
from mtn_serving.commands.suggest import main
from mtn_serving.completion.features import NAMES
from mtn_serving.counting import count_next_queries
from mtn_serving.display_rules import DisplayRules
from mtn_serving.engine import HistorySize, Hypotheses, Scores
from mtn_serving.explanation import AfterContext, Counted, InSource, held_back
from mtn_serving.feature_meanings import MEANINGS
from mtn_serving.ranker import TREES, Ranker
from mtn_serving.suggester import Suggester
from mtn_serving.torch_engine.trained_model import TrainedModel
from mtn_serving.without_queries import MAX_QUERIES

SESSIONS = [["x", "a", "b"], ["x", "a", "b"], ["y", "a", "c"], ["a", "c"], ["a", "c"], ["z", "one"]]
USERS = [1, 1, 2, 2, 3, 3, 1, 2, 3]
TABLE = count_next_queries(pairs_of(SESSIONS), USERS, 2)


class WordEngine:
    """Scores a text by the number of words it shares with the session; its beam has one text."""

    text_settings = None
    settings_file = Path("engine")
    history_size = HistorySize(0, 0)

    def sources(self, sessions):
        return sessions

    def attention(self, sources):
        return None

    def beam_search(self, beam):
        return lambda sources: [Hypotheses(["made up"]) for _ in sources]

    def scores(self, sources, candidates, beams=()):
        found = []
        for line, texts in zip(sources, candidates):
            words = line.split()
            shared = [sum(word in words for word in text.split()) for text in texts]
            ones = np.ones(len(texts))
            found.append(Scores(np.log(0.1 + 0.1 * np.array(shared)), ones, 0 * ones))
        return found


# --- counts alone ---------------------------------------------------------------------------------


def test_sources_counts_and_place_by_hand():
    """After `x <q> a`, `b` was asked two of two times; after `a`, two of five."""
    found = Suggester(TABLE).explain(["x", "a"], "b")
    assert (found.place, found.score, found.rule, found.missing) == (1, 0.0, "in turn", None)
    assert found.sources == (InSource("counts", 1, "people asked it next"),)
    assert found.counts == Counted(
        2, 2, (AfterContext(("a",), 2, 5, 2), AfterContext(("x", "a"), 2, 2, 2))
    )
    assert found.model is None
    assert found.contributions is None and found.no_contributions == "there is no ranker"


def test_which_query_mattered_by_hand():
    """Without `x`, `c` comes first: place 2, worth 1/2. Without `a`, `b` is not in the list."""
    found = Suggester(TABLE, without=["edits", "session"]).explain(["x", "a"], "b")
    assert [(each.query, each.place) for each in found.queries] == [("x", 2), ("a", None)]
    assert [each.share for each in found.queries] == pytest.approx([0.5 / 1.5, 1 / 1.5])
    assert found.most_important == "a"
    alone = Suggester(TABLE).explain(["a"], "b")
    assert alone.queries == () and alone.most_important is None


def test_edits_session_and_history():
    table = table_of([["cheap cars", "old cars"], ["cheap flats", "old flats"]])
    suggester = Suggester(table, rules=DisplayRules(min_users=0))
    found = suggester.explain(["q", "cheap boats"], "old boats")
    assert found.sources == (
        InSource("edits", None, "the last query, changed as people change others"),
    )
    found = suggester.explain(["q", "p", "cheap boats"], "Q", history=[["q"]])
    assert found.sources == (
        InSource("history", 1, "this person asked it in earlier sessions"),
        InSource("session", 2, "asked in this session, 3 queries ago"),
    )


@pytest.mark.parametrize(
    "session, text, options, missing",
    [
        (["x", "a"], "a", {}, "the last query"),
        (["y", "b"], "x", {}, "no candidate"),
        (["x", "a"], "nobody has it", {}, "the display rules"),
        (["a"], "b", {"block_list": ("b",)}, "the display rules"),
        (["a"], "b", {"min_users": 3}, "the display rules"),
    ],
)
def test_why_a_text_is_missing(session, text, options, missing):
    suggester = Suggester(TABLE, rules=DisplayRules(**options))
    found = suggester.explain(session, text)
    assert (found.place, found.score, found.missing) == (None, None, missing)
    assert text not in [each.text for each in suggester.suggest(session, 99)]


def test_one_answer_for_what_too_few_people_asked_and_what_nobody_asked():
    """In a table with it and in one without it; also where its words are of many."""
    sessions = [["x", "red car", "tea"], ["x", "red car", "car tea"], ["car tea", "red car tea"]]
    users = [1, 1, 2, 2, 1]
    forms = {"red car tea": "red-car:tea", "car tea": "car-tea"}
    for least in (1, 2):
        table = count_next_queries(pairs_of(sessions), users, least, forms=forms)
        for text in ("red car tea", "car tea red", "tea car", "unheard", "bob@example.com"):
            found = Suggester(table, WordEngine()).explain(["x"], text)
            assert found == held_back(text)
            assert list(explanation_lines(found)) == [f"{text}: not in the list, the display rules"]
    told = {name for name, each in held_back("any").as_dict().items() if each not in (None, [])}
    assert told == {"text", "query", "missing"}


def test_what_a_person_typed_tells_nothing_of_others():
    """One person asked `secret` and `b` after it: somebody else who types it learns neither."""
    sessions = [["x", "secret", "b"], ["x", "b"], ["x", "b"]]
    found = []
    for own in ("secret", "unheard"):
        table = count_next_queries(pairs_of(sessions), [1, 1, 2, 3], 1)
        found.append(Suggester(table).explain([own, "x"], own).counts)
        assert Suggester(table).explain(["x", own], "x").counts.after == ()
    assert found[0] == found[1] and (found[0].asked, found[0].people) == (0, 0)


def test_every_suggestion_of_a_list_and_its_text_are_explained():
    suggester = Suggester(TABLE)
    for place, each in enumerate(suggester.suggest(["y", "x", "a"]), 1):
        for asked in (each, each.text, each.query, each.text.upper()):
            found = suggester.explain(["y", "x", "a"], asked)
            assert (found.place, found.score, found.rule) == (place, each.score, each.rule)
            assert (found.text, found.query) == (each.text, each.query)
            assert each.source in [source.source for source in found.sources]


def test_invalid_input():
    with pytest.raises(InputError, match="a suggestion without a word"):
        Suggester(TABLE).explain(["a"], "  ")
    with pytest.raises(TypeError, match="a suggestion is text, not int"):
        Suggester(TABLE).explain(["a"], 7)
    with pytest.raises(InputError, match="a session without a query"):
        Suggester(TABLE).explain([""], "b")


def test_long_sessions_take_bounded_time():
    session = [f"q{number}" for number in range(50)]
    found = Suggester(TABLE).explain([*session, "a"], "b")
    assert [each.query for each in found.queries] == [*session[-MAX_QUERIES + 1 :], "a"]


def test_prepared_text_is_not_read_again():
    table = table_of([["a", r"\madeupword0000 b"]])
    suggester = Suggester(table, rules=DisplayRules(min_users=0))
    (found,) = suggester.suggest("a", 1)
    assert suggester.explain("a", found.query).place == 1


# --- with a model ---------------------------------------------------------------------------------


def test_any_engine():
    found = Suggester(TABLE, WordEngine()).explain(["x", "a"], "x")
    assert found.sources == (InSource("session", 1, "asked in this session, 2 queries ago"),)
    assert found.model.log_probability == pytest.approx(log(0.2))
    assert [each.log_probability for each in found.queries] == [
        pytest.approx(log(0.1)),
        pytest.approx(log(0.2)),
    ]


def test_shares_of_a_missing_text_come_from_the_model():
    """`x new` shares a word with the first query, but no source produces it."""
    table = count_next_queries(pairs_of([*SESSIONS, *[["w", "x new"]] * 2]), [*USERS, 1, 2], 2)
    found = Suggester(table, WordEngine(), without=["edits"]).explain(["x", "a"], "x new")
    assert found.missing == "no candidate" and found.model.place is None
    assert [each.share for each in found.queries] == [1, 0] and found.most_important == "x"


def test_made_up_text():
    """`made up` is held back because nobody typed its words. Without that rule, it is made up."""
    suggester = Suggester(TABLE, WordEngine(), by_likelihood())
    assert suggester.explain(["x", "a"], "made up") == held_back("made up")
    suggester = Suggester(TABLE, WordEngine(), by_likelihood(), rules=DisplayRules(min_users=0))
    found = suggester.explain(["x", "a"], "made up")
    assert found.missing == "made up" and found.model.place > 1
    assert found.no_contributions.startswith("the ranker is not of LightGBM")


class Attentive(WordEngine):
    """Reads three queries; its last query attends more to later ones."""

    def attention(self, sources):
        return [np.array([0.125, 0.25, 0.625])[-line.count("<q>") - 1 :] for line in sources]


def test_attention_by_query():
    suggester = Suggester(TABLE, Attentive())
    found = suggester.explain(["y", "x", "a"], "b")
    assert [(each.query, each.attention) for each in found.queries] == [
        ("y", 0.125), ("x", 0.25), ("a", 0.625),
    ]  # fmt: skip
    lines = list(explanation_lines(found))
    assert any(line.endswith("what the session brings, 62% of the attention)") for line in lines)
    found = suggester.explain(["z", "y", "x", "a"], "b")
    assert [each.attention for each in found.queries] == [0, 0.125, 0.25, 0.625]
    for engine in (None, WordEngine()):
        found = Suggester(TABLE, engine).explain(["x", "a"], "b")
        assert [each.attention for each in found.queries] == [None, None]
        assert not any("attention" in line for line in explanation_lines(found))


def test_attention_of_a_model_to_the_session_in_progress():
    """Earlier sessions take nothing from it, and each query has its own weight."""
    task, model = build(*ALL_MODELS["3-level"])
    suggester = Suggester(None, TrainedModel(model, task), beam=4)
    session, weights = ["w1 w2", "w3", "w4"], []
    for history in ([], [["w5"], ["w6", "w7"]]):
        found = suggester.explain(session, "w3", history)
        weights.append([each.attention for each in found.queries])
        assert sum(weights[-1]) == pytest.approx(1) and len(set(weights[-1])) == 3
    assert weights[0] == pytest.approx(weights[1])


@pytest.mark.parametrize("name", ["copying", "3-level"])
def test_torch_models(name):
    task, model = build(*ALL_MODELS[name])
    suggester = Suggester(None, TrainedModel(model, task), beam=4)
    session, history = ["w1 w2", "w3", "w4"], [["w5"], ["w6", "w7"]]
    for each in suggester.suggest(session, history=history):
        found = suggester.explain(session, each, history)
        assert found.place is not None and found.counts is None
        assert found.model.log_probability < 0 and len(found.queries) == 3


# --- with a ranker --------------------------------------------------------------------------------


def test_contributions_add_up_to_the_score():
    ranker = fitted_example().ranker
    suggester = Suggester(FITTED_TABLE, ranker=ranker)
    (described,) = suggester.describe([["x"]])
    row = [each.text for each in described.candidates].index("a")
    learner, slope = ranker.learner, ranker.calibration.slope
    parts = learner.predict(described.features[[row]], pred_contrib=True)[0]
    assert parts.sum() == pytest.approx(learner.predict(described.features[[row]])[0])
    found = suggester.explain(["x"], "a")
    assert found.no_contributions is None and found.rule == "likely"
    amounts = [each.amount for each in found.contributions]
    assert amounts == sorted(amounts, key=abs, reverse=True)
    assert amounts[0] == pytest.approx(slope * max(parts[:-1], key=abs))
    by_name = dict(zip(ranker.names, slope * parts))
    assert all(each.amount == pytest.approx(by_name[each.feature]) for each in found.contributions)


def test_every_feature_has_a_meaning():
    assert list(MEANINGS) == list(NAMES)
    found = Suggester(FITTED_TABLE, ranker=fitted_example().ranker).explain(["x"], "a")
    assert all(each.meaning == MEANINGS[each.feature] for each in found.contributions)


def test_unrelated_text():
    ranker = fitted_example().ranker
    table = table_of([["x", "b"], ["x", "a"]], text=ranker.conditions.text)
    assert Suggester(table, ranker=ranker).explain(["x"], "a").missing == "unrelated"
    behind = Suggester(table, ranker=ranker, unrelated=True).explain(["x"], "a")
    assert behind.missing is None and behind.rule == "unrelated"


def test_a_graph_without_lightgbm(monkeypatch):
    fitted = fitted_example().ranker
    graph = SimpleNamespace(predict=fitted.learner.predict)
    facts = {**fitted.facts, "files": {TREES: {}}}
    ranker = Ranker(graph, fitted.calibration, fitted.conditions, facts, Path("ranker"))

    def missing(*args):
        raise InputError("LightGBM is not installed", "pip install lightgbm")

    monkeypatch.setattr(contributions, "read_lightgbm", missing)
    found = Suggester(FITTED_TABLE, ranker=ranker).explain(["x"], "a")
    assert found.place == 1 and found.contributions is None
    assert found.no_contributions == "LightGBM is not installed; pip install lightgbm"
    monkeypatch.setattr(contributions, "read_lightgbm", lambda *args: fitted.learner)
    assert Suggester(FITTED_TABLE, ranker=ranker).explain(["x"], "a").contributions


# --- as text --------------------------------------------------------------------------------------


def test_explanation_as_lines():
    found = Suggester(TABLE, without=["edits", "session"]).explain(["x", "a"], "b")
    assert list(explanation_lines(found)) == [
        "b: place 1, score 0.0000, in turn",
        "  source counts, place 1: people asked it next",
        "  counts: asked 2 times, by 2 people",
        "  counts: 2 of 5 times after a, by 2 people",
        "  counts: 2 of 2 times after x <q> a, by 2 people",
        "  without 'x': place 2 (33% of what the session brings)",
        "  without 'a': not in the list (67% of what the session brings)",
        "  contributions: none, there is no ranker",
    ]


def test_the_command(tmp_path, capsys):
    TABLE.save(tmp_path / "table")
    flags = ["--counts", f"{tmp_path}/table", "--session", "x <q> a", "--explain", "B"]
    main(flags)
    printed = capsys.readouterr().out
    found = Suggester(TABLE).explain("x <q> a", "b")
    assert printed == "".join(f"{line}\n" for line in explanation_lines(found)) + "\n"
    main([*flags, "--json"])
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(found.as_dict()))
    with pytest.raises(SystemExit):
        main(["--counts", f"{tmp_path}/table", "--explain", "b"])
