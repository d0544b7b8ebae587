"""Candidates made from the session, word by word, checked by hand."""

from hypothesis import given
from hypothesis import strategies as st
from test_next_queries import table_of

from mtn_preprocess.text.typed_queries import in_lower_case
from mtn_serving.candidates import BEAM, COUNTS, EDITS, SESSION, SOURCES, gather
from mtn_serving.counting import MAX_QUERIES_OF_WORD
from mtn_serving.edits import KINDS, MAX_WORDS, edits
from mtn_serving.history import past_of
from mtn_serving.word_changes import change_between

NOBODY = table_of([["something", "else"]])


def texts(session, table=NOBODY, kind=None):
    return [edit.text for edit in edits(session, table) if kind in (None, edit.kind)]


def test_changes_between_queries():
    def change(before, after):
        found = change_between(before.split(), after.split())
        return found and tuple(found)

    assert change("cheap flights paris", "cheap hotels paris") == ("flights", "hotels")
    assert change("cars", "old cars") == ("", "old")
    assert change("old cars", "cars") == ("old", "")
    assert change("a b", "a c d") == ("b", "c d")
    assert change("a a", "a a a") == ("", "a")  # no word counts for both start and end
    assert change("a b", "b a") is None
    assert change("a", "b") is None


def test_words_are_dropped():
    assert texts(["a b c"], kind="drop") == ["b c", "a c", "a b"]
    assert texts(["a"]) == []  # nothing would be left
    assert texts(["a a"]) == ["a"]  # only once


def test_starts_and_ends_of_at_least_two_words():
    """Longest first; edits with one dropped word have the kind `drop`."""
    found = texts(["a b c d e"], kind="part")
    assert found == ["a b c", "c d e", "a b", "d e"]
    assert texts(["a b c"], kind="part") == []


def test_changes_that_people_made():
    sessions = [["cheap cars", "old cars"], ["cheap flats", "old flats"]]
    sessions += [["dogs", "dogs pictures"], ["cats", "cats pictures"]]
    table = table_of(sessions)
    assert texts(["cheap boats"], table, "change") == [
        "cheap boats pictures",
        "pictures cheap boats",
        "old boats",
    ]
    assert "old" not in texts(["cheap"], table)  # a change of the whole query is no edit


def test_words_of_the_query_before():
    found = texts(["paris hotels", "london"], kind="earlier words")
    assert found == ["london paris", "paris london", "london hotels", "hotels london"]
    assert texts(["paris", "paris hotels"], kind="earlier words") == []


def test_the_rarest_word_counts_even_if_lists_are_truncated():
    """Both words have more queries than are kept; the queries with `rarer` are less frequent."""
    sessions = [[f"common {i:03}", f"rarer {i:03}"] for i in range(MAX_QUERIES_OF_WORD + 5)]
    sessions += [[f"common {i:03}", "x"] for i in range(MAX_QUERIES_OF_WORD + 5)]
    found = texts(["rarer common"], table_of(sessions), "asked")
    assert found and all(text.startswith("rarer") for text in found)
    assert texts(["common rarer"], table_of(sessions), "asked") == found


def test_very_long_queries_are_not_edited():
    long = " ".join(f"w{i}" for i in range(MAX_WORDS + 1))
    assert texts([long]) == []
    assert texts([long, "a"], kind="earlier words") == []
    assert len(texts([" ".join(long.split()[1:])], kind="drop")) == MAX_WORDS


def test_queries_that_people_ask():
    sessions = [["x", "london weather"], ["y", "london weather"], ["x", "london zoo"]]
    sessions += [["z", "big london"]]
    table = table_of(sessions)
    assert texts(["london"], table, "asked") == ["london weather", "london zoo", "big london"]


def test_queries_with_words_of_earlier_queries():
    """Queries with `paris` come before those with the older `tea`; `old` is too old."""
    sessions = [["paris zoo", "tea pot"], ["old pot", "london zoo"], ["big paris", "tea"]]
    table = table_of(sessions)
    found = texts(["old", "tea", "paris", "london"], table, "asked")
    assert found == ["london zoo", "big paris", "paris zoo", "tea pot"]
    # No query of the session is repeated.
    assert texts(["tea", "big paris", "paris"], table, "asked") == ["paris zoo", "tea pot"]


