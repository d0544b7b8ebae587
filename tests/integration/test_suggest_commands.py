"""`mtn-count-next`, `mtn-fit-ranker` and `mtn-suggest` as processes, from a raw log to scores."""

import json
import re
import subprocess

import pytest
from optional_parts import need_lightgbm
from processes import BIN, PATIENCE, PLUGIN, ROOT, SMALL, prepared, run, train

from mtn_evaluation import read_system
from mtn_serving.candidates import HISTORY, SOURCES
from mtn_serving.list_rules import LIKELY
from mtn_serving.next_queries import NextQueries

LONGEST = {0: 12, 300: 40}  # tokens of a query
words_only = pytest.mark.parametrize("parts", [0], indirect=True, ids=["words"])


@pytest.fixture(scope="module", params=[0, 300], ids=["words", "word pieces"])
def parts(request, tmp_path_factory):
    """Text, and flags of `mtn-suggest` for a barely trained model, counts and a ranker."""
    need_lightgbm()
    folder = tmp_path_factory.mktemp(f"suggest{request.param}")
    text, data = prepared(tmp_path_factory, users=60, pieces=request.param)
    sizes = f"--level-sizes {LONGEST[request.param]},10,5"
    train(data, folder / "save", f"{SMALL} {sizes} --max-update 30")
    counted = run(f"mtn-count-next --train {text}/train --output {folder}/counts")
    assert re.search(r"[\d,]+ pairs: [\d,]+ queries after [\d,]+ contexts", counted.stderr)
    flags = f"--model {folder}/save/checkpoint_last.pt --data {data} --counts {folder}/counts"
    fitted = run(f"mtn-fit-ranker {flags} --valid {text}/valid --output {folder}/ranker")
    # Progress ends with the last step, and there is no other output.
    said = re.findall(r"^mtn-fit-ranker: (.+)$", fitted.stderr, re.MULTILINE)
    assert len(said) == len(fitted.stderr.splitlines())
    for what in ("pairs", "6 learners fitted"):
        assert any(line.endswith(f" of {what}") or line.endswith(f" {what}") for line in said)
    return text, data, flags, folder, fitted.stdout


def suggested(parts, flags, tmp_path, name="suggest.log"):
    text, *_ = parts
    done = run(f"mtn-suggest {flags} --test {text}/test --nbest 5")
    (tmp_path / name).write_text(done.stdout, encoding="utf-8")
    return read_system(str(tmp_path / name))


def test_a_ranked_test_set_can_be_scored(parts, tmp_path):
    text, _, flags, folder, _ = parts
    log = suggested(parts, f"{flags} --ranker {folder}/ranker", tmp_path)
    assert log.nbest == 5
    for pair in log.pairs:
        assert len(set(pair.ranked)) == len(pair.ranked) <= 5
        assert not any("<unk>" in ranked or "▁" in ranked for ranked in pair.ranked)
    # Suggestions include earlier queries of the session, but never the last one.
    sessions = [pair.session.split(" <q> ") for pair in log.pairs]
    assert any(set(pair.ranked) & set(each) for pair, each in zip(log.pairs, sessions))
    assert not any(each[-1] in pair.ranked for pair, each in zip(log.pairs, sessions))
    run(f"mtn-yardstick echo --test {text}/test")
    run(f"mtn-evaluate all={tmp_path}/suggest.log --test {text}/test --json {tmp_path}/scores.json")
    (system,) = json.loads((tmp_path / "scores.json").read_text())["systems"]
    assert system["raw"]["mrr@3"] > 0 and system["nbest"] == 5


def test_the_report_has_every_source(parts):
    *_, report = parts
    rows = [line[:20].strip() for line in report.splitlines()]
    without = [f"… without {source}" for source in SOURCES if source != HISTORY]  # nobody has any
    assert rows[:-1] == ["as strangers", "no ranker", "ranker", *without]
    assert re.fullmatch(r"Too few pairs to judge sources: \d+ of 1,000\.", report.splitlines()[-1])


