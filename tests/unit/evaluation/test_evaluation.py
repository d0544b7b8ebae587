"""Evaluation of systems: unknown words, groups, perplexity, and refused input."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_logs import CLOSING, Answer, lines_of, log_text, write_log, write_text

from mtn_evaluation import RawText, System, UnknownAsToken, evaluate, known_words
from mtn_evaluation.commands.evaluate import main
from mtn_evaluation.commands.evaluation_tables import evaluation_tables
from mtn_evaluation.same_test_set import _may_be_word
from mtn_preprocess.errors import InputError

# A model whose dictionary is a, b, c, d, without `rare` and `odd`.
TRUTH = [
    Answer("a", "b c", ["b c"]),
    Answer("a <q> b c", "a rare", ["a <unk>", "a b"]),
    Answer("b <q> c <q> d", "odd", ["d", "<unk>"]),
    Answer("rare a <session> c", "d", ["rare", "a", "d"]),
]
# The next queries as in the model's log.
SHOWN = ["b c", "a <<unk>>", "<<unk>>", "d"]
DICTIONARY = "a 9\nb 9\nc 9\nd 9\n"


@pytest.fixture
def text(tmp_path):
    write_text(tmp_path / "test", TRUTH)
    (tmp_path / "dict.next.txt").write_text(DICTIONARY)
    shown = [answer._replace(next_query=query) for answer, query in zip(TRUTH, SHOWN)]
    write_log(tmp_path / "model.log", shown)
    return tmp_path


def evaluated(folder, *systems, **options):
    systems = systems or (System("model", [str(folder / "model.log")]),)
    return evaluate(systems, str(folder / "test"), **options)


# --- unknown words --------------------------------------------------------------------------------


def test_an_unknown_word_never_matches_on_raw_text(text):
    """First suggestions: b c | a <unk> | d | rare; asked: b c | a rare | odd | d."""
    (model,) = evaluated(text)["systems"]
    raw = model["raw"]
    assert raw["1-gram"] == pytest.approx(100 * 3 / 6)  # b, c, a
    assert raw["2-gram"] == pytest.approx(100 * 1 / 2)  # b c
    assert raw["exact"] == 25
    assert "unk" not in model
    # Lists of up to three: in the fourth pair, the next query is third.
    assert model["nbest"] == 3
    assert evaluated(text, at=[3])["systems"][0]["raw"]["mrr@3"] == pytest.approx(25 * (1 + 1 / 3))


def test_unknown_words_as_one_token_as_in_the_paper(text):
    """Suggested: b c | a <unk> | d | <unk>; asked: b c | a <unk> | <unk> | d.

    Even if a system, such as a yardstick, suggests `rare` itself, it becomes the same token.
    """
    dictionary = str(text / "dict.next.txt")
    result = evaluated(text, dictionary=dictionary, at=[3])
    unk = result["systems"][0]["unk"]
    assert unk["1-gram"] == pytest.approx(100 * 4 / 6)
    assert unk["2-gram"] == pytest.approx(100 * 2 / 2)
    assert unk["exact"] == 50
    # Ranks 1, 1, 2, 3.
    assert unk["mrr@3"] == pytest.approx(25 * (1 + 1 + 1 / 2 + 1 / 3))
    assert result["test"]["unknown_words"] == 2 and result["test"]["words"] == 6
    assert result["systems"][0]["raw"] == evaluated(text, at=[3])["systems"][0]["raw"]


def test_each_treatment_of_unknown_words_may_have_its_own_output(text):
    """Raw text: an output without <unk>; <unk> as a token: an output that may contain it."""
    said = [["b c"], ["a b"], ["d"], ["d"]]
    forbidden = [
        answer._replace(next_query=query, ranked=ranked)
        for answer, query, ranked in zip(TRUTH, SHOWN, said)
    ]
    write_log(text / "forbidden.log", forbidden)
    paths = {name: str(text / f"{name}.log") for name in ("forbidden", "model")}
    options = {"dictionary": str(text / "dict.next.txt"), "at": [1]}
    alone = {
        name: evaluated(text, System("model", [path]), **options)["systems"][0]
        for name, path in paths.items()
    }
    both = System("model", [paths["forbidden"]], with_unk=paths["model"])
    (model,) = evaluated(text, both, **options)["systems"]
    assert model["raw"] == alone["forbidden"]["raw"] != alone["model"]["raw"]
    assert model["unk"] == alone["model"]["unk"] != alone["forbidden"]["unk"]
    for group, of_raw, of_unk in zip(
        *(found["groups"]["position"] for found in (model, alone["forbidden"], alone["model"]))
    ):
        assert group["raw"] == of_raw["raw"] and group["unk"] == of_unk["unk"]
    assert model["with_unk"] == paths["model"] and alone["model"]["with_unk"] is None


def test_the_other_output_must_answer_the_same_pairs(text):
    write_log(text / "fewer.log", TRUTH[:2])
    system = System("model", [str(text / "model.log")], with_unk=str(text / "fewer.log"))
    with pytest.raises(InputError, match=r"fewer\.log"):
        evaluated(text, system, dictionary=str(text / "dict.next.txt"))


def test_words_as_scored():
    raw = RawText()
    assert raw.suggestion("a <unk> b<unk>c <unk><unk>") == "a <unk> <unk> <unk>"
    assert raw.next_query("a <unk> <<unk>>") == "a <<unk>> <<unk>>"
    # A typed symbol, escaped by the preparation, is an ordinary word.
    assert raw.suggestion(r"\<unk> \\<unk>") == raw.next_query(r"\<unk> \\<unk>")
    assert raw.suggestion("a  b") == "a  b"
    paper = UnknownAsToken({"a", r"\<unk>"})
    assert paper.suggestion(r"a b \<unk> <unk>") == r"a <unk> \<unk> <unk>"
    assert paper.next_query("b a") == "<unk> a"


def test_dictionaries(tmp_path):
    path = tmp_path / "dict.next.txt"
    with pytest.raises(InputError, match="no such dictionary"):
        known_words(str(path))
    path.write_text(DICTIONARY)
    assert {"a", "d", "<unk>"} <= known_words(str(path)) and "rare" not in known_words(str(path))
    path.write_text("words without counts\n")
    with pytest.raises(InputError, match="not a dictionary"):
        known_words(str(path))
    path.write_text("▁a 9\nb 9\n", encoding="utf-8")
    with pytest.raises(InputError, match="has word pieces"):
        known_words(str(path))


# --- groups ---------------------------------------------------------------------------------------


def groups(result, kind, figure="exact"):
    (system,) = result["systems"]
    return {g["group"]: (g["pairs"], g["raw"][figure]) for g in system["groups"][kind]}


def test_groups(text):
    (text / "train.whole").write_text("x <q> b c\nd <q> y\nrare\n")
    result = evaluated(text, train=str(text / "train"), at=[3])
    # The place in the current session; earlier sessions do not count.
    assert groups(result, "position") == {"2": (2, 50), "3": (1, 0), "4": (1, 0)}
    # Here they do: `rare a <session> c` has two earlier queries.
    assert groups(result, "earlier_queries") == {"1": (1, 100), "2": (2, 0), "3": (1, 0)}
    assert groups(result, "seen") == {"seen": (2, 50), "unseen": (2, 0)}
    assert groups(result, "return") == {"new": (4, 25)}
    # `a rare` shares `a` with its session; `d` shares nothing with its session `c`.
    assert groups(result, "shared_words") == {"shared": (1, 0), "none": (3, pytest.approx(100 / 3))}
    assert groups(result, "position", "mrr@3")["2"] == (2, pytest.approx(50 * (1 + 1 / 3)))


def test_a_return_repeats_a_query_of_the_same_session(tmp_path):
    """Neither a query of an earlier session nor a part of a query counts."""
    answers = [
        Answer("a <q> b", "a", ["a"]),
        Answer("a <session> b", "a", ["a"]),
        Answer("a c <q> b", "a", ["c", "a"]),
        Answer("a <q> b <q> c", "a", ["b", "a"]),
    ]
    write_text(tmp_path / "test", answers)
    write_log(tmp_path / "model.log", answers)
    result = evaluated(tmp_path, at=[1, 2])
    assert groups(result, "return") == {"new": (2, 50), "return": (2, 50)}
    assert groups(result, "return", "mrr@2") == {"new": (2, 75), "return": (2, 75)}
    assert groups(result, "return", "hit@2") == {"new": (2, 100), "return": (2, 100)}
    table = "\n".join(evaluation_tables(result)).replace(" ", "")
    # Pairs, exact match, hit@2, MRR@2. hit@1 and MRR@1 equal exact match and are not printed.
    assert "|new|2|model|50.0|100.0|75.0|" in table and "|return|2|model|50.0|100.0|75.0|" in table
    assert "@1" not in table


def test_people_are_resampled_if_known(text):
    """If all pairs belong to one person, every resample is the test set itself."""
    write_log(text / "other.log", [answer._replace(ranked=["d"]) for answer in TRUTH])
    systems = [System(name, [str(text / f"{name}.log")]) for name in ("model", "other")]
    flags = {"baseline": "model", "samples": 40, "at": [1]}

    def exact(result):
        (found,) = [d for d in result["comparisons"] if d["figure"] == "exact"]
        return found["low"], found["high"]

    low, high = exact(evaluated(text, *systems, **flags))
    assert low < 0 < high
    (text / "test.user").write_text("7\n7\n7\n7\n")
    result = evaluated(text, *systems, **flags)
    assert exact(result) == (0, 0)
    assert (result["bootstrap"]["unit"], result["bootstrap"]["units"]) == ("people", 1)
    assert "40 resamples of 1 people" in "\n".join(evaluation_tables(result))
    for damaged, message in (("7\n7\n", r"user:3: 2 lines"), ("7\n" * 5, "user:5: 5 lines")):
        (text / "test.user").write_text(damaged)
        with pytest.raises(InputError, match=message):
            evaluated(text, *systems)


def test_without_whole_sessions_the_pairs_determine_seen_queries(text):
    write_text(text / "train", [Answer("old b <session> b c <q> x", "d", [])])
    result = evaluated(text, train=str(text / "train"))
    assert groups(result, "seen") == {"seen": (2, 50), "unseen": (2, 0)}


def test_many_queries_are_one_group(tmp_path):
    answers = [Answer(" <q> ".join("abcdefghijkl"[:n]), "x", ["x"]) for n in (1, 8, 9, 10, 12)]
    write_text(tmp_path / "test", answers)
    write_log(tmp_path / "model.log", answers)
    result = evaluated(tmp_path)
    assert list(groups(result, "position")) == ["2", "9", "10+"]
    assert list(groups(result, "earlier_queries")) == ["1", "8", "9", "10+"]
    assert groups(result, "earlier_queries")["10+"] == (2, 100)


# --- several systems ------------------------------------------------------------------------------


def test_yardsticks_may_have_short_lists_but_models_may_not(text):
    """A yardstick asked for ten suggestions may know only one."""
    counted = [answer._replace(ranked=answer.ranked[:1]) for answer in TRUTH]
    write_log(text / "echo.log", counted, "Yardstick echo with nbest=10: 4 pairs\n")
    result = evaluated(
        text,
        System("echo", [str(text / "echo.log")]),
        System("model", [str(text / "model.log")]),
        baseline="echo",
        samples=20,
        at=[1, 10],
    )
    echo, model = result["systems"]
    assert echo["raw"]["mrr@10"] == echo["raw"]["mrr@1"] == 25
    assert model["raw"]["mrr@10"] is None and model["raw"]["hit@10"] is None
    assert any("model: no MRR and hit at 10" in note for note in result["notes"])
    compared = {(d["system"], d["figure"]) for d in result["comparisons"]}
    assert ("model", "mrr@1") in compared and ("model", "mrr@10") not in compared
    assert {d["baseline"] for d in result["comparisons"]} == {"echo"}
    table = "\n".join(evaluation_tables(result))
    assert "| model |" in table.replace("  ", "") and "–" in table


def test_pairs_with_fewer_suggestions_are_reported(text):
    """fairseq-generate fills every list, so shorter lists have lost lines."""
    (note,) = [note for note in evaluated(text)["notes"] if "lines may be lost" in note]
    assert note.startswith("model: 3 pairs have fewer than 3 suggestions")
    counted = "Yardstick last with nbest=3: 4 pairs\n"
    write_log(text / "counted.log", TRUTH, counted)
    result = evaluated(text, System("counted", [str(text / "counted.log")]))
    assert not any("lines may be lost" in note for note in result["notes"])


def test_names(text):
    one = System("one", [str(text / "model.log")])
    with pytest.raises(InputError, match="two systems of one name"):
        evaluated(text, one, one)
    with pytest.raises(InputError, match=r"no system 'two' to compare with; name one of one"):
        evaluated(text, one, baseline="two")
    with pytest.raises(InputError, match="nothing to compare 'one' with"):
        evaluated(text, one, baseline="one")
    two = one._replace(name="two")
    with pytest.raises(InputError, match="runs of the name of a system, 'one'"):
        evaluated(text, one, two, runs={"one": ["one", "two"]})


def test_runs_are_compared_under_one_name(text):
    log = [str(text / "model.log")]
    systems = [System(name, log) for name in ("echo", "mtn-1", "mtn-2", "other")]
    runs = {"mtn": ["mtn-1", "mtn-2"]}
    result = evaluated(text, *systems, baseline="mtn", runs=runs, samples=10, at=[1])
    assert [system["name"] for system in result["systems"]] == [s.name for s in systems]
    found = {(d["system"], d["baseline"], d["difference"]) for d in result["comparisons"]}
    assert found == {("echo", "mtn", 0.0), ("other", "mtn", 0.0)}
    both = evaluated(text, *systems, baseline=["mtn", "echo"], runs=runs, samples=10, at=[1])
    assert both["comparisons"][: len(result["comparisons"])] == result["comparisons"]
    assert {(d["system"], d["baseline"]) for d in both["comparisons"]} == {
        *(("echo", "mtn"), ("other", "mtn"), ("mtn", "echo"), ("other", "echo"))
    }
    for runs, message in (
        ({"mtn": ["mtn-1", "mtn-3"]}, "no system 'mtn-3' to be a run; name one of echo, mtn-1"),
        ({"mtn": ["mtn-1", "mtn-1"]}, "'mtn-1' is a run twice"),
        ({"a": ["mtn-1"], "b": ["mtn-1"]}, "'mtn-1' is a run twice"),
        ({"echo": ["mtn-1"]}, "runs of the name of a system, 'echo'"),
    ):
        with pytest.raises(InputError, match=message):
            evaluated(text, *systems, runs=runs)


# --- another test set -----------------------------------------------------------------------------


def refused(folder, answers, message):
    write_log(folder / "model.log", answers)
    with pytest.raises(InputError, match=message) as error:
        evaluated(folder)
    assert "model.log" in str(error.value)


def test_another_test_set_is_refused(text):
    refused(text, TRUTH[:3], r"pair 3 is missing or incomplete, of 4")
    refused(text, [*TRUTH, TRUTH[0]], "pair 4 is not in the test text, which has 4 pairs")
    refused(text, TRUTH[::-1], r"T-0 is not the next query of .*test.next:1; .*another test set")
    other = [TRUTH[0], TRUTH[1]._replace(next_query="b <<unk>>"), *TRUTH[2:]]
    refused(text, other, r"T-1 is not the next query of .*test.next:2")
    longer = [TRUTH[0], TRUTH[1]._replace(next_query="a <<unk>> <<unk>>"), *TRUTH[2:]]
    refused(text, longer, r"T-1 is not the next query of .*test.next:2")
    # One unknown word does not stand for two words.
    shorter = [TRUTH[0]._replace(next_query="<<unk>>"), *TRUTH[1:]]
    refused(text, shorter, r"T-0 is not the next query of .*test.next:1")


def test_another_tokenisation_is_refused(text):
    glued = [TRUTH[0]._replace(next_query="bc"), *TRUTH[1:]]
    refused(text, glued, r"T-0 has the letters of .*test.next:1 but other words; .*alike")


def test_messages_do_not_quote_queries(text):
    """The queries may be real people's."""
    with pytest.raises(InputError) as error:
        write_log(text / "model.log", [TRUTH[0]._replace(next_query="secret"), *TRUTH[1:]])
        evaluated(text)
    assert "secret" not in str(error.value) and "b c" not in str(error.value)


