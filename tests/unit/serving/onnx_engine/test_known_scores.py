"""Hypotheses are not scored again: the same scores with fewer nodes."""

import random

import numpy as np
import pytest
from exported_models import engines, engines_in_pieces, lines_in_words, session_lines

from mtn_serving.onnx_engine import candidate_trie
from mtn_serving.onnx_engine.beam_search import Found, Hypothesis
from mtn_serving.onnx_engine.decoder import Decoder
from mtn_serving.suggester import Suggester

MODELS = ["2-level", "transformer", "copying", "copying-3-level", "copying-transformer-last"]


def engine_and_lines(name):
    if name == "pieces":
        return engines_in_pieces()[1], lines_in_words(4, 6)
    return engines(name)[1], session_lines(4, 6)


def found_of(columns, log_probability):
    return Found([Hypothesis(columns, log_probability)], {columns: log_probability})


@pytest.fixture
def nodes(monkeypatch):
    """The number of nodes that the decoder computes in each call."""
    counted, step = [], Decoder.step

    def counting(self, encoded, nodes, *others):
        counted.append(nodes.size)
        return step(self, encoded, nodes, *others)

    monkeypatch.setattr(Decoder, "step", counting)
    return counted


@pytest.mark.parametrize("name", [*MODELS, "pieces"])
def test_known_scores_change_no_result(name, nodes):
    exported, lines = engine_and_lines(name)
    sources = exported.sources(lines)
    beams = exported.beam_search(6)(sources)
    # In any order, mixed with others, repeated, and some that the search did not find.
    others = ["w1 w2", "new0 w3", "hotels paris", "w1 unheard"]
    candidates = [random.Random(1).sample([*beam.texts, *others], 4) * 2 for beam in beams]
    assert any(set(texts) & set(beam.texts) for texts, beam in zip(candidates, beams))
    nodes.clear()
    anew = exported.scores(sources, candidates)
    computed = sum(nodes)
    nodes.clear()
    known = exported.scores(sources, candidates, beams)
    assert sum(nodes) < computed
    for ours, expected in zip(known, anew):
        for each, of_expected in zip(ours, expected):
            np.testing.assert_allclose(each, of_expected, atol=1e-5)


def test_nothing_is_computed_if_all_scores_are_known(nodes):
    exported, lines = engine_and_lines("copying")
    sources = exported.sources(lines)
    beams = exported.beam_search(3)(sources)
    nodes.clear()
    scores = exported.scores(sources, [each.texts for each in beams], beams)
    assert not nodes and all(len(each.log_probability) for each in scores)


def test_scores_of_all_ended_hypotheses_are_known(nodes):
    """A search for one hypothesis also ends others, none of which is computed again."""
    exported, lines = engine_and_lines("copying")
    sources = exported.sources(lines)
    found = exported._searched(sources, 3)
    assert all(len(each.known) > len(each.best) for each in found)
    beams = [exported._shown(*each) for each in zip(found, sources.sources)]
    texts = [
        [
            exported.vocabulary.text(source.words_of(columns, exported.vocabulary))
            for columns in each
        ]
        for source, each in zip(sources.sources, (beam.known for beam in beams))
    ]
    nodes.clear()
    known = exported.scores(sources, texts, beams)
    assert not nodes
    for ours, expected in zip(known, exported.scores(sources, texts)):
        np.testing.assert_allclose(ours.log_probability, expected.log_probability, atol=1e-5)


def test_scores_of_completions_are_known(nodes):
    exported, lines = engine_and_lines("copying")
    sources = exported.sources(lines[:2])
    found = exported.complete(sources, ["w1", "w2 w"], 5)
    texts = [each.texts for each in found]
    nodes.clear()
    known = exported.scores(sources, texts, found)
    assert not nodes
    for ours, expected in zip(known, exported.scores(sources, texts)):
        np.testing.assert_allclose(ours.log_probability, expected.log_probability, atol=1e-5)


def test_a_text_found_in_other_pieces_is_scored():
    exported, (line, *_) = engine_and_lines("pieces")
    vocabulary, sources = exported.vocabulary, exported.sources([line])
    text = "hotel"
    usual = tuple(sources.sources[0].columns_of(vocabulary.cut(text), vocabulary))
    letters = tuple(vocabulary.index[each] for each in ("▁", *text))
    assert letters != usual and vocabulary.text([vocabulary.words[c] for c in letters]) == text
    beams = [exported._shown(found_of(letters, -1.0), sources.sources[0])]
    assert beams[0].texts == [text]
    (known,), (anew,) = (exported.scores(sources, [[text]], each) for each in (beams, ()))
    assert known.log_probability == anew.log_probability != -1.0
    beams = [exported._shown(found_of(usual, -1.0), sources.sources[0])]
    assert exported.scores(sources, [[text]], beams)[0].log_probability == -1.0


def test_scores_near_the_floor_are_computed():
    """Scores of copied words have a floor, scores of a search have none."""
    assert candidate_trie.known_of({(5,): -3.0, (6,): -45.0}) == {(5,): -3.0}


@pytest.mark.parametrize("name", ["2-level", "copying", "pieces"])
def test_known_scores_change_no_feature(name, monkeypatch):
    exported, lines = engine_and_lines(name)

    def described():
        return list(Suggester(trained=exported, beam=5).describe(lines))

    with_known = described()
    monkeypatch.setattr("mtn_serving.onnx_engine.exported_model.known_of", lambda found: {})
    for ours, expected in zip(with_known, described()):
        assert ours.candidates == expected.candidates
        np.testing.assert_allclose(ours.features, expected.features, atol=1e-5)
