"""`… | head -1` is no error to tell anybody about, whatever the command."""

import subprocess
import sys

import pytest
from processes import ROOT, run

ARGUMENTS = {
    "architectures": "",
    "evaluate": "echo={folder}/echo.log --test {folder}/test",
    "yardstick": "echo --test {folder}/test",
}


@pytest.mark.parametrize("reader", ["head -1", "true"])  # `true` is gone before the first line
@pytest.mark.parametrize("command", ARGUMENTS)
def test_a_reader_that_has_seen_enough(tmp_path, command, reader):
    if command != "architectures":
        for ending in ("session", "next"):  # more than a pipe holds
            (tmp_path / f"test.{ending}").write_text("a\n" * 20_000)
    if command == "evaluate":
        log = run(f"{sys.executable} -m mtn_fairseq.cli.yardstick echo --test {tmp_path}/test")
        (tmp_path / "echo.log").write_text(log.stdout)
    arguments = ARGUMENTS[command].format(folder=tmp_path)
    done = subprocess.run(
        f"{sys.executable} -m mtn_fairseq.cli.{command} {arguments} | {reader}",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert len(done.stdout.splitlines()) == (1 if reader == "head -1" else 0)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
