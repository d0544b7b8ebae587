"""Where `mtn-evaluate` writes, and how it fails if it cannot read or write."""

import json
import os
import subprocess
import sys
import threading

import pytest
from processes import PATIENCE, PYTHONPATH
from scoring_logs import Answer, write_log, write_text

from mtn_evaluation.commands.evaluate import main
from mtn_preprocess.errors import InputError
from mtn_preprocess.files import result_file
from mtn_preprocess.files.result_file import check_result_file, write_result_file
from mtn_preprocess.files.standard_streams import standard_output

TRUTH = [Answer("a", "b c", ["b c"]), Answer("a <q> b c", "a d", ["a d"])]
LONG = "x" * 300  # longer than any file name may be


@pytest.fixture
def text(tmp_path):
    for split in ("test", "train"):
        write_text(tmp_path / split, TRUTH)
    (tmp_path / "test.user").write_text("1\n2\n")
    (tmp_path / "dict.next.txt").write_text("a 9\nb 9\nc 9\nd 9\n")
    for name in ("model", "unk", "reference"):
        write_log(tmp_path / f"{name}.log", TRUTH)
    (tmp_path / "results").mkdir()
    write_log(tmp_path / "results/generate-test.txt", TRUTH)
    return tmp_path


def evaluate_to(folder, scores):
    main([f"m={folder}/model.log", "--test", f"{folder}/test", "--json", str(scores)])


def evaluate_in_shell(folder, rest, m="model.log"):
    """Run the command as a process in the folder."""
    command = f"{sys.executable} -m mtn_evaluation.commands.evaluate m={m} --test test {rest}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def error_line(ended):
    """The only error line, apart from the notes."""
    assert ended.returncode == 1, ended.stderr
    lines = [line for line in ended.stderr.splitlines() if not line.startswith("mtn-evaluate: ")]
    assert len(lines) == 1, ended.stderr
    return lines[0]


# --- where --json writes --------------------------------------------------------------------------


def test_a_link_stays_a_link(text):
    (text / "elsewhere").mkdir()
    for target, before in (("old.json", "old"), ("new.json", None)):
        place, link = text / "elsewhere" / target, text / f"to-{target}"
        if before:
            place.write_text(before)
        link.symlink_to(place)
        evaluate_to(text, link)
        assert link.is_symlink() and json.loads(place.read_text())["systems"]
    assert sorted(path.name for path in (text / "elsewhere").iterdir()) == ["new.json", "old.json"]


def test_a_pipe_is_written_into(text):
    pipe = text / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    evaluate_to(text, pipe)
    reader.join(timeout=PATIENCE)
    assert pipe.is_fifo() and json.loads(read[0])["systems"]


def test_devices_and_the_shells_pipes_are_written_into(text):
    ended = evaluate_in_shell(text, "--json /dev/stdout")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("{\n") and "BLEU" in ended.stdout.partition("\n}\n")[2]
    ended = evaluate_in_shell(text, "--json >(cat > copy) > tables; wait $!; cat copy")
    assert json.loads(ended.stdout)["systems"], ended.stderr


INPUTS = [
    "model.log",
    "unk.log",
    "reference.log",
    "results/generate-test.txt",
    "test.session",
    "test.next",
    "test.user",
    "train.session",
    "train.next",
    "dict.next.txt",
]


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("name", INPUTS)
def test_no_input_is_overwritten(text, name, linked):
    before = (text / name).read_bytes()
    scores = text / name
    if linked:
        scores = text / "link"
        scores.symlink_to(text / name)
    flags = [
        "--test",
        f"{text}/test",
        "--train",
        f"{text}/train",
        "--dict",
        f"{text}/dict.next.txt",
    ]
    flags += ["--perplexity", f"m={text}/reference.log", "--with-unk", f"m={text}/unk.log"]
    with pytest.raises(InputError, match="one of the files to read"):
        main([f"m={text}/model.log", f"n={text}/results", *flags, "--json", str(scores)])
    assert (text / name).read_bytes() == before


def test_neither_standard_input_nor_output_is_overwritten(text):
    before = (text / "model.log").read_bytes()
    ended = evaluate_in_shell(text, "--json model.log < model.log", m="-")
    assert "one of the files to read" in error_line(ended)
    assert (text / "model.log").read_bytes() == before
    for scores in ("/dev/stdout", "tables"):
        ended = evaluate_in_shell(text, f"--json {scores} > tables")
        assert "standard output goes there, too" in error_line(ended)


