"""From a raw log to suggestions through fairseq's own commands.

All commands with `mtn` of two and three levels; the most important ones with the other models.
"""

import re

import pytest
import torch
from processes import PLUGIN, ROOT, SMALL, prepared, run, train
from training_runs import learned, same_weights

from mtn_evaluation.generate_log import read_generate_log

# Barely trained models would generate fairseq's 200 tokens; the longest query here has 12.
SHORT = "--max-len-b 15"


@pytest.fixture(scope="module")
def two_levels(tmp_path_factory):
    """(text, data) without history, for all models."""
    return prepared(tmp_path_factory)


@pytest.fixture(scope="module", params=[2, 3], ids=["2 levels", "3 levels"])
def trained(request, tmp_path_factory):
    """(levels, text, data, checkpoint) after two updates with validation by BLEU."""
    folder = tmp_path_factory.mktemp(f"levels{request.param}")
    if request.param == 2:
        text, data = request.getfixturevalue("two_levels")
    else:
        text, data = prepared(tmp_path_factory, history=2)
    layers = "1,1" if request.param == 2 else "1,1,1"
    log = train(
        data,
        folder / "save",
        f"{SMALL} --level-layers {layers} --max-update 2 --eval-bleu --eval-bleu-print-samples"
        """ --eval-bleu-args '{"beam": 2, "max_len_b": 15}' --best-checkpoint-metric bleu"""
        " --maximize-best-checkpoint-metric",
    )
    assert re.search(r"valid on 'valid' subset .* bleu ", log.stdout + log.stderr)
    assert (log.stdout + log.stderr).count("padding: ") == 1
    return request.param, text, data, folder / "save/checkpoint_last.pt"


def test_validate(trained):
    _, _, data, checkpoint = trained
    log = run(f"fairseq-validate {data} {PLUGIN} --path {checkpoint} --cpu --batch-size 16")
    assert re.search(r"valid .* loss \d", log.stdout + log.stderr)


def test_generate_gives_n_best_for_every_line(trained, tmp_path):
    levels, text, data, checkpoint = trained
    sessions = (text / "test.session").read_text().splitlines()
    assert len(sessions) % 8, "a multiple of 8 would not show dropped remainders"
    assert any("<session>" in line for line in sessions) == (levels == 3)
    out = run(
        f"fairseq-generate {data} {PLUGIN} --path {checkpoint} --cpu --beam 5 --nbest 3"
        f" --batch-size 32 {SHORT}"
    )
    assert_n_best_for_every_line(out.stdout, text, tmp_path)


def assert_n_best_for_every_line(output, text, folder):
    """Three different suggestions for each line of the test text, under its line number."""
    log = folder / "generate.log"
    log.write_text(output)
    pairs = read_generate_log(str(log))
    sessions, following = (
        (text / f"test.{ending}").read_text().splitlines() for ending in ("session", "next")
    )
    assert len(pairs) == len(sessions)
    assert all(len(pair.ranked) == len(set(pair.ranked)) == 3 for pair in pairs)
    for pair, session, next_query in zip(pairs, sessions, following):
        # Binarised data have <unk> for words seen once; all other words are unchanged.
        for shown, written in ((pair.session, session), (pair.next_query, next_query)):
            words = zip(shown.split(), written.split())
            assert all(a == b or a in ("<unk>", "<<unk>>") for a, b in words)


def test_generate_does_not_depend_on_the_batch_size(trained):
    _, _, data, checkpoint = trained
    outputs = [
        run(
            f"fairseq-generate {data} {PLUGIN} --path {checkpoint} --cpu --beam 3 --nbest 3"
            f" --batch-size {size} {SHORT}"
        ).stdout
        for size in (1, 32)
    ]
    assert_same_hypotheses(*outputs)
    assert hypotheses(outputs[0])


def hypotheses(output):
    """(line, suggestion, score), sorted, as batches come in any order."""
    return sorted(
        (int(match[1]), match[3], float(match[2]))
        for match in re.finditer(r"^H-(\d+)\t(\S+)\t(.*)$", output, re.MULTILINE)
    )


def assert_same_hypotheses(output, other):
    """Other batches round scores differently."""
    found, expected = hypotheses(output), hypotheses(other)
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    scores = [each[2] for each in expected]
    assert [each[2] for each in found] == pytest.approx(scores, abs=1e-4)


def test_diverse_beam_search(trained):
    _, _, data, checkpoint = trained
    out = run(
        f"fairseq-generate {data} {PLUGIN} --path {checkpoint} --cpu --batch-size 32 --beam 4"
        f" --nbest 4 --diverse-beam-groups 2 --diverse-beam-strength 0.5 {SHORT}"
    )
    assert "Generate test with beam=4" in out.stdout


def test_interactive_answers_typed_sessions_and_continues_after_bad_lines(trained):
    """An empty line has no suggestions; a byte that is not UTF-8 is part of an unknown word."""
    _, text, data, checkpoint = trained
    session = (text / "test.session").read_bytes().splitlines()[-1]
    out = run(
        f"fairseq-interactive {data} {PLUGIN} --path {checkpoint} --cpu --beam 3 --nbest 3 {SHORT}",
        stdin=b"\n".join([session, b"", b"caf\xe9", session, b""]),
    ).stdout
    assert re.findall(r"^S-(\d)\t", out, re.MULTILINE) == ["0", "1", "2", "3"]
    assert re.findall(r"^D-(\d)\t", out, re.MULTILINE) == ["0"] * 3 + ["2"] * 3 + ["3"] * 3