def test_counts_alone_equal_the_yardstick(parts, tmp_path):
    """Without other sources and the ranker: the lists of `mtn-yardstick`, without the last query
    and misspelt ones."""
    text, _, _, folder, _ = parts
    counts = f"--counts {folder}/counts --without edits,history,session"
    found = suggested(parts, counts, tmp_path)
    yardstick = run(f"mtn-yardstick last --train {text}/train --test {text}/test --nbest 10")
    misspelt = NextQueries.open(folder / "counts").misspelt
    (tmp_path / "last.log").write_text(yardstick.stdout, encoding="utf-8")
    both = zip(found.pairs, read_system(f"{tmp_path}/last.log").pairs)
    second = [(one, other) for one, other in both if " <q> " not in one.session]
    assert any(len(one.ranked) > 1 for one, _ in second)
    for one, other in second:
        left_out = {one.session, *misspelt}
        expected = [text for text in other.ranked if text not in left_out][:5]
        assert one.ranked == (expected or [""])


def test_single_sessions(parts):
    *_, flags, folder, _ = parts
    asked = f"mtn-suggest {flags} --ranker {folder}/ranker --nbest 3"
    done = run(f"{asked} --session 'paris hotels <q> london'")
    assert done.stderr == ""  # no INFO lines of libraries
    one = done.stdout
    typed = run(asked, stdin="paris hotels <q> london\n\n").stdout
    assert typed == one + "\n"
    lines = one.splitlines()
    assert len(lines) == 4 and lines[-1] == ""
    for line in lines[:-1]:
        score, source, rule, text = line.split("\t")
        assert float(score) >= 0 and source in SOURCES and rule == LIKELY and text


def test_the_beam_is_that_of_fairseq_generate(parts, tmp_path, request):
    """The beam alone, unranked, with any words; without `<unk>` and the last query. Without a
    table, nothing is known to be a fragment."""
    _, data, _, folder, _ = parts
    longest = LONGEST[request.node.callspec.params["parts"]]
    flags = f"--model {folder}/save/checkpoint_last.pt --data {data} --without session,history"
    found = suggested(parts, f"{flags} --beam 5", tmp_path)
    done = run(
        f"fairseq-generate {data} {PLUGIN} --path {folder}/save/checkpoint_last.pt --cpu --beam 5"
        f" --nbest 5 --max-len-b {longest}"
    )
    (tmp_path / "generate.log").write_text(done.stdout, encoding="utf-8")
    for one, other in zip(found.pairs, read_system(f"{tmp_path}/generate.log").pairs):
        last = one.session.split(" <q> ")[-1]
        expected = [text for text in other.ranked if text and text != last]
        assert one.ranked == (list(dict.fromkeys(expected)) or [""])


def test_errors_are_one_line(parts, tmp_path):
    _, data, flags, folder, _ = parts
    for arguments, message in {
        f"--counts {tmp_path}": "it has no header.json",
        f"{flags} --ranker {tmp_path}": "no ranker: it has no header.json",
        f"--counts {folder}/counts --ranker {folder}/ranker": "the ranker was fitted with a model",
        f"--model {data.parent}/log.tsv --data {data}": "no checkpoint at all",
        f"--model {folder}/save/checkpoint_last.pt": "give --model and --data together",
    }.items():
        done = run(f"mtn-suggest {arguments} --session paris", status=1)
        assert message in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr
    for arguments in ("", "--counts x --without moon", "--counts x --test t --session s"):
        assert "usage: mtn-suggest" in run(f"mtn-suggest {arguments}", status=2).stderr


def test_a_reader_that_has_seen_enough(parts):
    text, _, _, folder, _ = parts
    done = subprocess.run(
        f"{BIN}/mtn-suggest --counts {folder}/counts --test {text}/test | head -1",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert len(done.stdout.splitlines()) == 1 and "Traceback" not in done.stderr