def test_text_in_word_pieces_is_scored_in_words(text):
    """Also if an unseen character became an unknown piece of a word."""
    (text / "test.next").write_text("▁b ▁c\n▁a ▁ra re\n▁o dd\n▁d\n", encoding="utf-8")
    (text / "test.session").write_text("▁a\n▁a <q> ▁b ▁c\n▁b <q> ▁c <q> ▁d\n▁c\n", encoding="utf-8")
    in_words = evaluated(text)["systems"][0]
    assert in_words["raw"]["1-gram"] == pytest.approx(100 * 3 / 6)
    shown = ["b c", "a<<unk>>re", "o<<unk>>", "d"]  # a piece may include the space
    pieces = [answer._replace(next_query=query) for answer, query in zip(TRUTH, shown)]
    write_log(text / "model.log", pieces)
    assert evaluated(text)["systems"][0] == in_words
    pieces[2] = pieces[2]._replace(next_query="x<<unk>>")
    refused(text, pieces, "T-2 is not the next query")


# --- perplexity -----------------------------------------------------------------------------------


def reference_log(folder, scores, suggestions=("b c", "a <unk>", "<unk>", "d")):
    """An output of fairseq-generate --score-reference with these P lines."""
    blocks = []
    for i, (shown, suggestion, line) in enumerate(zip(SHOWN, suggestions, scores)):
        block = lines_of(i, Answer("a", shown, [suggestion]))
        blocks.append(re.sub(r"^P-.*$", f"P-{i}\t{line}", block, flags=re.M))
    (folder / "reference.log").write_text("".join(blocks) + CLOSING, encoding="utf-8")
    return System("model", [str(folder / "model.log")], str(folder / "reference.log"))


