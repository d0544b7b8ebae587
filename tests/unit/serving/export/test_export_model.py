"""Exported files and facts, and models that are refused."""

import json

import pytest
from exported_models import engines_in_pieces, export
from processes import ROOT
from sessions import SMALL, build

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.word_pieces import MODEL
from mtn_serving.export.export_model import export_model, write_model

KEPT = ROOT / "tests/kept"


def test_files_and_facts(tmp_path):
    facts = export_model(KEPT / "mtn_copying.pt", KEPT / "data-flat", tmp_path)
    assert json.loads((tmp_path / "model.json").read_text(encoding="utf-8")) == facts
    known = {"architecture": "mtn", "levels": 2, "copying": True, "number_type": "float32"}
    assert known.items() <= facts.items() and facts["parameters"] > 1000
    names = {path.name for path in tmp_path.iterdir()}
    assert {"encoder.onnx", "decoder.onnx", "words.npy", "dictionary.txt"} <= names
    assert not [name for name in names if name.endswith((".pt", ".pkl"))]


@pytest.mark.parametrize("name", ["seq2seq_attn", "hlstm"])
def test_recurrent_models_are_refused(name, tmp_path):
    with pytest.raises(InputError, match="only mtn and transformer_session can"):
        export_model(KEPT / f"{name}.pt", KEPT / "data-flat", tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "flags",
    ["--adaptive-softmax-cutoff [4,8]", "--quant-noise-pq 0.1 --quant-noise-pq-block-size 8"],
)
def test_models_without_a_graph_are_refused(flags, tmp_path):
    from mtn_serving.export.export_model import _refuse_what_has_no_graph

    _, model = build("mtn", f"{SMALL} --level-layers 1,1 {flags}")
    with pytest.raises(InputError, match="cannot be exported"):
        _refuse_what_has_no_graph(model, tmp_path)


def test_word_pieces_need_their_model(tmp_path):
    trained, exported = engines_in_pieces()
    assert (exported.settings_file.parent / "pieces.model").is_file()
    model = trained.task.dictionary_file.with_name(MODEL)
    content = model.read_bytes()
    model.unlink()
    try:
        with pytest.raises(InputError, match=f"{MODEL} is missing"):
            write_model(trained.model, trained.task, tmp_path, int8=False)
    finally:
        model.write_bytes(content)


def test_int8_weights_are_smaller():
    size = "--encoder-embed-dim 64 --encoder-ffn-embed-dim 128 --encoder-attention-heads 2"
    task, model = build("mtn", f"{size} --level-layers 1,1")
    whole, small = (export(model.float(), task, int8) for int8 in (False, True))
    bytes_of = [
        sum(path.stat().st_size for path in each.glob("*.weights")) for each in (whole, small)
    ]
    assert 3 * bytes_of[1] < bytes_of[0]
    for folder, number_type in ((whole, "float32"), (small, "int8")):
        facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        assert facts["number_type"] == number_type
