"""Completions: texts of every source that start with the prefix, and what is never shown."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_next_queries import table_of

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import AOL, SYMBOLS, TextSettings
from mtn_preprocess.text.typed_sessions import SessionReader
from mtn_serving.completion.candidates import CORRECTED
from mtn_serving.completion.typed_prefix import read_prefix
from mtn_serving.display_rules import DisplayRules
from mtn_serving.engine import HistorySize, Hypotheses, Scores
from mtn_serving.suggester import IN_TURN, Suggester

ANY = DisplayRules(min_users=0)
# `london` is asked three times, `london hotels` twice; `longhorn` once, but after `paris`.
TABLE = table_of(
    [
        ["rome", "london"],
        ["rome", "london"],
        ["oslo", "london", "london hotels"],
        ["oslo", "london hotels"],
        ["paris", "longhorn"],
        ["café rouge", "café noir"],
    ]
)


def texts(session, prefix, suggester=None, n=10, **options):
    suggester = suggester or Suggester(TABLE, rules=ANY, **options)
    return [each.text for each in suggester.complete(session, prefix, n)]


# --- the prefix -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "rule", "text"),
    [
        ("London ho", AOL, "london ho"),
        ("  London   ho", AOL, "london ho"),
        ("london ", AOL, "london "),
        ("london \t ", AOL, "london "),
        ("www.", AOL, "www "),
        ("www.goo", AOL, "www goo"),
        ("o'", SYMBOLS, "o'"),  # may become `o'brien`
        ("c+", SYMBOLS, "c+"),
        ("o' ", SYMBOLS, "o "),
        ("cafe\u0301", AOL, "café"),
        ("", AOL, ""),
        ("   ", AOL, ""),
        ("!!!", AOL, ""),
        ("12", AOL, "12"),
    ],
)
def test_how_a_prefix_is_read(typed, rule, text):
    assert read_prefix(typed, SessionReader(TextSettings(rule, False, False))).text == text


def test_only_finished_words_are_masked():
    reader = SessionReader(TextSettings(AOL, True, True))
    assert read_prefix("route 6", reader).text == "route 6"
    assert read_prefix("route 66 ", reader).text == "route <number> "
    assert read_prefix("bob@example.co", reader).text == "<email>"


@pytest.mark.parametrize("words", [100, 100_000])
def test_a_prefix_that_is_too_long_is_not_even_read(words, monkeypatch):
    """`london ` has seven characters, so 71 of them are completed."""
    suggester = Suggester(TABLE, rules=ANY)
    assert suggester.complete(["rome"], "london " * 71)
    read, query = [], SessionReader.query
    monkeypatch.setattr(
        SessionReader, "query", lambda self, typed: read.append(len(typed)) or query(self, typed)
    )
    prefix = "london " * words
    assert suggester.complete(["rome"], prefix) == suggester.complete([], prefix) == []
    assert suggester.follow(["rome"]).complete(prefix) == []
    both = suggester.complete_many([["rome"], ["rome"]], [prefix, ""])
    assert both == [[], suggester.complete(["rome"], "")] and both[1]
    assert max(read) < 500


# --- completions ----------------------------------------------------------------------------------


def test_next_queries_come_before_popular_ones():
    assert texts(["rome"], "lon") == ["london", "london hotels", "longhorn"]
    assert texts(["paris"], "lon") == ["longhorn", "london", "london hotels"]


def test_a_session_may_be_empty():
    assert texts([], "lon") == ["london", "london hotels", "longhorn"]
    assert texts("", "lon") == texts([], "lon")


def test_within_a_word_and_after_a_space():
    assert texts(["rome"], "london ho") == ["london hotels"]
    assert texts(["rome"], "london ") == ["london rome", "london hotels"]
    assert texts(["rome"], "london") == ["london hotels"]  # the prefix itself is no completion


def test_words_of_the_session_continue_the_prefix():
    assert texts(["rome hotels"], "oslo ho") == ["oslo hotels"]
    assert texts(["cheap rome hotels"], "oslo r") == ["oslo rome", "oslo rome hotels"]
    assert texts(["rome hotels"], "rome hotels ho") == []  # no word twice


def test_earlier_queries_but_not_the_last_one():
    assert texts(["rimini", "london"], "r")[0] == "rimini"
    assert "london" not in texts(["london"], "lon")
    assert "london hotels" in texts(["london"], "lon")


def test_words_that_people_type_after_a_word():
    """Nobody asked `big london hotels`, but `hotels` follows `london`."""
    assert texts(["x"], "big london h") == ["big london hotels"]
    assert texts(["x"], "big lon")[:1] == ["big london"]


def test_queries_of_the_history():
    suggester = Suggester(TABLE, rules=ANY)
    history = [["rome", "longines"], ["london zoo"]]
    found = suggester.complete(["rome"], "lon", 2, history)
    assert [(each.text, each.source) for each in found] == [
        ("longines", "history"),  # it followed `rome`
        ("london zoo", "history"),
    ]


def test_unicode_and_unknown_characters():
    assert texts(["rome"], "CAFÉ N") == ["café noir"]
    assert texts(["oslo"], "cafe\u0301 r")[0] == "café rouge"
    assert texts(["rome"], "日本") == []
    assert texts(["rome"], "par\udcff") == []


def test_an_empty_prefix_gives_suggestions():
    suggester = Suggester(TABLE, rules=ANY)
    for empty in ("", "  ", "\0"):
        assert suggester.complete(["rome"], empty, 3) == suggester.suggest(["rome"], 3)
    assert suggester.complete([], "") == []


def test_the_number_of_completions():
    assert texts(["rome"], "lon", n=2) == ["london", "london hotels"]
    with pytest.raises(InputError, match="0 completions were asked for"):
        Suggester(TABLE).complete(["rome"], "lon", 0)


def test_many_at_once_equal_one_by_one():
    suggester = Suggester(TABLE, rules=ANY)
    sessions = [["rome"], [], ["paris"], ["london"]] * 20
    prefixes = ["lon", "lon", "", "london h"] * 20
    one_by_one = [suggester.complete(*each) for each in zip(sessions, prefixes)]
    assert suggester.complete_many(sessions, prefixes) == one_by_one
    with pytest.raises(InputError, match="1 prefixes for 2 sessions"):
        suggester.complete_many([["rome"], ["rome"]], ["lon"])


def test_scores_decrease_and_the_rule_is_in_turn():
    found = Suggester(TABLE, rules=ANY).complete(["rome"], "lon")
    assert [each.rule for each in found] == [IN_TURN] * 3
    assert [each.score for each in found] == [0.0, -1.0, -2.0]


def test_sources_can_be_switched_off():
    assert texts(["rome hotels"], "oslo ho", without=["session"]) == []
    assert texts(["rimini", "rome"], "r", without=["counts", "edits"]) == ["rimini"]
    assert texts(["x"], "londom h", without=["counts"]) == []


# --- one typing error -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed", ["lndon h", "loondon h", "lomdon h", "lnodon h", "london gh", "lodnon", "londo h"]
)
def test_one_typing_error_is_corrected(typed):
    found = Suggester(TABLE, rules=ANY).complete(["x"], typed)
    assert "london hotels" in [each.text for each in found]
    assert {each.rule for each in found} == {CORRECTED} == {each.source for each in found}


@pytest.mark.parametrize("typed", ["lnodno h", "pondon h", "lnd"])
def test_two_errors_the_first_letter_and_short_text_are_not_corrected(typed):
    assert texts(["x"], typed) == []


def test_errors_are_not_corrected_if_there_are_enough_completions():
    table = table_of([["x", f"hotel {name}"] for name in ("a", "b", "c")] + [["x", "hostel"]])
    assert "hostel" not in texts(["x"], "hotel", Suggester(table, rules=ANY))


def test_errors_are_corrected_if_completions_are_held_back():
    """Nobody typed `lodnon`, so no words may be shown after it."""
    pairs = [["x", f"{word} hall"] for word in ("ha", "hb", "hc", "hd")] + [["x", "london hall"]]
    table = table_of(pairs * 2, users=[*range(5), *range(5, 10)], min_users=1)
    found = Suggester(table).complete(["x"], "lodnon h")
    assert [(each.text, each.rule) for each in found] == [("london hall", CORRECTED)]


def test_errors_are_corrected_if_completions_are_made_up():
    names = ("ha", "hb", "hc")
    table = table_of([["x", f"big {name}"] for name in names] + [["x", "small big hd"]])
    found = Suggester(table, rules=ANY).complete(["x"], "samll big h")
    assert found[0].source == "words" and len(found) > 3
    assert (found[-1].text, found[-1].source) == ("small big hd", CORRECTED)


@pytest.mark.parametrize("typed", ["cafe n", "cafè n", "cáfé n", "cafe\u0300 n"])
def test_all_missing_or_wrong_accents_are_corrected(typed):
    found = Suggester(TABLE, rules=ANY).complete(["x"], typed)
    assert [(each.text, each.rule) for each in found] == [("café noir", CORRECTED)]
    assert texts(["x"], "lôndön h") == ["london hotels"]
    assert "london" in texts(["x"], "lô")  # even in short text


def test_the_first_letter_of_a_word_is_never_corrected():
    assert texts(["x"], "london gotel") == []
    assert texts(["x"], "london hitel") == ["london hotels"]


# --- with a model ---------------------------------------------------------------------------------


class Model:
    """Completes with a word of its own, and scores longer texts higher."""

    text_settings, settings_file, history_size = None, Path("text.json"), HistorySize(0, 0)

    def sources(self, sessions):
        assert all(sessions)  # never called for an empty session
        return list(sessions)

    def beam_search(self, beam):
        return lambda sources: [Hypotheses([]) for _ in sources]

    def scores(self, sources, candidates, beams):
        assert len(sources) == len(candidates)
        return [
            Scores(*(np.array([float(len(text)) for text in each]) for _ in range(3)))
            for each in candidates
        ]

    def complete(self, sources, prefixes, beam):
        assert len(sources) == len(prefixes)
        return [Hypotheses([f"{prefix}zz", "else"]) for prefix in prefixes]


def test_hypotheses_of_a_model():
    suggester = Suggester(TABLE, Model(), rules=ANY)
    found = suggester.complete_many([["rome"], [], ["rome"]], ["lon", "lon", "qu"])
    by_beam = [[each.text for each in some if each.source == "beam"] for some in found]
    assert by_beam == [["lonzz"], [], ["quzz"]]  # never a text with another prefix


def test_a_model_that_cannot_complete():
    class Checkpoint(Model):
        complete = None

    assert texts(["rome"], "lon", Suggester(TABLE, Checkpoint(), rules=ANY)) == texts(
        ["rome"], "lon"
    )


# --- what may be shown ----------------------------------------------------------------------------


def test_queries_of_one_person_are_not_shown():
    users = [1, 2, 3, 3, 4, 5]
    pairs = [["rome", "london"], ["rome", "london"], ["rome", "secret london"]]
    table = table_of(pairs, users=users[:3], min_users=1)
    suggester = Suggester(table)
    assert texts(["rome"], "sec", suggester) == []
    assert texts(["rome"], "lon", suggester) == ["london"]
    own = suggester.complete(["rome"], "sec", history=[["secret london"]])
    assert [each.text for each in own] == ["secret london"]


def test_blocked_and_explicit_words():
    table = table_of([["x", "adult porn"], ["x", "adult school"], ["x", "adult spam"]])
    suggester = Suggester(table, rules=DisplayRules(min_users=0, block_list=("spam",)))
    assert texts(["x"], "adult", suggester) == ["adult school"]
    assert texts(["x"], "adult po", suggester) == []
    assert "adult porn" in texts(["free porn"], "adult", suggester)


WORDS = st.sampled_from(["ab", "abc", "b", "ba", "spam", "ñu", "porn", "a1"])
QUERIES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
SESSIONS = st.lists(QUERIES, min_size=1, max_size=4)


@given(
    st.lists(SESSIONS.filter(lambda each: len(each) > 1), min_size=1, max_size=6),
    st.one_of(st.just([]), SESSIONS),
    st.lists(SESSIONS, max_size=2),
    QUERIES,
    st.integers(1, 9),
    st.booleans(),
)
def test_all_completions_have_the_prefix_and_obey_the_rules(
    asked, session, history, typed, length, with_model
):
    prefix = typed[:length]
    users = [number for number, each in enumerate(asked) for _ in each[1:]]
    table = table_of(asked, users=users, min_users=1)
    rules = DisplayRules(block_list=("spam",))
    suggester = Suggester(table, Model() if with_model else None, rules=rules)
    found = suggester.complete(session, prefix, 50, history)
    own = {*session, *(query for each in history for query in each)}
    known = {query for each in asked for query in each}
    for each in found:
        assert each.query.startswith(prefix) or each.rule == CORRECTED
        assert each.query != prefix and each.query not in session[-1:]
        assert "spam" not in each.query.split()
        assert "porn" not in each.query.split() or any("porn" in query for query in session)
        if each.query in known - own:
            assert sum(each.query in some for some in asked) >= 2
    assert len({each.query for each in found}) == len(found)