def test_perplexity(text):
    """Tokens of 1, 2 and 3 bits: 16 bits for 10 tokens, including the ends."""
    system = reference_log(text, ["-1 -2 -1", "-3 -2 -1", "-2 -1", "-2 -1"])
    (model,) = evaluated(text, system)["systems"]
    assert model["perplexity"]["value"] == pytest.approx(2 ** (16 / 10))
    assert model["perplexity"]["tokens"] == 10
    assert evaluated(text)["systems"][0]["perplexity"] is None


@pytest.mark.parametrize("scores", ["", "-1 nan", "-inf -1", "-1 x", "-1 0.5", "-1", "-1 -1 -1"])
def test_perplexity_needs_a_score_for_each_token(text, scores):
    system = reference_log(text, ["-1 -1 -1", "-1 -1 -1", scores, "-1 -1"])
    with pytest.raises(InputError, match=r"reference.log: P-2 has no finite score"):
        evaluated(text, system)


def test_a_copying_model_knows_words_outside_its_dictionary(text):
    """The next query is shown as typed, with <unk> for words that cannot be copied."""
    said = [["b c"], ["a <unk>"], ["odd"], ["d"]]
    log = [answer._replace(ranked=ranked) for answer, ranked in zip(TRUTH, said)]
    write_log(text / "reference.log", log)
    paths = [str(text / f"{name}.log") for name in ("model", "reference")]
    (model,) = evaluated(text, System("model", paths[:1], perplexity=paths[1]))["systems"]
    assert model["perplexity"]["tokens"] == 10
    write_log(text / "reference.log", [*log[:2], log[2]._replace(ranked=["other"]), log[3]])
    with pytest.raises(InputError, match="H-2 is not the next query itself"):
        evaluated(text, System("model", paths[:1], perplexity=paths[1]))


