"""`mtn-evaluate` as a process, on the output of a trained model and of the count baselines."""

import json
import re
import sys

import pytest
from processes import PLUGIN, SMALL, prepared, run, train

COMMAND = f"{sys.executable} -m mtn_evaluation.commands.evaluate"
YARDSTICK = f"{sys.executable} -m mtn_serving.commands.yardstick"
# Words and word pieces take the same path.
words_only = pytest.mark.parametrize("trained", [0], indirect=True, ids=["words"])
SHORT = "--max-len-b 15"  # barely trained models would generate fairseq's 200 tokens


@pytest.fixture(scope="module", params=[0, 300], ids=["words", "word pieces"])
def trained(request, tmp_path_factory):
    """(folder, text, data, generation command, pieces): a model of few words, or of pieces."""
    folder = tmp_path_factory.mktemp(f"pieces{request.param}")
    text, data = prepared(tmp_path_factory, users=60, pieces=request.param)
    sizes = " --level-sizes 40,10,5" if request.param else ""
    # Each epoch leaves a process that prefetches; training once waits 40 s for them to end.
    train(data, folder / "save", f"{SMALL}{sizes} --max-update 150 --num-workers 0")
    generate = (
        f"fairseq-generate {data} {PLUGIN} --path {folder}/save/checkpoint_last.pt --cpu"
        f" --batch-size 32 {SHORT}"
    )
    return folder, text, data, generate, bool(request.param)


@pytest.fixture(scope="module")
def generated(trained):
    """The model's log with the registered scorer, and its last line."""
    folder, _, _, generate, _ = trained
    output = run(f"{generate} --beam 5 --nbest 5 --scoring ngram_precision").stdout
    (folder / "generate.log").write_text(output, encoding="utf-8")
    return folder / "generate.log", output.splitlines()[-1]


def scores(folder, systems, flags):
    done = run(f"{COMMAND} {systems} {flags} --json {folder}/scores.json")
    return json.loads((folder / "scores.json").read_text()), done


def in_one_line(figures):
    """Figures in the format of the registered scorer."""
    precisions = "/".join(f"{figures[f'{n}-gram']:.2f}" for n in (1, 2, 3, 4))
    return f"1/2/3/4-gram {precisions}, BLEU {figures['bleu']:.2f}"


def test_model_and_yardsticks_in_one_table(trained, generated, tmp_path):
    _, text, data, generate, pieces = trained
    log, last_line = generated
    for method in ("echo", "session"):
        counted = run(f"{YARDSTICK} {method} --train {text}/train --test {text}/test --nbest 5")
        (tmp_path / f"{method}.log").write_text(counted.stdout, encoding="utf-8")
    reference = run(f"{generate} --score-reference").stdout
    (tmp_path / "reference.log").write_text(reference, encoding="utf-8")
    result, done = scores(
        tmp_path,
        f"echo={tmp_path}/echo.log session={tmp_path}/session.log mtn={log}",
        f"--test {text}/test --train {text}/train --at 1,5 --baseline session --samples 50"
        f" --perplexity mtn={tmp_path}/reference.log"
        + ("" if pieces else f" --dict {data}/dict.next.txt"),
    )
    echo, session, mtn = result["systems"]
    assert echo["raw"]["exact"] == 0 < session["raw"]["exact"] < 100
    assert session["raw"]["mrr@1"] == session["raw"]["exact"] < session["raw"]["mrr@5"]
    assert mtn["raw"]["1-gram"] > 0 and mtn["raw"]["length"] > 0
    assert 1 < mtn["perplexity"]["value"] < 2000
    kinds = {"position", "earlier_queries", "return", "seen", "shared_words"}
    assert set(mtn["groups"]) == kinds
    assert {d["system"] for d in result["comparisons"]} == {"echo", "mtn"}
    for expected in ("| session ", "| mtn ", "By place", result["signature"]):
        assert expected in done.stdout
    # The registered scorer gave the same figures at the end of fairseq-generate.
    assert f": {in_one_line(mtn['raw'])}; with <unk> as a token, " in last_line
    assert last_line.endswith(result["signature"])
    if not pieces:
        assert f"as a token, {in_one_line(mtn['unk'])}; " in last_line
        assert result["test"]["unknown_words"] > 0
        # A barely trained model may generate no <unk>; real next queries contain some.
        assert mtn["unk"]["1-gram"] >= mtn["raw"]["1-gram"]
        assert session["unk"]["1-gram"] > session["raw"]["1-gram"]


@words_only
def test_shards_and_the_folder_of_results_path_score_like_the_whole(trained, generated, tmp_path):
    _, text, _, generate, _ = trained
    for shard in (0, 1):
        output = f"--results-path {tmp_path}/{shard} --distributed-world-size 2"
        run(f"{generate} --beam 5 --nbest 5 {output} --distributed-rank {shard}")
    systems = f"whole={generated[0]} parts={tmp_path}/0 parts={tmp_path}/1"
    result, _ = scores(tmp_path, systems, f"--test {text}/test --at 5")
    whole, parts = result["systems"]
    assert whole["raw"] == parts["raw"] and whole["groups"] == parts["groups"]
    done = run(f"{COMMAND} parts={tmp_path}/0 --test {text}/test", status=1)
    assert re.search(r"/0: \d+ pairs \(.*\) are missing or incomplete", done.stderr)
    assert done.stdout == "" and "Traceback" not in done.stderr


@words_only
def test_standard_input_and_an_ascii_terminal(trained, generated):
    _, text, _, _, _ = trained
    done = run(
        f"{COMMAND} é=- --test {text}/test",
        stdin=generated[0].read_text(encoding="utf-8"),
        LC_ALL="C",
        PYTHONIOENCODING="ascii:surrogateescape",
        PYTHONUTF8="0",
    )
    assert "| é " in done.stdout
    assert "no MRR and hit at 10, it has at most 5 suggestions per pair" in done.stdout


@words_only
def test_another_split_is_refused_in_one_line(trained, generated):
    _, text, _, _, _ = trained
    done = run(f"{COMMAND} mtn={generated[0]} --test {text}/valid", status=1)
    assert done.stdout == "" and "Traceback" not in done.stderr
    assert f"{generated[0]}: " in done.stderr.splitlines()[-1]
