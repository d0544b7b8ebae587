"""Commands without a model do not import torch and fairseq, which take seconds and 400 MB."""

import subprocess
import sys
from importlib import metadata

import pytest
from processes import BIN, environment

HEAVY = ("torch", "fairseq", "sklearn", "scipy", "pandas", "lightgbm", "matplotlib")
SCRIPTS = sorted(path.name for path in BIN.glob("mtn-*"))

# Run a command like its console script, then print the imported modules.
PROGRAM = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as ended:
    assert not ended.code, ended.code
print("imported:", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def imported_by(folder, command, *arguments, stdin=""):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(BIN / command), *map(str, arguments)],
        cwd=folder,
        env=environment({}),
        input=stdin,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split()[1:]), done.stdout


def test_there_are_commands():
    assert len(SCRIPTS) == 17


@pytest.mark.parametrize("command", SCRIPTS)
def test_help_imports_nothing_heavy(tmp_path, command):
    imported, said = imported_by(tmp_path, command, "--help")
    assert said.startswith("usage: ") and command in said
    assert not imported & set(HEAVY)


@pytest.mark.parametrize("command", SCRIPTS)
def test_version_imports_nothing_heavy(tmp_path, command):
    imported, said = imported_by(tmp_path, command, "--version")
    assert said == f"{command} {metadata.version('mtn_fairseq')}\n"
    assert not imported & set(HEAVY)


def test_from_a_log_to_suggestions_by_counts(tmp_path):
    """Preparation, checks, baselines, scores and suggestions by counts: no torch, no fairseq."""
    steps = [
        ("mtn-sample-log", "--users", "60", "--output", "log.tsv"),
        ("mtn-log-to-sessions", "log.tsv", "--output", "text", "--split", "60,20,20"),
        ("mtn-check-text", "text/train", "text/test"),
        ("mtn-user-dir",),
        ("mtn-count-next", "--train", "text/train", "--output", "counts"),
        ("mtn-suggest", "--counts", "counts", "--session", "paris hotels"),
        ("mtn-yardstick", "last", "--train", "text/train", "--test", "text/test"),
    ]
    for step in steps:
        imported, said = imported_by(tmp_path, *step)
        assert not imported & {"torch", "fairseq", "sklearn"}, step
    (tmp_path / "last.log").write_text(said, encoding="utf-8")
    scored = ("last=last.log", "--test", "text/test")
    for step in (
        ("mtn-evaluate", *scored),
        ("mtn-judge", "shares", *scored, "--train", "text/train"),
        ("mtn-judge", "sample", *scored, "--lists", "5", "--output", "form.tsv"),
    ):
        imported, said = imported_by(tmp_path, *step)
        assert not imported & {"torch", "fairseq", "sklearn"}, step
        assert "| last " in said or "sample" in step
    assert len((tmp_path / "form.tsv").read_text(encoding="utf-8").splitlines()) == 1 + 5