def test_a_perplexity_that_overflows_is_refused(text):
    with pytest.raises(InputError, match="beyond all numbers"):
        evaluated(
            text, reference_log(text, [" ".join(["-3000"] * tokens) for tokens in (3, 3, 2, 2)])
        )


def test_perplexity_needs_the_real_next_queries(text):
    system = reference_log(text, ["-1 -1 -1"] * 4, ("b c", "a b", "<unk>", "d"))
    with pytest.raises(InputError, match=r"H-1 is not the next query .*--score-reference"):
        evaluated(text, system)
    system = System("model", [str(text / "model.log")], str(text / "model.log"))
    with pytest.raises(InputError, match=r"--score-reference"):
        evaluated(text, system)


def test_scored_references_are_not_a_system(text):
    """They would look like a perfect system."""
    reference_log(text, ["-1"] * 4)
    result = evaluated(text, System("model", [str(text / "reference.log")]))
    assert any("--score-reference" in note for note in result["notes"])
    assert not any("--score-reference" in note for note in evaluated(text)["notes"])
    # A copying model: `odd` is in its session, `rare` is not.
    said = [["b c"], ["a <unk>"], ["odd"], ["d"]]
    copied = [answer._replace(ranked=ranked) for answer, ranked in zip(TRUTH, said)]
    write_log(text / "copied.log", copied)
    result = evaluated(text, System("model", [str(text / "copied.log")]))
    assert any("--score-reference" in note for note in result["notes"])


