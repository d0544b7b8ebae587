"""From a raw log to suggestions through fairseq's own commands, at two and three levels."""

import re

import pytest
import torch
from processes import PLUGIN, ROOT, SMALL, prepare, run, train

from mtn_fairseq.scoring.generate_log import read_generate_log


@pytest.fixture(scope="module", params=[2, 3], ids=["2 levels", "3 levels"])
def trained(request, tmp_path_factory):
    """(levels, text, data, checkpoint) after two updates with validation by BLEU."""
    folder = tmp_path_factory.mktemp(f"levels{request.param}")
    text, data = prepare(folder, history=2 if request.param == 3 else 0)
    layers = "1,1" if request.param == 2 else "1,1,1"
    log = train(
        data,
        folder / "save",
        f"{SMALL} --level-layers {layers} --max-update 2 --eval-bleu --eval-bleu-print-samples"
        """ --eval-bleu-args '{"beam": 2}' --best-checkpoint-metric bleu"""
        " --maximize-best-checkpoint-metric",
    )
    assert re.search(r"valid on 'valid' subset .* bleu ", log.stdout + log.stderr)
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
        " --batch-size 32"
    )
    log = tmp_path / "generate.log"
    log.write_text(out.stdout)
    pairs = read_generate_log(str(log))
    assert len(pairs) == len(sessions)
    assert all(len(pair.ranked) == len(set(pair.ranked)) == 3 for pair in pairs)
    for pair, session, following in zip(
        pairs, sessions, (text / "test.next").read_text().splitlines()
    ):
        # Words seen once are <unk> in what was binarised; all else comes back as it was.
        for shown, written in ((pair.session, session), (pair.next_query, following)):
            words = zip(shown.split(), written.split())
            assert all(a == b or a in ("<unk>", "<<unk>>") for a, b in words)


def test_generate_is_the_same_whatever_the_batch_size(trained):
    _, _, data, checkpoint = trained
    outputs = [
        run(
            f"fairseq-generate {data} {PLUGIN} --path {checkpoint} --cpu --beam 3 --nbest 3"
            f" --batch-size {size}"
        ).stdout
        for size in (1, 32)
    ]
    hypotheses = [
        sorted(
            (match[1], match[3], round(float(match[2]), 3))
            for match in re.finditer(r"^H-(\d+)\t(\S+)\t(.*)$", output, re.MULTILINE)
        )
        for output in outputs
    ]
    assert hypotheses[0] == hypotheses[1]
    assert hypotheses[0]


def test_diverse_beam_search(trained):
    _, _, data, checkpoint = trained
    out = run(
        f"fairseq-generate {data} {PLUGIN} --path {checkpoint} --cpu --batch-size 32 --beam 4"
        " --nbest 4 --diverse-beam-groups 2 --diverse-beam-strength 0.5"
    )
    assert "Generate test with beam=4" in out.stdout


def test_interactive_answers_a_typed_session(trained):
    _, text, data, checkpoint = trained
    session = (text / "test.session").read_text().splitlines()[-1]
    out = run(
        f"fairseq-interactive {data} {PLUGIN} --path {checkpoint} --cpu --beam 3 --nbest 3",
        stdin=session + "\n",
    )
    assert len(re.findall(r"^D-0\t", out.stdout, re.MULTILINE)) == 3


def test_resumed_training_equals_uninterrupted(trained, tmp_path):
    levels, _, data, _ = trained
    flags = f"{SMALL} --level-layers {'1,1' if levels == 2 else '1,1,1'} --dropout 0.1"
    train(data, tmp_path / "whole", f"{flags} --max-update 6 --save-interval-updates 3")
    train(data, tmp_path / "parts", f"{flags} --max-update 3")
    train(data, tmp_path / "parts", f"{flags} --max-update 6")
    whole, parts = (
        torch.load(tmp_path / run / "checkpoint_last.pt")["model"] for run in ("whole", "parts")
    )
    assert whole.keys() == parts.keys()
    # fairseq's sinusoidal positions save a number that nobody ever set; only its type is used.
    weights = [name for name in whole if not name.endswith("_float_tensor")]
    assert all(torch.equal(whole[name], parts[name]) for name in weights)
    assert len(weights) > 30


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
        " --batch-size 32 --beam 2"
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
        " --batch-size 32 --beam 2"
    )
    assert "Generate test with beam=2" in out.stdout
