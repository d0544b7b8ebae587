"""`mtn-suggest` with counts only: typed lines, Ctrl-C, invalid bytes."""

import json
import signal
import sys

import pytest
from processes import PATIENCE, run, start_with_pipes

SUGGEST = f"{sys.executable} -m mtn_serving.commands.suggest"
COUNT = f"{sys.executable} -m mtn_serving.commands.count_next"


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counts")
    (folder / "train.session").write_text("paris\nparis\n")
    (folder / "train.next").write_text("london\nrome\n")
    run(f"{COUNT} --train {folder}/train --output {folder}/table")
    return f"--counts {folder}/table"


def test_each_typed_line_is_answered(counts):
    """Blank ones and separators alone by an empty line: answer n is that of line n."""
    answer = "0.0000\tcounts\tin turn\tlondon\n-1.0000\tcounts\tin turn\trome\n\n"
    typed = "\n  \n<q>\nParis\r\nnever-seen\n\n<q> paris <q>"
    found = run(f"{SUGGEST} {counts} --nbest 1000", stdin=typed).stdout
    assert found == f"\n\n\n{answer}\n\n{answer}"
    assert run(f"{SUGGEST} {counts}", stdin="").stdout == ""


def test_each_typed_line_has_an_object(counts):
    typed = "\n  \n<q>\nParis\r\nnever\rseen\n\n<q> paris <q>"
    found = run(f"{SUGGEST} {counts} --json --verify", stdin=typed).stdout
    objects = [json.loads(line) for line in found.splitlines()]
    assert [len(each["suggestions"]) for each in objects] == [0, 0, 0, 2, 2, 0, 2]
    assert objects[4]["session"] == "never seen"


def test_a_table_that_was_damaged(tmp_path):
    """Entries that are read are always checked; the whole table with --verify and a test set."""
    for ending, line in {"session": "paris\n", "next": "london\n"}.items():
        (tmp_path / f"train.{ending}").write_text(line)
    run(f"{COUNT} --train {tmp_path}/train --output {tmp_path}/table")
    letters = tmp_path / "table" / "queries_letters.npy"
    letters.write_bytes(letters.read_bytes()[:-1] + b"\xff")
    whole = f"{letters}: damaged (its checksum is another); run mtn-count-next again"
    for flags, line in {
        "--session paris": f"{tmp_path}/table: damaged; run mtn-count-next again",
        "--session paris --verify": whole,
        f"--test {tmp_path}/train": whole,
    }.items():
        done = run(f"{SUGGEST} --counts {tmp_path}/table {flags}", status=1)
        assert done.stderr.splitlines() == [line]


def test_bytes_that_are_not_text(counts):
    with start_with_pipes(f"{SUGGEST} {counts}") as process:
        found, said = process.communicate(b"paris\ncaf\xe9 x\nparis\n", timeout=PATIENCE)
    assert process.returncode == 1
    assert said.decode().splitlines() == [
        "-:2: not UTF-8 at byte 4 of the line; convert it, for example with "
        "`iconv -f latin1 -t utf-8`"
    ]
    texts = [line.split("\t")[-1] for line in found.decode().splitlines()]
    assert texts == ["london", "rome", ""]


def test_interrupted(counts):
    """Answers come immediately, and Ctrl-C exits silently."""
    with start_with_pipes(f"{SUGGEST} {counts}") as process:
        process.stdin.write(b"paris\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"0.0000\tcounts\tin turn\tlondon\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT
    assert b"Traceback" not in said and b"Interrupt" not in said


@pytest.mark.parametrize(
    "flags, status, message",
    [
        ("--session '<q>'", 1, "a session without a query; give at least one"),
        ("--session paris --without counts,edits,history,session", 2, "--without leaves no source"),
        ("--session paris --nbest 0", 2, "argument --nbest"),
        ("--session paris --gpu --model none.pt --data none", 1, "leave out --gpu"),
    ],
)
def test_errors_are_one_line(counts, flags, status, message):
    done = run(f"{SUGGEST} {counts} {flags}", status=status, CUDA_VISIBLE_DEVICES="")
    assert message in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_closed_output(counts):
    done = run(f"sh -c '{SUGGEST} {counts} --session paris >&-'", status=1)
    assert "standard output is closed" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_closed_input(counts):
    done = run(f"sh -c '{SUGGEST} {counts} <&-'", status=1)
    assert "standard input is closed; leave it open" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_what_may_be_shown(tmp_path):
    """Two people issued every query but `secret`; each flag allows or forbids one suggestion."""
    nexts = ["tea", "tea", "xxx", "xxx", "555 1234", "555 1234", "secret"]
    (tmp_path / "train.session").write_text("paris\n" * len(nexts))
    (tmp_path / "train.next").write_text("".join(f"{each}\n" for each in nexts))
    (tmp_path / "train.user").write_text("1\n2\n1\n2\n1\n2\n1\n")
    (tmp_path / "blocked").write_text("/t.a/\n")
    (tmp_path / "test.session").write_text("paris\n")
    (tmp_path / "test.next").write_text("tea\n")
    run(f"{COUNT} --train {tmp_path}/train --output {tmp_path}/table --min-users 1")
    suggest = f"{SUGGEST} --counts {tmp_path}/table"
    for flags, expected in {
        "": ["tea"],
        f"--block-list {tmp_path}/blocked": [],
        "--explicit allow": ["tea", "xxx"],
        "--personal-data allow": ["555 1234", "tea"],
        "--min-users 1": ["tea", "secret"],
    }.items():
        found = run(f"{suggest} {flags} --session paris").stdout.splitlines()[:-1]
        assert [line.split("\t")[-1] for line in found] == expected
    said = run(f"{suggest} --test {tmp_path}/test").stderr
    reasons = "few users 1, block list 0, explicit 1, abuse 0, personal data 1, mask 0"
    assert said.endswith(f"mtn-suggest: 3 candidates held back: {reasons}\n")