def test_the_number_of_queries_that_people_ask_is_bounded():
    names = [f"{word} {i:02}" for word in ("a", "b", "c") for i in range(30)]
    found = texts(["a", "b", "c"], table_of([[name, "x"] for name in names]), "asked")
    assert [text.split()[0] for text in found] == 10 * ["c"] + 5 * ["b"] + 5 * ["a"]


@given(st.lists(st.text("ab ", min_size=1).map(str.split).filter(bool).map(" ".join), min_size=1))
def test_edits_are_distinct_and_never_the_last_query(session):
    table = table_of([["a", "a b"], ["b", "b b"], ["a b", "b b"]])
    found = edits(session, table)
    assert len({edit.text for edit in found}) == len(found)
    assert session[-1] not in {edit.text for edit in found}
    assert all(edit.kind in KINDS and edit.text.split() for edit in found)
    assert found == edits(session, table)


def test_lower_case_normalises_spaces_and_characters():
    assert in_lower_case("  New\u00a0York ") == "new york"
    assert in_lower_case("e\u0301") == "\u00e9"


# --- all sources together -------------------------------------------------------------------------

TABLE = table_of([["a b", "c"], ["a b", "d"], ["a b", "c"]])


def test_each_text_appears_once_with_all_its_places():
    found = gather(["f", "d", "a b"], TABLE, ["c", "e", "C ", ""])
    assert [(each.text, each.source) for each in found] == [
        ("c", "counts"),
        ("d", "counts"),
        ("e", "beam"),
        ("b", "edits"),
        ("a", "edits"),
        ("a b d", "edits"),
        ("d a b", "edits"),
        ("f", "session"),
    ]
    c, d, e, *_, f = found
    assert (c.counted, c.hypothesis, c.edit, c.queries_ago) == (0, 0, None, None)
    assert (d.counted, d.hypothesis, d.edit, d.queries_ago) == (1, None, None, 2)
    assert (e.counted, e.hypothesis) == (None, 1)
    assert (f.counted, f.hypothesis, f.edit, f.queries_ago) == (None, None, None, 3)


def test_each_source_can_be_left_out():
    past = past_of([["f"]], "a b")
    whole = gather(["g", "a b"], TABLE, ["e"], past=past)
    for source in SOURCES:
        rest = gather(["g", "a b"], TABLE, ["e"], [s for s in SOURCES if s != source], past)
        assert source not in {each.source for each in rest}
        assert {each.text for each in rest} < {each.text for each in whole}


def test_queries_ago_is_known_without_the_session_source():
    (found,) = [each for each in gather(["d", "a b"], TABLE, [], [COUNTS]) if each.text == "d"]
    assert found.queries_ago == 2 and found.source == COUNTS
    (found,) = gather(["d", "e", "d", "a"], None, [], [SESSION])[:1]
    assert (found.text, found.queries_ago) == ("d", 2)  # since it was last asked


def test_repeated_words_are_dropped_unless_people_typed_them():
    def found(session, beam):
        table = table_of([["x", "duran duran"]])
        return [each.text for each in gather(session, table, beam, (BEAM,))]

    beam = ["new york york", "duran duran", "ha ha ha", "york new york"]
    assert found(["new york"], beam) == ["duran duran", "york new york"]
    assert found(["ha ha", "new york"], beam) == ["duran duran", "ha ha ha", "york new york"]
    assert found(["new york new york"], ["new york new york city", "york city york city"]) == [
        "new york new york city"
    ]
    # Words of two different queries do not count as repeated.
    assert found(["ha", "ha"], ["ha ha"]) == []


def test_fragments_are_dropped_unless_people_typed_them():
    """`of` was typed 41 times, once as the last word."""
    table = table_of([[f"map of {number}", "x"] for number in range(40)] + [["y", "maps of"]])
    beam = ["map of", "of rome", "maps of", "map of rome"]

    def found(*sources):
        return [each.text for each in gather(["big map of rome"], table, beam, sources)]

    assert found(BEAM) == ["maps of", "map of rome"]
    edited = found(EDITS)
    assert "map of rome" in edited and "map of 1" in edited
    assert not {"big map of", "map of", "of rome"} & set(edited)
