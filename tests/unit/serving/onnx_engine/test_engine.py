"""An exported model alone: without torch, with several threads, and with damaged files."""

import json
import shlex
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from exported_models import EXPORTED, engines, export, session_lines
from processes import run
from sessions import build

from mtn_preprocess.errors import InputError
from mtn_serving.onnx_engine.candidate_trie import Trie, visible
from mtn_serving.onnx_engine.exported_model import ExportedModel
from mtn_serving.onnx_engine.model_files import ATTENTION
from mtn_serving.onnx_engine.session_layout import SessionLayout


@pytest.fixture
def folder():
    task, model = build(*EXPORTED["copying"])
    return export(model.float(), task)


def test_neither_torch_nor_fairseq_is_imported(folder):
    code = (
        "import sys; from mtn_serving.onnx_engine.exported_model import ExportedModel; "
        f"m = ExportedModel.load({str(folder)!r}); "
        "print(m.beam_search(2)(m.sources(['w1 <q> w2']))); "
        "print(sorted({'torch', 'fairseq', 'onnx', 'lightgbm', 'sklearn'} & set(sys.modules)))"
    )
    *_, imported = run(shlex.join([sys.executable, "-c", code])).stdout.splitlines()
    assert imported == "[]"


@pytest.mark.parametrize("name", EXPORTED)
def test_attention_is_that_of_the_plugin(name):
    """In a batch and alone; flat models and a single level have none."""
    trained, exported = engines(name)
    lines = session_lines(seed=3, count=12)
    expected = trained.attention(trained.sources(lines))
    found = exported.attention(exported.sources(lines))
    assert (found is None) == (expected is None) == (exported.facts.levels < 2)
    for line, ours, theirs in zip(lines, found or (), expected or ()):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
        (alone,) = exported.attention(exported.sources([line]))
        np.testing.assert_allclose(alone, ours, atol=1e-5)
        assert ours.sum() == pytest.approx(1, abs=1e-5)


def test_models_exported_before_attention_was_kept():
    exported = ExportedModel.load(engines("copying")[1].settings_file.parent)
    exported.encoder.outputs.remove(ATTENTION)  # as if the graph did not have it
    assert exported.attention(exported.sources(["w1 <q> w2"])) is None


def test_each_thread_gets_its_own_answers():
    exported = engines("copying")[1]
    lines = session_lines(seed=2, count=40)

    def ask(line):
        sources = exported.sources([line])
        ((hypotheses, _),) = exported.beam_search(4)(sources)
        (scores,) = exported.scores(sources, [hypotheses])
        ((completions, _),) = exported.complete(sources, ["w"], 3)
        return hypotheses, scores.log_probability.tolist(), completions

    alone = [ask(line) for line in lines]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, lines)) == alone


def test_a_trie_has_each_prefix_once():
    trie = Trie()
    paths = [trie.add(each) for each in ([7, 8, 2], [7, 9, 2], [7, 8, 2], [2])]
    assert trie.columns == [2, 7, 8, 9] and trie.parents == [0, 0, 1, 1]
    assert [list(edges) for edges in trie.edges] == [[7, 2], [8, 9], [2], [2]]
    assert paths == [[0, 1, 2], [0, 3, 4], [0, 1, 2], [5]]
    assert trie.nodes == [0, 1, 2, 1, 3, 0] and trie.places == [0, 0, 0, 1, 0, 1]
    assert trie.tokens == [7, 8, 2, 9, 2, 2]
    parents = np.array([[*trie.parents, 4]])
    assert visible(parents, max(trie.depths))[0].astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [0, 0, 0, 0, 1],  # padding
    ]


def test_layout_by_hand():
    """Of `a b <q> c <session> d </s>` and `e </s>`."""
    layout = SessionLayout([[10, 11, 4, 12, 5, 13, 2], [14, 2]], separators=[4, 5])
    assert layout.query.tolist() == [[0, 0, 0, 1, 1, 2, 2], [0, 0, -1, -1, -1, -1, -1]]
    assert layout.position.tolist() == [[0, 1, 2, 0, 1, 0, 1], [0, 1, 0, 0, 0, 0, 0]]
    assert layout.end_rank.tolist() == [[1, 2, 0], [0, 0, 0]]
    assert np.flatnonzero(layout.is_last_of_query[0]).tolist() == [2, 4, 6]
    view = layout.level(2, top=False)
    assert view.position[0].tolist() == [0, 1, 0]
    assert view.visible[0].astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    top = layout.level(3, top=True)
    assert top.position[0].tolist() == [0, 0, 1]
    assert top.visible[0].astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 1]]


def test_only_models_of_three_levels_read_a_history():
    assert engines("copying-3-level")[1].history_size == (3, 6)
    assert engines("copying")[1].history_size == engines("transformer")[1].history_size == (0, 0)


@pytest.mark.parametrize("line", ["", "w1 <q>", "w1 <q> <q> w2", "<q> w1"])
def test_empty_queries_are_refused(line):
    with pytest.raises(InputError, match="empty query"):
        engines("copying")[1].sources([line])


def test_damaged_files_are_refused(folder):
    def refused(match):
        with pytest.raises(InputError, match=match):
            ExportedModel.load(folder)

    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    (folder / "model.json").write_text(json.dumps({**facts, "schema": 9}), encoding="utf-8")
    refused("not of schema 1")
    (folder / "model.json").write_text(json.dumps({**facts, "words": 7}), encoding="utf-8")
    refused("31 words, but the model has 7")
    (folder / "model.json").write_text(json.dumps(facts), encoding="utf-8")
    (folder / "words.npy").write_bytes(b"no array")
    refused("cannot be read")
    shutil.copy(folder / "target_positions.npy", folder / "words.npy")
    (folder / "decoder.onnx").write_bytes(b"no graph")
    refused("onnxruntime cannot open it")
    (folder / "model.json").unlink()
    refused("no exported model")