def test_resumed_training_equals_uninterrupted(trained, tmp_path):
    levels, _, data, _ = trained
    flags = f"{SMALL} --level-layers {'1,1' if levels == 2 else '1,1,1'} --dropout 0.1"
    train(data, tmp_path / "whole", f"{flags} --max-update 6 --save-interval-updates 3")
    train(data, tmp_path / "parts", f"{flags} --max-update 3")
    train(data, tmp_path / "parts", f"{flags} --max-update 6")
    whole, parts = (learned(tmp_path / run / "checkpoint_last.pt") for run in ("whole", "parts"))
    assert same_weights(whole, parts)
    assert len(whole) > 30


def test_hydra_config_of_the_example(trained, tmp_path):
    levels, _, data, _ = trained
    layers = "1,1" if levels == 2 else "1,1,1"
    run(
        "fairseq-hydra-train --config-dir examples/sample_log/hydra --config-name mtn"
        f" common.user_dir={ROOT}/mtn_fairseq task.data={data} 'model.level_layers=\"{layers}\"'"
        " model.encoder_embed_dim=16 model.encoder_attention_heads=2 optimization.max_update=2"
        f" checkpoint.save_dir={tmp_path}/save hydra.run.dir={tmp_path}/hydra"
    )
    state = torch.load(tmp_path / "save/checkpoint_last.pt")
    assert state["cfg"]["model"]["level_layers"] == layers
    out = run(
        f"fairseq-generate {data} {PLUGIN} --path {tmp_path}/save/checkpoint_last.pt --cpu"
        f" --batch-size 32 --beam 2 {SHORT}"
    )
    assert "Generate test with beam=2" in out.stdout


@pytest.mark.parametrize("arch", ["transformer", "lstm"])
def test_stock_architectures_train_on_the_same_data(trained, tmp_path, arch):
    _, _, data, _ = trained
    sizes = "--encoder-embed-dim 16 --decoder-embed-dim 16"
    if arch == "transformer":
        sizes += (
            " --encoder-layers 1 --decoder-layers 1 --encoder-ffn-embed-dim 16"
            " --decoder-ffn-embed-dim 16 --encoder-attention-heads 2 --decoder-attention-heads 2"
        )
    train(data, tmp_path, f"--arch {arch} {sizes} --max-update 2")
    out = run(
        f"fairseq-generate {data} {PLUGIN} --path {tmp_path}/checkpoint_last.pt --cpu"
        f" --batch-size 32 --beam 2 {SHORT}"
    )
    assert "Generate test with beam=2" in out.stdout


# --- the other models -----------------------------------------------------------------------------

LSTM = "--encoder-embed-dim 12 --encoder-hidden-size 8"
FLAT = (
    "--encoder-layers 1 --encoder-embed-dim 16 --encoder-ffn-embed-dim 16"
    " --encoder-attention-heads 2"
)
OTHER_MODELS = {
    "seq2seq_attn": LSTM,
    "hlstm": LSTM,
    "mnsrf": f"{LSTM} --criterion entropy_regularized_cross_entropy --label-smoothing 0.1",
    "transformer_session": FLAT,
}


@pytest.fixture(scope="module", params=OTHER_MODELS)
def other_model(request, two_levels, tmp_path_factory):
    """(flags, text, data, folder of checkpoints) after six updates, with that after three."""
    flags = f"--arch {request.param} {OTHER_MODELS[request.param]} --max-update 6"
    save = tmp_path_factory.mktemp(request.param)
    log = train(two_levels[1], save, f"{flags} --save-interval-updates 3")
    assert re.search(r"valid on 'valid' subset .* loss ", log.stdout + log.stderr)
    regularised = "entropy_regularized" in flags
    assert bool(re.search(r"\| entropy \d", log.stdout + log.stderr)) == regularised
    return (flags, *two_levels, save)


@pytest.fixture(scope="module")
def generated(other_model):
    """The output of fairseq-generate for the test data, with 32 sessions per batch."""
    _, _, data, save = other_model
    return run(
        f"fairseq-generate {data} {PLUGIN} --path {save}/checkpoint_last.pt --cpu --beam 3"
        f" --nbest 3 --batch-size 32 {SHORT}"
    ).stdout


def test_other_models_give_n_best_for_every_line(other_model, generated, tmp_path):
    assert_n_best_for_every_line(generated, other_model[1], tmp_path)


def test_other_models_answer_a_typed_session_as_in_a_batch(other_model, generated):
    """fairseq-interactive reads line by line, so each line is its own batch."""
    _, text, data, save = other_model
    typed = run(
        f"fairseq-interactive {data} {PLUGIN} --path {save}/checkpoint_last.pt --cpu --beam 3"
        f" --nbest 3 {SHORT}",
        stdin=(text / "test.session").read_text(),
    ).stdout
    assert_same_hypotheses(typed, generated)
    assert len(hypotheses(typed)) == 3 * len((text / "test.session").read_text().splitlines())


def test_other_models_resume_as_if_never_interrupted(other_model, tmp_path):
    flags, _, data, save = other_model
    (after_three,) = save.glob("checkpoint_*_3.pt")
    train(data, tmp_path, f"{flags} --restore-file {after_three}")
    whole, parts = (learned(folder / "checkpoint_last.pt") for folder in (save, tmp_path))
    assert same_weights(whole, parts)
    assert not same_weights(whole, learned(after_three))  # the weights still changed
    assert len(whole) > 10
