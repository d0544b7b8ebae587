"""fairseq-interactive answers every line, whatever the input."""

import logging
import sys
from argparse import Namespace

import pytest
import torch
from fairseq import tasks
from fairseq_cli import interactive
from sessions import ALL_MODELS, batch, build, parse, random_sessions

from mtn_fairseq import compat
from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import TextSettings

MODELS = {
    **{name: ALL_MODELS[name] for name in ("2-level", "copying", "hlstm", "copying-seq2seq-last")},
    "transformer-last": ALL_MODELS["transformer-last"],
    "stock": ("transformer", "--encoder-embed-dim 16 --encoder-layers 1 --decoder-layers 1"),
}
LINES = ["w1 w2 <q> w3", "", "w4", "w1 <q> <q> w2", "<q>", "w5 new", "<q> w6", "w7"]
BAD = [1, 3, 4, 6]


def read(path, buffer_size):
    return list(interactive.buffered_read(str(path), buffer_size))


def test_bytes_that_are_not_utf8(tmp_path, monkeypatch):
    """Each is a question mark, as in mtn-suggest; the number of lines stays the same."""
    monkeypatch.setattr(interactive, "buffered_read", None)
    compat.read_any_bytes_interactively()
    (tmp_path / "input").write_bytes(b"a b\n\n caf\xe9 \xff\xfe\r\nd\xc3\xa9j\xc3\xa0 \r vu\nend")
    expected = ["a b", "", "caf? ??", "déjà \r vu", "end"]
    assert read(tmp_path / "input", 1) == [[line] for line in expected]
    assert read(tmp_path / "input", 2) == [expected[:2], expected[2:4], expected[4:]]
    with open(tmp_path / "input") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert read("-", 9) == [expected]


def answers(task, model, lines):
    """Tokens of the suggestions for each line, as fairseq-interactive requests them."""
    generator = task.build_generator([model], Namespace(beam=2, max_len_b=4))
    tokens, lengths = task.get_interactive_tokens_and_lengths(lines, lambda line: line)
    dataset = task.build_dataset_for_inference(tokens, lengths)
    found = {}
    for sample in task.get_batch_iterator(dataset, max_sentences=3).next_epoch_itr(shuffle=False):
        inputs = {key: sample["net_input"][key] for key in ("src_tokens", "src_lengths")}
        hypotheses = task.inference_step(generator, [model], {"net_input": inputs})
        for line, beam in zip(sample["id"].tolist(), hypotheses):
            found[line] = [each["tokens"].tolist() for each in beam]
    return [found[place] for place in range(len(lines))]


@pytest.mark.parametrize("name", MODELS)
def test_a_line_that_is_not_a_session_has_no_suggestions(name, caplog):
    task, model = build(*MODELS[name])
    task.lines_answered = 10
    with caplog.at_level(logging.WARNING):
        found = answers(task, model, LINES)
    assert [place for place, beam in enumerate(found) if not beam] == BAD
    reported = [each.getMessage() for each in caplog.records]
    assert [line.split(": ")[:2] for line in reported] == [
        ["no suggestions", f"input:{11 + place}"] for place in BAD
    ]
    assert [answers(task, model, [line])[0] for line in LINES] == found


@pytest.mark.parametrize("end", [" <q>", " <q> ", " <session>", " <q> <q>"])
def test_a_separator_at_the_end_of_a_line_is_ignored(end, caplog):
    """As in mtn-suggest: the next query is not typed yet."""
    task, model = build(*MODELS["2-level"])
    expected = answers(task, model, ["w1 <q> w2"])
    assert answers(task, model, [f"w1 <q> w2{end}"]) == expected and expected[0]
    assert not caplog.records


def test_lines_after_one_that_does_not_fit_the_model_are_answered(caplog):
    """Too many levels, or --oversize refuse; truncation is reported once."""
    args = parse("hlstm", "--oversize refuse")
    args.level_sizes = "3,2"
    task = tasks.setup_task(args)
    model = task.build_model(args).eval()
    found = answers(task, model, ["w1 <session> w2 <q> w3", "w1", "w1 <q> w2 <q> w3", "w2"])
    assert [bool(beam) for beam in found] == [False, True, False, True]
    caplog.clear()
    task.cfg.oversize = "truncate"
    assert answers(task, model, ["w1 <q> w2 <q> w3"])[0]
    assert [each.levelname for each in caplog.records].count("WARNING") == 1


def test_typed_lines_are_read_as_the_training_text_was(caplog, monkeypatch):
    """Only if its settings are known: text of other tools may have any character."""
    task, _ = build(*MODELS["2-level"])
    assert task.build_tokenizer(Namespace(tokenizer=None)) is None
    monkeypatch.setattr(task, "text_settings", TextSettings())
    monkeypatch.setattr(task, "lines_answered", 10)
    tokenizer = task.build_tokenizer(Namespace(tokenizer=None))
    typed = ["W1-w2! <q> 'W3'", "w1 w2 <q> w3", "!!!", "w1 <q> ? <q> w2", "W1 <q> ?", "w1"]
    tokens, lengths = task.get_interactive_tokens_and_lengths(typed, tokenizer.encode)
    assert tokens[0].tolist() == tokens[1].tolist()
    assert lengths[:2] == [len(tokens[0])] * 2 and lengths[2:] == [0, 0, 2, 2]
    assert tokens[4].tolist() == tokens[5].tolist()
    assert [each.getMessage().split("; ")[0] for each in caplog.records] == [
        "no suggestions: input:13: empty line",
        "no suggestions: input:14: empty query",
    ]
    assert tokenizer.decode("w1-w2") == "w1-w2"


def test_callers_from_python_get_an_error():
    """They rely on one answer per session."""
    task, _ = build(*MODELS["2-level"])
    end = torch.tensor([task.src_dict.eos()])
    with pytest.raises(InputError, match="no query"):
        task.build_dataset_for_inference([end], [1])
    src_tokens, src_lengths = batch(random_sessions(1, 1))
    assert len(task.build_dataset_for_inference([src_tokens[0]], src_lengths.tolist())) == 1
