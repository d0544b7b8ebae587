"""A session that grows by one query: level 1 encodes only that query, with the same results."""

import numpy as np
import pytest
from exported_models import EXPORTED, engines, engines_in_pieces, export, session_lines
from hypothesis import given
from hypothesis import strategies as st
from sessions import MAX_QUERIES, build

from examples import examples
from mtn_serving.export import encoder_graph
from mtn_serving.onnx_engine.exported_model import ExportedModel
from mtn_serving.onnx_engine.token_codes import TokenCodes

HIERARCHIES = [name for name, (architecture, _) in EXPORTED.items() if architecture == "mtn"]
FLAT = [name for name in EXPORTED if name not in HIERARCHIES]
HISTORY = "w3 new9 <q> w4 <session> w5 <session> "
QUERIES = ["w1 new1", "new2 w2 new1", "w3", "new3 w1 w7"]


def grown(exported, queries, before=""):
    """Yield a session that grows query by query: (line, sources)."""
    sources = exported.sources([before + queries[0]])
    for count in range(2, len(queries) + 1):
        line = before + " <q> ".join(queries[:count])
        sources = exported.longer(line, sources)
        yield line, sources


def assert_same_answers(exported, found, line):
    expected = exported.sources([line])
    assert found.sources == expected.sources
    assert found.memory.keys() == expected.memory.keys()
    for name, array in expected.memory.items():
        np.testing.assert_allclose(found.memory[name], array, rtol=1e-5, atol=1e-5)
    for name, array in expected.sizes.items():
        assert found.sizes[name].tolist() == array.tolist()
    for ours, theirs in zip(found.copyable, expected.copyable):
        assert ours.tolist() == theirs.tolist()
    ours, theirs = (exported.hypotheses(each, 5)[0] for each in (found, expected))
    assert [each.columns for each in ours] == [each.columns for each in theirs]
    np.testing.assert_allclose([e.score for e in ours], [e.score for e in theirs], atol=1e-5)
    ours, theirs = (exported.complete(each, ["w1 n"], 4)[0] for each in (found, expected))
    assert ours.texts == theirs.texts
    ours, theirs = (each.known or {} for each in (ours, theirs))
    assert ours.keys() == theirs.keys()
    np.testing.assert_allclose([*ours.values()], [*theirs.values()], atol=1e-5)
    texts = [["w1 w2", "new1", "new3 w7 new2", "w5"]]
    (ours,), (theirs,) = exported.scores(found, texts), exported.scores(expected, texts)
    np.testing.assert_allclose(ours.log_probability, theirs.log_probability, atol=1e-5)
    assert ours.unknown.tolist() == theirs.unknown.tolist()


@pytest.fixture
def fed(monkeypatch):
    """A function: engine -> a list that records the number of tokens per run of level 1."""

    def watch(exported):
        counts, graph = [], exported.encoder.graph

        class Watched:
            def run(self, outputs, feed):
                counts.append(feed["tokens"].shape[1])
                return graph.run(outputs, feed)

        monkeypatch.setattr(exported.encoder, "graph", Watched())
        return counts

    return watch


@pytest.mark.parametrize("before", ["", HISTORY])
@pytest.mark.parametrize("name", [*HIERARCHIES, *FLAT])
def test_a_grown_session_gives_the_same_answers(name, before):
    """Columns of copied words change while the session grows."""
    exported = engines(name)[1]
    for line, sources in grown(exported, QUERIES, before):
        assert_same_answers(exported, sources, line)


def test_a_grown_session_in_word_pieces():
    exported = engines_in_pieces()[1]
    for line, sources in grown(exported, ["flights paris", "hoξtel", "london ξ"]):
        assert_same_answers(exported, sources, line)


@pytest.mark.parametrize("before", ["", HISTORY])
@pytest.mark.parametrize("name", HIERARCHIES)
def test_only_new_queries_go_through_level_1(name, before, fed):
    exported = engines(name)[1]
    counts = fed(exported)
    list(grown(exported, QUERIES, before))
    assert counts[1:] == [len(query.split()) + 1 for query in QUERIES[1:]]  # and its separator


@pytest.mark.parametrize("name", FLAT)
def test_flat_models_encode_the_whole_session(name, fed):
    exported = engines(name)[1]
    counts = fed(exported)
    sizes = [len(sources.sources[0].tokens) for _, sources in grown(exported, QUERIES)]
    assert counts[1:] == sizes


def test_int8_models_encode_the_whole_session(fed):
    """Rounding depends on all tokens of a call."""
    exported = engines("copying", int8=True)[1]
    counts = fed(exported)
    sizes = []
    for line, sources in grown(exported, QUERIES):
        sizes.append(len(sources.sources[0].tokens))
        expected = exported.sources([line])
        assert exported.hypotheses(sources, 5) == exported.hypotheses(expected, 5)
    assert counts[1::2] == sizes


@pytest.mark.parametrize("name", ["copying", "3-level"])
def test_truncated_sessions(name, fed):
    """The oldest queries and the last words of a long query are dropped."""
    exported = engines(name)[1]
    queries = [f"w{i} new{i}" for i in range(MAX_QUERIES + 2)]
    queries.append("w1 w2 w3 w4 w5 w6 w7 w8")
    queries.append("w9")
    counts = fed(exported)
    for line, sources in grown(exported, queries):
        assert counts.pop() == min(len(line.split(" <q> ")[-1].split()) + 1, 6)
        assert_same_answers(exported, sources, line)


@pytest.mark.parametrize("name", ["copying", "copying-3-level", "last-query"])
@examples(15)
@given(seeds=st.tuples(st.integers(0, 500), st.integers(0, 500)))
def test_any_session_may_be_given_as_the_shorter_one(name, seeds):
    """With nothing in common, the same session again, or a longer one."""
    exported = engines(name)[1]
    one, other = (session_lines(seed, 1)[0] for seed in seeds)
    for line, shorter in (
        (one, other),
        (one, one),
        (one, f"{one} <q> w1"),
        (other, f"w1 <q> {one}"),
    ):
        sources = exported.longer(line, exported.sources([shorter]))
        assert_same_answers(exported, sources, line)


def test_reused_codes_by_hand():
    """5 ends a query; the codes are of `a b | c |`."""
    known = TokenCodes(np.array([[10, 11, 5, 12, 5]]), np.arange(5.0).reshape(1, 5, 1))

    def codes(*tokens):
        return known.at_start_of(np.array([tokens]), end=5).codes[0, :, 0].tolist()

    assert codes(10, 11, 5, 12, 5, 13, 5) == [0, 1, 2, 3, 4]
    assert codes(12, 5, 13, 5) == [3, 4]  # the oldest query was dropped
    assert codes(10, 11, 5, 12, 5) == codes(11, 5, 12, 5, 13, 5) == codes(13, 5) == []


def test_models_exported_by_an_earlier_version(monkeypatch, fed):
    """Their graphs accept no known codes, so the whole session is encoded."""
    monkeypatch.setattr(encoder_graph, "_after_known", lambda graph, codes, channels: codes)
    task, model = build(*EXPORTED["copying"])
    exported = ExportedModel.load(export(model.float().eval(), task))
    counts = fed(exported)
    for line, sources in grown(exported, QUERIES):
        assert counts.pop() == len(sources.sources[0].tokens)
        assert_same_answers(exported, sources, line)