@pytest.mark.parametrize("name", ["/proc/x.json", "", LONG, f"{LONG}/x.json", "model.log/x.json"])
def test_output_that_cannot_be_written_is_reported_before_the_work(text, name):
    place = name and str(text / name)
    with pytest.raises(InputError, match="cannot be written"):
        main(["m=no such log", "--test", f"{text}/test", "--json", place])


def test_missing_permission_is_reported_before_the_work(text):
    (text / "locked").mkdir()
    (text / "kept.json").write_text("kept")
    for path in ("locked", "kept.json"):
        (text / path).chmod(0o555)
    if os.access(text / "locked", os.W_OK):
        pytest.skip("root may write everywhere")
    for name in ("locked/scores.json", "kept.json"):
        with pytest.raises(InputError, match="cannot be written"):
            main(["m=no such log", "--test", f"{text}/test", "--json", str(text / name)])
    assert (text / "kept.json").read_text() == "kept"


def test_permission_is_checked(text, monkeypatch):
    """The same for root, who has all permissions."""
    (text / "kept.json").write_text("kept")
    monkeypatch.setattr(result_file.os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match=r"cannot be written \(no permission\)"):
        check_result_file(str(text / "kept.json"), [])


def test_a_name_of_maximum_length(text):
    scores = text / ("y" * 250 + ".json")
    evaluate_to(text, scores)
    assert json.loads(scores.read_text())["systems"]


def test_nothing_is_left_of_an_incomplete_file(text, monkeypatch):
    before = sorted(text.iterdir())
    check_result_file(str(text / "scores.json"), [])

    def disk_is_full(old, new):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(result_file.os, "replace", disk_is_full)
    with pytest.raises(InputError, match=r"cannot be written \(No space left"):
        write_result_file(str(text / "scores.json"), "{}")
    assert sorted(text.iterdir()) == before


# --- what cannot be read, and where the tables go -------------------------------------------------


def test_standard_input_that_is_closed(text, monkeypatch):
    ended = evaluate_in_shell(text, "<&-", m="-")
    assert error_line(ended).startswith("-: standard input is closed;")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        main([f"m={text}/model.log", "--test", f"{text}/test", "--perplexity", "m=-"])
    main([f"m={text}/model.log", "--test", f"{text}/test"])  # standard input is not used


def test_a_full_disk_is_a_one_line_error(text):
    assert "No space left on device" in error_line(evaluate_in_shell(text, "> /dev/full"))


def test_other_errors_are_not_reported_as_a_full_disk(capfd):
    with pytest.raises(PermissionError), standard_output():
        raise PermissionError(13, "Permission denied", "a model")


@pytest.mark.parametrize("given", [LONG, f"m={LONG}", f"{LONG}=model.log"])
def test_names_that_are_too_long(text, given, monkeypatch):
    monkeypatch.chdir(text)
    if given.endswith("model.log"):  # a system name, not a file name
        return main([given, "--test", "test"])
    with pytest.raises(InputError, match=LONG):
        main([given, "--test", "test"])


@pytest.mark.parametrize("flag", ["--test", "--train", "--dict"])
def test_texts_whose_names_are_too_long(text, flag):
    flags = {"--test": f"{text}/test", flag: f"{text}/{LONG}"}
    with pytest.raises(InputError, match=LONG):
        main([f"m={text}/model.log", *(word for pair in flags.items() for word in pair)])


def test_a_file_that_cannot_be_read_is_named(text, monkeypatch):
    def no_permission(*_, **__):
        raise PermissionError(13, "Permission denied", "model.log")

    monkeypatch.setattr("mtn_evaluation.commands.evaluate.evaluate", no_permission)
    with pytest.raises(InputError, match=r"^model\.log: cannot be read \(Permission denied\);"):
        main([f"m={text}/model.log", "--test", f"{text}/test"])


@pytest.mark.parametrize(
    "flags",
    [["m="], [""], ["m=model.log", "--perplexity", "m="], ["m=model.log", "--with-unk", "m="]],
)
def test_a_missing_file_name(text, flags, monkeypatch):
    monkeypatch.chdir(text)
    with pytest.raises(InputError, match="no name of a file; write NAME=FILE"):
        main([*flags, "--test", "test", "--dict", "dict.next.txt"])
