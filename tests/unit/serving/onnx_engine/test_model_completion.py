"""Completing a prefix: every hypothesis starts with it, and the likeliest are found."""

import numpy as np
import pytest
from exported_models import (
    engines,
    engines_in_pieces,
    export,
    lines_in_words,
    session_lines,
    texts_of,
)
from hypothesis import given
from hypothesis import strategies as st
from sessions import SMALL, build

from examples import examples
from mtn_serving.completion.lists import completer_of, requests_of
from mtn_serving.features import NAMES
from mtn_serving.onnx_engine.exported_model import ExportedModel
from mtn_serving.suggester import Suggester

COPYING = ["copying", "copying-3-level", "copying-transformer"]
models = pytest.mark.parametrize("name", ["2-level", *COPYING])


def complete(exported, line, prefix, beam=5):
    (found,) = exported.complete(exported.sources([line]), [prefix], beam)
    return found.texts


def engine_of(name):
    return engines_in_pieces()[1] if name == "pieces" else engines(name)[1]


def lines_of(name, seed, count):
    return lines_in_words(seed, count) if name == "pieces" else session_lines(seed, count)


@pytest.mark.parametrize("name", ["2-level", "copying", "pieces"])
@examples(15)
@given(seed=st.integers(0, 1000), data=st.data())
def test_every_hypothesis_starts_exactly_with_the_prefix(name, seed, data):
    """Prefixes end anywhere: in a word, after a word, after a space, before the first letter."""
    exported = engine_of(name)
    lines = lines_of(name, seed, 3)
    queries = [line.split(" <")[0] for line in lines]
    prefixes = [query[: data.draw(st.integers(0, len(query)))] for query in queries]
    found = texts_of(exported.complete(exported.sources(lines), prefixes, 4))
    for prefix, texts in zip(prefixes, found):
        assert all(text.startswith(prefix) for text in texts), (prefix, texts)
        assert len(set(texts)) == len(texts)
    # A batch gives the same hypotheses as one by one.
    alone = [complete(exported, *each, beam=4) for each in zip(lines, prefixes)]
    assert alone == found


@pytest.mark.parametrize("name", ["2-level", *COPYING, "pieces"])
def test_an_empty_prefix_gives_a_beam_search(name):
    exported = engine_of(name)
    sources = exported.sources(lines_of(name, 3, 5))
    searched = exported.beam_search(5)(sources)
    assert texts_of(exported.complete(sources, [""] * 5, 5)) == texts_of(searched)


@models
def test_the_likeliest_of_all_words_are_found(name):
    """Compared with every query of one or two words, scored one by one."""
    exported = engines(name)[1]
    words = [f"w{i}" for i in range(24)]
    (line,) = session_lines(5, 1)
    fitting = [word for word in words if word.startswith("w1")]
    queries = [*fitting, *(f"{one} {other}" for one in fitting for other in words)]
    sources = exported.sources([line])
    (scores,) = exported.scores(sources, [queries])
    expected = max(zip(scores.log_probability, queries))
    found = complete(exported, line, "w1", beam=30)  # wide enough for all words
    (known,) = exported.scores(sources, [found])
    assert max(known.log_probability) >= expected[0] - 1e-4
    assert expected[1] in found or len(found[0].split()) > 2


@pytest.mark.parametrize("name", COPYING)
def test_words_of_the_session_continue_the_prefix(name):
    exported = engines(name)[1]
    line = "w1 zorblax <q> w2 zeppelin"
    first = {text.split()[0] for text in complete(exported, line, "z", beam=10)}
    assert first == {"zorblax", "zeppelin"}
    found = complete(exported, line, "zorblax ze")
    assert found and all(text.startswith("zorblax zeppelin") for text in found)
    assert complete(exported, line, "zorblax "), "whole words of the session can be given, too"


@pytest.mark.parametrize(
    "prefix", ["unheard-of ", "w1 unheard-of w", "zzz", " w1", "w1  w", "<q> "]
)
def test_prefixes_that_the_model_cannot_generate(prefix):
    assert complete(engines("copying")[1], "w1 w2", prefix) == []


def test_prefixes_in_word_pieces():
    exported = engines_in_pieces()[1]
    for prefix in ("flig", "flight", "flights p", "london hote", "paris "):
        found = complete(exported, "hotel paris", prefix, beam=8)
        assert found and all(text.startswith(prefix) for text in found), (prefix, found)


@models
def test_hypotheses_have_the_scores_of_their_texts(name):
    exported = engines(name)[1]
    sources = exported.sources(session_lines(11, 2))
    found = texts_of(exported.complete(sources, ["w1", "w2 w"], 5))
    scores = exported.scores(sources, found)
    for texts, known in zip(found, scores):
        mean = known.log_probability / known.tokens
        assert len(texts) > 1
        assert all(one >= other - 1e-4 for one, other in zip(mean, mean[1:]))  # best first


def test_a_prefix_longer_than_the_model_has_no_completions():
    exported = engine_of("2-level")
    longest = len(exported.decoder.positions) - 2
    assert complete(exported, "w1", "w1 " * longest)
    assert complete(exported, "w1", "w1 " * (longest + 1)) == []
    assert complete(exported, "w1", "w1 " * 10_000 + "w") == []


def test_candidates_longer_than_the_model_are_the_least_likely():
    """Words of the session make candidates that nobody gave. Five tokens fit, with the end."""
    task, model = build("mtn", f"{SMALL} --level-layers 1,1 --max-target-positions 5")
    exported = ExportedModel.load(export(model.float(), task))
    suggester = Suggester(trained=exported, beam=3)
    session = ["w1 w2 w3 w4 w5", "w1 w2"]
    (described,) = suggester.describe([session])
    texts = [each.text for each in described.candidates]
    likely = described.features[:, NAMES.index("log_probability")]
    assert len(texts) > 1 and texts[likely.argmin()] == "w1 w2 w3 w4 w5"
    pipeline = suggester.pipeline
    completer = completer_of(pipeline)
    (described,) = completer.described(requests_of(pipeline, [session], ["w9 w"]))
    assert "w9 w1 w2 w3 w4 w5" in [each.text for each in described.completions]

    sources, short = exported.sources(["w1"]), ["w1", "w1 w2 w3 w4"]
    (alone,), (scores,) = (
        exported.scores(sources, [each]) for each in (short, [*short, "w1 w2 w3 w4 w5"])
    )
    np.testing.assert_allclose(scores.log_probability[:2], alone.log_probability, rtol=1e-5)
    assert scores.log_probability[2] == -60 * 6 and scores.tokens.tolist() == [2, 5, 6]
