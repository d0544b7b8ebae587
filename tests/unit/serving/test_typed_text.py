"""Typed text is normalised as the training text was; parts of different text are refused."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import ROOT
from random_logs import some_text, some_words
from test_next_queries import edit_header, table_of, write

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.display_forms import write_forms
from mtn_preprocess.text.text_settings import (
    AOL,
    CHARACTERS,
    SYMBOLS,
    TextSettings,
    write_settings,
)
from mtn_preprocess.text.typed_queries import QueryReader
from mtn_preprocess.text.typed_sessions import SessionReader
from mtn_serving.commands.count_next import main as count_next
from mtn_serving.commands.suggest import answer_in_json, answer_lines, answer_test
from mtn_serving.conditions import conditions_of
from mtn_serving.next_queries import NextQueries
from mtn_serving.ranker import Calibration, Ranker
from mtn_serving.request import as_line, has_query
from mtn_serving.suggester import Suggester

SESSIONS = [["www ebay com", "ebay motors"], ["ebay", "bob s pizza"], ["bob s pizza", "ebay"]]
TABLE = table_of(SESSIONS, text=TextSettings())
some_settings = st.builds(TextSettings, st.sampled_from(CHARACTERS), st.booleans(), st.booleans())


def texts(session, suggester=None):
    return [each.text for each in (suggester or Suggester(TABLE)).suggest(session)]


@pytest.mark.parametrize(
    "typed, prepared",
    [
        ("www.ebay.com", "www ebay com"),
        ("WWW.eBay.com/", "www ebay com"),
        ("eBay!", "ebay"),
        ('"ebay"', "ebay"),
        ("Bob's Pizza", "bob s pizza"),
    ],
)
def test_typed_text_gets_the_suggestions_of_prepared_text(typed, prepared):
    assert texts([typed]) == texts(typed) == texts([prepared]) == texts(prepared)
    assert Suggester(TABLE).suggest([typed])[0].source == "counts"
    assert texts([f"{typed}?", typed]) == texts(f"{typed} <q> {prepared}")
    of_other_makers = Suggester(table_of(SESSIONS))  # unknown settings: text is not normalised
    assert texts([typed], of_other_makers) != texts([prepared], of_other_makers)


def test_the_character_rule_of_the_counts_is_used():
    suggester = Suggester(table_of([["c++", ".net"]], text=TextSettings(SYMBOLS)))
    assert texts(['"C++"'], suggester) == texts("C++,", suggester) == [".net"]
    assert texts(["c"], suggester) == []


def test_masks_of_the_counts_are_used():
    text = TextSettings(AOL, mask_numbers=True, mask_emails=True)
    table = table_of([["call <number>", "<email>", "tea"]], text=text)
    for session in (["Call 555-1234"], "call 555-1234", "call <number>"):
        assert [each for each, _ in table.suggest(["call <number>"], 9)] == ["<email>"]
        assert "<email>" not in texts(session, Suggester(table))  # a mask is no query
    for session in (["Call 555-1234", "bob@example.com"], "call <number> <q> <email>"):
        assert texts(session, Suggester(table))[0] == "tea"


@given(st.lists(st.one_of(st.text(), some_text, some_words), min_size=1, max_size=3), some_settings)
def test_typed_sessions_are_normalised_as_in_the_preparation(typed, settings):
    prepared = list(filter(None, map(QueryReader(settings), typed)))
    if not prepared:
        with pytest.raises(InputError, match="a session without a query"):
            as_line(typed, SessionReader(settings))
        return
    line = " <q> ".join(prepared)
    assert as_line(typed, SessionReader(settings)) == line
    assert as_line(line, SessionReader(settings)) == line  # prepared text is unchanged


def test_lines_that_are_empty_after_normalisation():
    reader = SessionReader(TextSettings())
    assert not has_query("!!! <q> ...", reader) and has_query("!!! <q> a", reader)
    assert as_line("!!! <q> a <q> ?", reader) == "a"
    out = io.StringIO()
    answer_in_json(Suggester(TABLE), ["!!!\n", "eBay!\n"], 9, out)
    first, second = map(json.loads, out.getvalue().splitlines())
    assert first == {"session": "", "suggestions": []}
    assert second["session"] == "ebay" and second["suggestions"]


# --- settings are saved and compared --------------------------------------------------------------


def counted(folder, settings, sessions=SESSIONS):
    """A table in `folder/counts`, made by the command from text with these settings."""
    folder.mkdir()
    write(folder, sessions)
    if settings is not None:
        write_settings(folder, settings)
    count_next(["--train", str(folder / "train"), "--output", str(folder / "counts")])
    return folder / "counts"


@pytest.mark.parametrize("settings", [None, TextSettings(), TextSettings(SYMBOLS, True)])
def test_counts_save_the_settings_of_their_text(tmp_path, settings):
    folder = counted(tmp_path / "text", settings)
    assert NextQueries.open(folder).text_settings == settings
    assert Suggester.load(counts=folder).reader.settings == settings


def ranker_of(settings, folder=None):
    conditions = conditions_of(False, True, text=settings)
    return Ranker(None, Calibration(1.0, 0.0), conditions, {}, folder)


@pytest.mark.parametrize("known", [(True, False), (False, True), (True, True)])
def test_parts_without_settings_fit_any_settings(known):
    settings = TextSettings(SYMBOLS)
    of_table, of_ranker = (settings if each else None for each in known)
    suggester = Suggester(table_of(SESSIONS, text=of_table), ranker=ranker_of(of_ranker))
    assert suggester.reader.settings == suggester.conditions.text == settings


def test_parts_of_different_text_are_refused(tmp_path):
    table = NextQueries.open(counted(tmp_path / "text", TextSettings()))
    ranker = ranker_of(TextSettings(AOL, mask_numbers=True), tmp_path / "ranker")
    with pytest.raises(InputError) as error:
        Suggester(table, ranker=ranker)
    assert str(error.value) == (
        f"{tmp_path}/ranker/header.json: its text was prepared with --characters aol "
        f"--mask-numbers, but that of {tmp_path}/text/counts/header.json with --characters aol; "
        "make both from the same prepared text"
    )


def test_a_test_text_with_other_settings_is_refused(tmp_path):
    suggester = Suggester(NextQueries.open(counted(tmp_path / "text", TextSettings())))
    answer_test(suggester, str(tmp_path / "text" / "train"), 3, io.StringIO())
    counted(tmp_path / "other", TextSettings(SYMBOLS))
    with pytest.raises(InputError, match=r"other/text.json: its text was prepared with --charact"):
        answer_test(suggester, str(tmp_path / "other" / "train"), 3, io.StringIO())


def test_unknown_settings(tmp_path):
    folder = counted(tmp_path / "text", TextSettings())
    edit_header(folder, text={"characters": "moon", "mask_numbers": True, "mask_emails": True})
    with pytest.raises(InputError, match=r"counts/header.json: 'moon' is none of the character ru"):
        Suggester.load(counts=folder)


# --- how suggestions are shown --------------------------------------------------------------------

FORMS = {"www ebay com": "www.ebay.com", "bob s pizza": "bob's pizza", "never asked": "never!"}
SHOWN = table_of([*SESSIONS, ["ebay motors", "www ebay com"]], text=TextSettings(), forms=FORMS)


def test_a_query_is_shown_as_most_people_typed_it():
    found = Suggester(SHOWN).suggest(["eBay!"])[0]
    assert (found.text, found.query) == ("bob's pizza", "bob s pizza")
    found = Suggester(SHOWN).suggest("ebay motors")[0]
    assert (found.text, found.query) == ("www.ebay.com", "www ebay com")
    again = Suggester(SHOWN).suggest(["ebay motors", found.text])  # as if the suggestion was chosen
    assert again == Suggester(SHOWN).suggest("ebay motors <q> www ebay com")
    plain = Suggester(SHOWN).suggest(["bob's pizza"])[0]
    assert plain.text == plain.query == "ebay"


def test_forms_are_saved_with_the_counts(tmp_path):
    SHOWN.save(tmp_path / "counts")
    table = NextQueries.open(tmp_path / "counts", verify=True)
    assert {query: table.form(query) for query in (*SHOWN.queries, "never asked")} == {
        **dict.fromkeys(SHOWN.queries),
        **FORMS,
        "never asked": None,
    }
    assert table.facts["shown_in_another_form"] == 2


def test_forms_are_read_beside_the_training_text(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    write_forms(folder, FORMS.items())
    write(folder, SESSIONS)
    count_next(["--train", str(folder / "train"), "--output", str(tmp_path / "counts")])
    assert NextQueries.open(tmp_path / "counts").form("www ebay com") == "www.ebay.com"


def test_tables_of_earlier_versions_have_no_forms():
    table = NextQueries.open(ROOT / "tests/kept/counts", verify=True)
    assert {table.form(query) for query in table.queries[:50]} == {None}


def test_a_test_set_is_answered_in_prepared_text(tmp_path):
    write(tmp_path, [["ebay", "bob s pizza"]])
    out = io.StringIO()
    answer_test(Suggester(SHOWN), str(tmp_path / "train"), 1, out)
    assert "D-0\t0.000000\tbob s pizza\n" in out.getvalue() and "bob's" not in out.getvalue()


def test_lines_are_shown_as_typed():
    out = io.StringIO()
    answer_lines(Suggester(SHOWN, without=["edits"]), ["ebay motors"], 1, out)
    assert out.getvalue() == "0.0000\tcounts\tin turn\twww.ebay.com\n\n"
    out = io.StringIO()
    answer_in_json(Suggester(SHOWN, without=["edits"]), ["ebay motors"], 1, out)
    (found,) = json.loads(out.getvalue())["suggestions"]
    assert (found["text"], found["query"]) == ("www.ebay.com", "www ebay com")