def test_perplexities_over_different_tokens_are_reported(text):
    words = reference_log(text, ["-1 -1 -1", "-1 -1 -1", "-1 -1", "-1 -1"])
    pieces = "".join(
        f"S-{i}\ta\nT-{i}\t{shown}\nH-{i}\t-1\t{cut}\nD-{i}\t-1\t{cut}\n"
        f"P-{i}\t-1{' -1' * len(cut.split())}\n"
        for i, (shown, cut) in enumerate(
            zip(["b c", "a rare", "odd", "d"], ["▁b ▁c", "▁a ▁ra re", "▁o d d", "▁d"])
        )
    )
    (text / "pieces.log").write_text(pieces + CLOSING, encoding="utf-8")
    systems = [words, words._replace(name="more"), words]
    systems[2] = System("pieces", words.files, str(text / "pieces.log"))
    notes = evaluated(text, *systems)["notes"]
    assert (
        "Perplexities of pieces do not compare with the others': they count other tokens "
        "(13 for 10)." in notes
    )
    assert not any("do not compare" in note for note in evaluated(text, *systems[:2])["notes"])
    assert not any("do not compare" in note for note in evaluated(text)["notes"])


def test_too_few_pairs_are_reported(text):
    systems = [System(name, [str(text / "model.log")]) for name in ("one", "two")]
    notes = evaluated(text, *systems, baseline="one", samples=5)["notes"]
    assert any(note.startswith("Compared on 4 pairs") for note in notes)
    assert not any(note.startswith("Compared") for note in evaluated(text, *systems)["notes"])


