"""Files of earlier code give the same hypotheses, scores and candidates as then."""

import json
import re
from pathlib import Path

import pytest
from optional_parts import need_lightgbm
from processes import PLUGIN, ROOT, run

from mtn_serving.candidates import COUNTS, EDITS

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


def test_candidates_by_counts():
    """The candidates in the lists of the earlier ranker; hypotheses are tested above."""
    sessions = (KEPT / "test.session").read_text(encoding="utf-8")
    done = run(f"mtn-suggest --counts {KEPT}/counts --nbest 1000 --json", stdin=sessions)
    found = [by_counts(line) for line in done.stdout.splitlines()]
    kept = [by_counts(line) for line in (KEPT / "suggested.jsonl").open(encoding="utf-8")]
    assert len(found) == len(kept) > 90 and sum(map(len, kept)) > 700
    # Two words twice in a row are no candidate any more.
    dropped = {("toyota tundra toyota tundra mileage", EDITS)}
    for ours, theirs in zip(found, kept):
        assert theirs - dropped <= ours and not dropped & ours


def by_counts(line):
    found = [(each["text"], each["source"]) for each in json.loads(line)["suggestions"]]
    return {(text, source) for text, source in found if source in (COUNTS, EDITS)}


def test_an_earlier_ranker_is_refused():
    """It optimised the first suggestion for BLEU."""
    need_lightgbm()
    done = run(
        f"mtn-suggest --counts {KEPT}/counts --ranker {KEPT}/ranker --session paris", status=1
    )
    refused = f"{KEPT}/ranker/header.json: of schema 3, not 4; run mtn-fit-ranker again"
    assert done.stderr.splitlines() == [refused]
