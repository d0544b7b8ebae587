"""What earlier code wrote is read, and gives the suggestions and scores that it gave then."""

import json
import re
from pathlib import Path

import pytest
from optional_parts import need_lightgbm
from processes import PLUGIN, ROOT, run

KEPT = ROOT / "tests/kept"
CHECKPOINTS = sorted(path.stem for path in KEPT.glob("*.pt"))
LINE = re.compile(r"^([HP]-\d+)\t(.*)$", re.MULTILINE)


def lines_of(text):
    """H and P lines: their names, words and numbers."""
    found = []
    for name, rest in LINE.findall(text):
        words = re.split(r"[\t ]", rest)
        numbers = [float(word) for word in words if re.fullmatch(r"-?\d+\.\d+", word)]
        found.append((name, [word for word in words if "." not in word], numbers))
    return found


def test_there_are_some_of_every_kind():
    assert {"mtn", "mtn_3level", "mtn_copying", "hlstm", "transformer_session"} <= set(CHECKPOINTS)


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_hypotheses_and_scores(name):
    data = KEPT / ("data-history" if name == "mtn_3level" else "data-flat")
    flags = f"--path {KEPT}/{name}.pt --cpu --beam 4 --beam-stop first --nbest 2 --max-len-b 10"
    found = lines_of(run(f"fairseq-generate {data} {PLUGIN} {flags}").stdout)
    expected = lines_of(Path(f"{KEPT}/{name}.generated").read_text(encoding="utf-8"))
    assert len(found) == len(expected) > 300
    for ours, theirs in zip(found, expected):
        assert ours[:2] == theirs[:2]
        assert ours[2] == pytest.approx(theirs[2], abs=2e-3)


def test_lists():
    need_lightgbm()
    parts = f"--model {KEPT}/mtn_copying.pt --data {KEPT}/data-flat --counts {KEPT}/counts"
    sessions = (KEPT / "test.session").read_text(encoding="utf-8")
    done = run(f"mtn-suggest {parts} --ranker {KEPT}/ranker --beam 4 --json", stdin=sessions)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    expected = (KEPT / "suggested.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(found) == len(expected) > 90
    for ours, theirs in zip(found, map(json.loads, expected)):
        assert [each["text"] for each in ours["suggestions"]] == [
            each["text"] for each in theirs["suggestions"]
        ]
        assert [each["score"] for each in ours["suggestions"]] == pytest.approx(
            [each["score"] for each in theirs["suggestions"]], abs=1e-3
        )
