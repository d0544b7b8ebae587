"""`mtn-report` as a process, on a model that the commands trained, ran and evaluated."""

import json
import re
import sys

import pytest
import torch
from processes import PLUGIN, SMALL, prepare, run, train

pytest.importorskip("matplotlib")

REPORT = f"{sys.executable} -m mtn_report.command"
EVALUATE = f"{sys.executable} -m mtn_evaluation.commands.evaluate"
YARDSTICK = f"{sys.executable} -m mtn_serving.commands.yardstick"


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """(folder, manifest): a tiny model and a count baseline, with everything a report can show."""
    folder = tmp_path_factory.mktemp("report")
    text, data = prepare(folder, users=40)
    log = train(data, folder / "save", f"{SMALL} --max-update 20 --validate-interval-updates 10")
    (folder / "train.log").write_text(log.stdout + log.stderr, encoding="utf-8")
    outputs = {
        "mtn": run(
            f"fairseq-generate {data} {PLUGIN} --path {folder}/save/checkpoint_last.pt --cpu"
            " --batch-size 32 --beam 3 --nbest 3 --max-len-b 15"
        ),
        "echo": run(f"{YARDSTICK} echo --test {text}/test"),
    }
    for name, output in outputs.items():
        (folder / f"{name}.log").write_text(output.stdout, encoding="utf-8")
    run(
        f"{EVALUATE} mtn={folder}/mtn.log echo={folder}/echo.log --test {text}/test"
        f" --train {text}/train --dict {data}/dict.next.txt --json {folder}/scores.json"
    )
    manifest = {
        "schema": 1,
        "stats": "text/stats.json",
        "evaluations": ["scores.json"],
        "data": "data-bin",
        "test": "text/test",
        "sample_lines": [longest_session(text)],
        "attention": "MTN",
        "systems": [
            {
                "label": "echo",
                "group": "yardstick",
                "runs": [{"scores": "echo", "suggestions": "echo.log"}],
            },
            {
                "label": "MTN",
                "group": ["main", "ablation"],
                "paper": "mtn",
                "runs": [
                    {
                        "seed": 5,
                        "scores": "mtn",
                        "checkpoint": "save/checkpoint_last.pt",
                        "training_log": "train.log",
                        "suggestions": "mtn.log",
                    }
                ],
            },
        ],
    }
    return folder, manifest


def longest_session(text):
    sessions = (text / "test.session").read_text(encoding="utf-8").splitlines()
    counts = [line.split().count("<q>") for line in sessions]
    return counts.index(max(counts)) + 1


def report(folder, manifest, output, status=0):
    (folder / "report.json").write_text(json.dumps(manifest), encoding="utf-8")
    # With the encoding of a plain terminal and without a display.
    return run(f"{REPORT} {folder} --output {output}", status=status, LC_ALL="C", DISPLAY="")


def test_every_section_of_a_complete_experiment(experiment, tmp_path):
    folder, manifest = experiment
    done = report(folder, manifest, tmp_path / "out")
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == [
        "attention.png",
        "bleu.png",
        "curves.png",
        "positions.png",
        "report.html",
        "report.md",
    ]
    assert sorted(line.rpartition("/")[2] for line in done.stdout.splitlines()) == written
    assert done.stderr == ""
    text = (tmp_path / "out/report.md").read_text(encoding="utf-8")
    assert "Not shown" not in text
    raw = next(s for s in json.loads((folder / "scores.json").read_text())["systems"])["raw"]
    parameters = count_parameters(folder / "save/checkpoint_last.pt")
    size = f"{4 * parameters / 1e6:,.1f} ({parameters:,})"
    row = re.escape(f"| MTN | raw text | 1Q, 1S, 1D | 1 (seed 5) | {size} | ")
    first = rf"{row}(?:\*\*)?{raw['1-gram']:.1f}\b"
    assert len(re.findall(first, text)) == 2  # Table 2 and the ablation
    session = (folder / "text/test.session").read_text(encoding="utf-8").splitlines()
    shown = session[manifest["sample_lines"][0] - 1].split(" <q> ")
    assert len(shown) > 2 and "  ›  ".join(shown) + "  ›  next query: " in text


def count_parameters(checkpoint):
    """By hand: the shared embedding counts once, buffers do not count."""
    weights = torch.load(str(checkpoint))["model"]
    counted = {
        name: value
        for name, value in weights.items()
        if name.endswith(("weight", "bias")) and name != "decoder.embed_tokens.weight"
    }
    return sum(value.numel() for value in counted.values())


def test_a_checkpoint_of_another_dictionary_is_refused_in_one_line(experiment, tmp_path):
    folder, manifest = experiment
    for language in ("session", "next"):
        words = (folder / f"data-bin/dict.{language}.txt").read_text(encoding="utf-8").splitlines()
        (tmp_path / f"dict.{language}.txt").write_text("\n".join(words[:-8]) + "\n")
    done = report(folder, {**manifest, "data": str(tmp_path)}, tmp_path / "out", status=1)
    (line,) = done.stderr.splitlines()
    wrong = f"{tmp_path}/dict.session.txt: not the dictionary that the checkpoint was trained with"
    assert line.startswith(wrong)