def test_compared_runs_and_sessions_are_recorded(text):
    systems = [System(name, [str(text / "model.log")]) for name in ("m-1", "m-2", "other")]
    result = evaluated(
        text, *systems, runs={"m": ["m-1", "m-2"]}, baseline=["other", "other"], samples=5
    )
    assert result["runs"] == {"m": ["m-1", "m-2"]}
    assert len(result["comparisons"]) == len({d["figure"] for d in result["comparisons"]})
    (text / "test.session").write_text("a\na\na\na\n")
    changed = evaluated(text, *systems)
    assert changed["runs"] == {} and changed["test"]["sha256"] == result["test"]["sha256"]
    assert changed["test"]["sessions_sha256"] != result["test"]["sessions_sha256"]


def test_errors_that_only_python_callers_can_cause(text):
    for system, message in (
        (System("m", []), "m: no file"),
        (System("m", ["x"], with_unk="y"), "m: another output .* and no dictionary"),
    ):
        with pytest.raises(InputError, match=message):
            evaluated(text, system)
    with pytest.raises(InputError, match="no system to score"):
        evaluate([], str(text / "test"))


# --- for any systems ------------------------------------------------------------------------------

a_query = st.lists(st.sampled_from(["a", "b", "c", "zz"]), min_size=1, max_size=5).map(" ".join)
some_answers = st.lists(
    st.builds(Answer, a_query, a_query, st.lists(a_query, min_size=2, max_size=2)),
    min_size=1,
    max_size=7,
)


