"""`… | head -1` is not an error, for any command."""

import subprocess

import pytest
from processes import BIN, PATIENCE, ROOT, run

ARGUMENTS = {
    "mtn-architectures": "",
    "mtn-evaluate": "echo={folder}/echo.log --test {folder}/test",
    "mtn-yardstick": "echo --test {folder}/test",
}


@pytest.mark.parametrize("reader", ["head -1", "true"])  # `true` ends before the first line
@pytest.mark.parametrize("command", ARGUMENTS)
def test_a_reader_that_has_seen_enough(tmp_path, command, reader):
    if command != "mtn-architectures":
        for ending in ("session", "next"):  # exceeds the buffer of a pipe
            (tmp_path / f"test.{ending}").write_text("a\n" * 20_000)
    if command == "mtn-evaluate":
        log = run(f"mtn-yardstick echo --test {tmp_path}/test")
        (tmp_path / "echo.log").write_text(log.stdout)
    arguments = ARGUMENTS[command].format(folder=tmp_path)
    done = subprocess.run(
        f"{BIN}/{command} {arguments} | {reader}",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert len(done.stdout.splitlines()) == (1 if reader == "head -1" else 0)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
