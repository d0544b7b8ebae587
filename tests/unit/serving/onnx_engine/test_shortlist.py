"""A beam search that generates only the most frequent words, and copies others."""

import json
import math
from functools import lru_cache

import numpy as np
import pytest
from exported_models import EXPORTED, engines_in_pieces, export, session_lines, texts_of
from processes import ROOT
from sessions import build

from mtn_preprocess.errors import InputError
from mtn_serving.bundle.folder import Bundle
from mtn_serving.commands.bundle import main as bundle_command
from mtn_serving.commands.export import main as mtn_export
from mtn_serving.export.export_model import export_model
from mtn_serving.onnx_engine.exported_model import ExportedModel
from mtn_serving.onnx_engine.vocabulary import END
from mtn_serving.suggester import Suggester

KEPT = ROOT / "tests/kept"
SHORT = 11  # three separators and w0 … w7, of w0 … w23
models = pytest.mark.parametrize("name", ["2-level", "transformer", "copying", "copying-3-level"])


@lru_cache(maxsize=None)
def engines(name):
    """(with all words, with the shortlist)"""
    task, model = build(*EXPORTED[name])
    return tuple(
        ExportedModel.load(export(model.float(), task, shortlist=each)) for each in (0, SHORT)
    )


@pytest.mark.parametrize("name", ["2-level", "transformer"])
def test_probabilities_are_normalised_over_the_shortlist(name):
    """By hand: the whole model's probability of a word over that of all words of the shortlist."""
    whole, short = engines(name)
    (line,) = session_lines(2, 1)
    words = len(whole.vocabulary)
    step = whole.decoder.step(
        whole.sources([line]),
        *(np.full((1, 1), each) for each in (END, 0)),
        np.zeros((1, 1, 1), dtype=np.float32),
        None,
        1,
        np.arange(words)[None, None],
    )
    log_probability = step.wanted[0, 0]
    said = math.log(np.exp(log_probability[: 4 + SHORT]).sum())
    assert said < -0.1  # other words are likely, too
    (hypotheses,) = short.hypotheses(short.sources([line]), 30)
    firsts = {each.columns[0] for each in hypotheses}
    assert len(firsts) > 1 and max(firsts) < 4 + SHORT
    short.max_words = 1
    try:
        (hypotheses,) = short.hypotheses(short.sources([line]), 5)
    finally:
        short.max_words = whole.max_words
    for each in hypotheses:
        (word,) = each.columns
        ends = _log_probability_of_the_end(short, line, word)
        expected = log_probability[word] - said + ends
        assert each.log_probability == pytest.approx(expected, abs=1e-4)


def _log_probability_of_the_end(short, line, word):
    """After one word."""
    found = short.short_decoder.step(
        short.sources([line]),
        np.array([[END, word]]),
        np.array([[0, 1]]),
        np.array([[[0, -3e4], [0, 0]]], dtype=np.float32),
        None,
        1,
        np.full((1, 2, 1), END),
    )
    return found.wanted[0, 1, 0]


@models
def test_only_words_of_the_shortlist_or_the_session_are_generated(name):
    _, short = engines(name)
    lines = [*session_lines(3, 12), "w20 zorblax <q> w21"]
    copied = 0
    for line, texts in zip(lines, texts_of(short.beam_search(20)(short.sources(lines)))):
        said = {word for text in texts for word in text.split()}
        listed = {f"w{i}" for i in range(8)}
        of_session = set(line.split()) if "copying" in name else set()
        assert said and said <= listed | of_session
        copied += len(said - listed)
    assert (copied > 0) == ("copying" in name)


@models
def test_scores_and_completions_use_all_words(name):
    whole, short = engines(name)
    lines = session_lines(6, 4)
    sources = [each.sources(lines) for each in (whole, short)]
    beams = short.beam_search(5)(sources[1])
    assert [each.known for each in beams] == [None] * 4  # normalised over fewer words
    candidates = [[*each.texts, "w20 w1", "w7", "unheard w20"] for each in beams]
    for ours, expected in zip(
        short.scores(sources[1], candidates, beams), whole.scores(sources[0], candidates)
    ):
        for each, of_expected in zip(ours, expected):
            np.testing.assert_allclose(each, of_expected, atol=1e-5)
    prefixes = ["w2", "w20 ", "w1", "w"]
    completed = [
        texts_of(each.complete(some, prefixes, 5)) for each, some in zip((whole, short), sources)
    ]
    assert completed[0] == completed[1] and any("w20 " in text for text in completed[0][1])


def test_a_shortlist_with_int8():
    task, model = build(*EXPORTED["copying"])
    short = ExportedModel.load(export(model.float(), task, int8=True, shortlist=SHORT))
    (texts,) = texts_of(short.beam_search(8)(short.sources(["w20 zorblax"])))
    assert {word for text in texts for word in text.split()} & {"w20", "zorblax"}


def test_invalid_shortlists(tmp_path):
    kept = KEPT / "mtn_copying.pt", KEPT / "data-flat", tmp_path
    with pytest.raises(InputError, match="a shortlist of 180 words, and the dictionary has 180"):
        export_model(*kept, shortlist=180)
    assert not list(tmp_path.iterdir())
    trained, _ = engines_in_pieces()
    with pytest.raises(InputError, match="a shortlist of word pieces"):
        export(trained.model, trained.task, shortlist=5)


def test_a_model_exported_by_an_earlier_version():
    task, model = build(*EXPORTED["copying"])
    folder = export(model.float(), task)
    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert facts.pop("shortlist") == 0 and not list(folder.glob("short_decoder*"))
    (folder / "model.json").write_text(json.dumps(facts), encoding="utf-8")
    assert ExportedModel.load(folder).short_decoder is None


def test_a_bundle_reports_its_shortlist_and_the_loss(tmp_path, capsys):
    flags = f"--checkpoint {KEPT}/mtn_copying.pt --data {KEPT}/data-flat --shortlist 9"
    sessions = (KEPT / "test.session").read_text(encoding="utf-8").splitlines()[:20]
    text = tmp_path / "text"
    text.mkdir()
    (text / "valid.session").write_text("".join(f"{each}\n" for each in sessions), "utf-8")
    # The next queries are the whole model's own suggestions, so the shortlist finds fewer.
    whole = Suggester.load(model=KEPT / "mtn_copying.pt", data=KEPT / "data-flat", beam=10)
    asked = [found[0].query for found in whole.suggest_many(sessions, 1)]
    (text / "valid.next").write_text("".join(f"{each}\n" for each in asked), "utf-8")
    mtn_export(f"{flags} --int8 --valid {text}/valid --output {tmp_path}/bundle".split())
    said = capsys.readouterr().err
    assert "mtn-export: int8 with shortlist loses, model alone: exact +" in said
    assert "leave out --shortlist, or make it larger" in said
    manifest = Bundle.open(tmp_path / "bundle", verify=True).manifest
    assert manifest["model"]["shortlist"] == 9
    assert max(manifest["int8_with_shortlist_loss"]["model alone"].values()) > 2
    bundle_command(["show", f"{tmp_path}/bundle"])
    card = capsys.readouterr().out
    assert "- words that its beam can say: 9\n" in card
    assert "## What int8 with shortlist loses, in percent\n" in card