@given(some_answers, st.randoms(use_true_random=False))
def test_the_order_of_log_and_test_set_does_not_matter(tmp_path_factory, answers, shuffler):
    folder = tmp_path_factory.mktemp("text")
    write_text(folder / "test", answers)
    blocks = [lines_of(i, answer) for i, answer in enumerate(answers)]
    shuffler.shuffle(blocks)
    (folder / "model.log").write_text("".join(blocks) + CLOSING)
    found = evaluated(folder)["systems"]
    write_log(folder / "model.log", answers)
    assert evaluated(folder)["systems"] == found
    shuffler.shuffle(answers)
    write_text(folder / "test", answers)
    write_log(folder / "model.log", answers)
    assert evaluated(folder)["systems"][0]["raw"] == pytest.approx(found[0]["raw"])


@given(some_answers)
def test_groups_add_up(tmp_path_factory, answers):
    folder = tmp_path_factory.mktemp("text")
    write_text(folder / "test", answers)
    write_log(folder / "model.log", answers)
    (system,) = evaluated(folder, at=[1])["systems"]
    for found in system["groups"].values():
        assert sum(group["pairs"] for group in found) == len(answers)
        for figure in ("exact", "mrr@1", "length"):
            parts = sum(group["pairs"] * group["raw"][figure] for group in found)
            assert parts / len(answers) == pytest.approx(system["raw"][figure])


# --- the command ----------------------------------------------------------------------------------


def test_json_and_tables(text, capfd):
    arguments = ["--test", str(text / "test"), "--dict", str(text / "dict.next.txt")]
    arguments += ["--at", "2,1", "--json", str(text / "scores.json"), "--samples", "10"]
    log = str(text / "model.log")
    main([f"one={log}", f"two={log}", *arguments, "--baseline", "one"])
    result = json.loads((text / "scores.json").read_text())
    main([f"one={log}", f"two={log}", *arguments, "--baseline", "one", "--runs", "all=two"])
    renamed = json.loads((text / "scores.json").read_text())
    assert {d["system"] for d in renamed["comparisons"]} == {"all"}
    assert result["schema"] == 1 and result["at"] == [1, 2]
    assert [system["name"] for system in result["systems"]] == ["one", "two"]
    assert result["test"]["pairs"] == 4 and len(result["test"]["sha256"]) == 64
    assert {d["text"] for d in result["comparisons"]} == {"raw", "unk"}
    bootstrap = {"samples": 10, "seed": 12345, "confidence": 95, "unit": "pairs", "units": 4}
    assert result["bootstrap"] == bootstrap
    assert not list(text.glob("*.partial*"))
    printed = capfd.readouterr()
    for expected in (
        result["signature"],
        "Raw text: an <unk> never matches",
        "the paper's way",
        "33.3 % are not in",  # 2 of 6 words
        "By place of the next query in its session",
        "| two − one | exact  |      +0.00 | +0.00 … +0.00 | 1.000 |",
        "No groups by seen or unseen next query: they need --train",
    ):
        assert expected in printed.out
    assert "mtn-evaluate: two: at most 3 suggestions per pair" in printed.err


def test_a_path_without_a_name_and_a_name_with_shards(text, capfd):
    blocks = [
        lines_of(i, answer._replace(next_query=query))
        for i, (answer, query) in enumerate(zip(TRUTH, SHOWN))
    ]
    for name, chosen in (("a=b.log", blocks[:1]), ("c.log", blocks[1:])):
        (text / name).write_text("".join(chosen) + CLOSING)
    whole, one, other = (str(text / name) for name in ("model.log", "a=b.log", "c.log"))
    scores = text / "scores.json"
    flags = ["--test", str(text / "test"), "--at", "1", "--json", str(scores)]
    main([whole, f"m={one}", f"m={other}", *flags])
    alone, parts = json.loads(scores.read_text())["systems"]
    assert (alone["name"], parts["name"], parts["files"]) == (whole, "m", [one, other])
    assert alone["raw"] == parts["raw"]
    with pytest.raises(InputError, match=r"3 pairs .* are missing"):
        main([one, "--test", str(text / "test")])


