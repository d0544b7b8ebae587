"""From a log with punctuation to suggestions: all commands read typed text like the log."""

import json
import re
import sys

import pytest
from optional_parts import need_lightgbm
from processes import PLUGIN, SMALL, run, train

SETTINGS = {"characters": "symbols", "mask_numbers": True, "mask_emails": False}
TYPED = ("O'Brien 555-1234", "www.eBay.com!", "learn C++")  # all users issue these in this order
READ = ("o'brien <number>", "www.ebay.com", "learn c++")
SESSION = "'O'Brien' 555-9876 <q> WWW.ebay.com?\n"  # read as the first two


def command(name):
    return f"{sys.executable} -m mtn_serving.commands.{name}"


def prepare(folder, name, flags):
    rows = ["AnonID\tQuery\tQueryTime"]
    for user in range(120):
        for second, typed in enumerate(TYPED):
            rows.append(f"{user}\t{typed}\t2006-03-01 10:00:0{second}")
    (folder / "log.tsv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    run(f"mtn-log-to-sessions {folder}/log.tsv --output {folder}/{name} --split 60,20,20 {flags}")
    return folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Text, data, a barely trained model, counts and a ranker, made by the commands."""
    need_lightgbm()
    folder = tmp_path_factory.mktemp("layer")
    text = prepare(folder, "text", "--characters symbols --mask-numbers")
    run(
        f"fairseq-preprocess {PLUGIN} -s session -t next --joined-dictionary"
        f" --trainpref {text}/train --validpref {text}/valid --testpref {text}/test"
        f" --destdir {folder}/data-bin"
    )
    train(folder / "data-bin", folder / "save", f"{SMALL} --max-update 3")
    run(f"{command('count_next')} --train {text}/train --output {folder}/counts")
    run(f"{command('fit_ranker')} {parts(folder)} --valid {text}/valid --output {folder}/ranker")
    return folder


def parts(folder):
    return (
        f"--model {folder}/save/checkpoint_last.pt --data {folder}/data-bin"
        f" --counts {folder}/counts --beam 2"
    )


def test_settings_travel(folder):
    for path in ("text/text.json", "data-bin/text.json"):
        assert json.loads((folder / path).read_text()) == SETTINGS
    assert json.loads((folder / "counts/header.json").read_text())["text"] == SETTINGS
    header = json.loads((folder / "ranker/header.json").read_text())
    assert header["conditions"]["text"] == SETTINGS


def test_typed_and_prepared_sessions_get_the_same_list(folder):
    asked = f"{command('suggest')} {parts(folder)} --ranker {folder}/ranker --json"
    found = run(asked, stdin=f"{SESSION}{READ[0]} <q> {READ[1]}\n").stdout.splitlines()
    assert found[0] == found[1]
    answer = json.loads(found[0])
    assert answer["session"] == f"{READ[0]} <q> {READ[1]}"
    assert answer["suggestions"][0]["text"] == READ[2]


def test_interactive(folder):
    out = run(
        f"fairseq-interactive {folder}/data-bin {PLUGIN} --path {folder}/save/checkpoint_last.pt"
        " --cpu --beam 2",
        stdin=SESSION,
    ).stdout
    assert re.findall(r"^S-0\t(.*)$", out, re.MULTILINE) == [f"{READ[0]} <q> {READ[1]}"]


def test_parts_of_different_text_are_a_one_line_error(folder):
    other = prepare(folder, "other", "")
    assert json.loads((other / "text.json").read_text())["characters"] == "aol"
    run(f"{command('count_next')} --train {other}/train --output {folder}/other-counts")
    asked = f"{command('suggest')} --counts {folder}/other-counts --json --session"
    (found,) = json.loads(run(f"{asked} www.ebay.com --nbest 1").stdout)["suggestions"]
    assert (found["text"], found["query"]) == ("learn c++", "learn c")  # as users typed it
    flags = parts(folder).replace("/counts", "/other-counts")
    remedy = "make both from the same prepared text"
    for line in (
        f"{command('suggest')} {flags} --session ebay",
        f"{command('fit_ranker')} {parts(folder)} --valid {other}/valid --output {folder}/x",
        f"{command('suggest')} {parts(folder)} --test {other}/test",
    ):
        said = run(line, status=1).stderr.splitlines()
        assert said[-1].endswith(remedy) and f"{folder}/data-bin/text.json" in said[-1]
        assert not any("Traceback" in each for each in said)
    done = run(
        f"fairseq-preprocess {PLUGIN} -s session -t next --joined-dictionary"
        f" --srcdict {folder}/data-bin/dict.session.txt --testpref {other}/test"
        f" --destdir {folder}/other-bin",
        status=1,
    )
    assert done.stderr.splitlines()[-1].endswith(remedy)