@pytest.mark.parametrize(
    "flags",
    [
        "--at 0",
        "--at x",
        "--samples 0",
        "--seed -1",
        "--perplexity other=x",
        "--perplexity m=x --perplexity m=y",
        "--with-unk m=x",
        "--runs r=m --runs r=m",
    ],
)
def test_bad_flags(text, capfd, flags):
    with pytest.raises(SystemExit):
        main([f"m={text}/model.log", "--test", str(text / "test"), *flags.split()])
    assert flags.split()[0] in capfd.readouterr().err


def test_nothing_is_written_after_an_error(text, capfd):
    (text / "model.log").write_text(log_text(TRUTH, closing=""))
    with pytest.raises(InputError):
        flags = ["--test", str(text / "test"), "--json", str(text / "scores.json")]
        main([f"m={text}/model.log", *flags])
    assert not (text / "scores.json").exists() and capfd.readouterr().out == ""


def test_figures_without_any_words_are_numbers(text):
    write_log(text / "model.log", [answer._replace(ranked=[""]) for answer in TRUTH])
    result = evaluated(text, at=[1])
    (model,) = result["systems"]
    assert model["empty"] == 4
    assert set(model["raw"].values()) == {0}
    assert all(math.isfinite(value) for value in model["raw"].values())
    assert json.dumps(result, allow_nan=False)


def test_earlier_queries_are_omitted_only_where_the_place_gives_them(tmp_path):
    for session, told in (("a <q> b", True), ("old <session> b", False)):
        answers = [Answer(session, "x", ["x"])]
        write_text(tmp_path / "test", answers)
        write_log(tmp_path / "model.log", answers)
        tables = "\n".join(evaluation_tables(evaluated(tmp_path)))
        assert ("there are no earlier sessions" in tables) == told


@pytest.mark.parametrize("name", ["nowhere/scores.json", "."])
def test_output_that_cannot_be_written_is_reported_before_the_work(text, name):
    with pytest.raises(InputError, match="cannot be written"):
        main(["m=no such log", "--test", str(text / "test"), "--json", str(text / name)])


def test_runs_are_named(text):
    for runs in ("=m", "r", "r=m,"):
        with pytest.raises(InputError, match="NAME=RUN,RUN"):
            main([f"m={text}/model.log", "--test", str(text / "test"), "--runs", runs])


def test_next_queries_without_words_are_refused(text):
    lines = (text / "test.next").read_text(encoding="utf-8").splitlines()
    (text / "test.next").write_text("\n".join([*lines[:2], "▁", *lines[3:], ""]), encoding="utf-8")
    with pytest.raises(InputError, match=r"test\.next:3: a next query without words"):
        evaluated(text)


@pytest.mark.parametrize(
    "shown, word, same",
    [
        ("<<unk>>", "anything", True),
        ("a<<unk>>", "ab", True),
        ("a<<unk>>", "a", False),
        ("a<<unk>>b<<unk>>", "axbx", True),
        ("a<<unk>>b", "aab", True),
        ("a<<unk>>b", "ab", False),
        ("<<unk>>b<<unk>>b", "xbxb", True),
        ("<<unk>>b<<unk>>b", "xbb", False),
        ("ab", "abc", False),
        ("<<unk>>" * 40 + "x", "a" * 200, False),  # fast: no backtracking
        ("<<unk>>" * 4 + "x", "aaaax", True),
        ("<<unk>>" * 4 + "x", "aaax", False),
    ],
)
def test_unknown_pieces_of_a_word(shown, word, same):
    assert _may_be_word(shown, word) == same
