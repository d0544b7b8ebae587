"""`mtn-sample-log` on the command line, with good and bad values."""

import gzip
import json
import os
import select
import threading
import tty

import pytest
from processes import PATIENCE
from sample_log_helpers import pairs_of, sessions_of

from mtn_sample_log import LogWriter, read_pairs
from mtn_sample_log.cli import main
from mtn_sample_log.writer import HEADER

pytestmark = pytest.mark.unit


def write_pairs(stem, pairs):
    with open(f"{stem}.session", "w") as sources, open(f"{stem}.next", "w") as targets:
        for prefix, following in pairs:
            sources.write(" <q> ".join(prefix) + "\n")
            targets.write(following + "\n")


def error_of(capsys):
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    return err


def test_output_is_the_log(tmp_path, capsys):
    plain, packed = tmp_path / "log.txt", tmp_path / "log.txt.gz"
    options = ["--users", "4", "--seed", "2", "--output"]
    assert [main([*options, str(path)]) for path in (plain, packed)] == [0, 0]
    assert main(options[:-1]) == 0
    text = capsys.readouterr().out
    assert text == HEADER + "\n" + "".join(row.line() for row in LogWriter(2).rows(4))
    assert plain.read_text() == text
    assert gzip.decompress(packed.read_bytes()).decode() == text
    again = tmp_path / "again.gz"
    main([*options, str(again)])
    assert again.read_bytes() == packed.read_bytes()
    assert len(list(tmp_path.iterdir())) == 3


def test_progress(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("mtn_sample_log.cli.PROGRESS_EVERY", 2)
    assert main(["--users", "5", "--output", str(tmp_path / "log"), "--progress"]) == 0
    assert capsys.readouterr().err.count("of 5 users") == 2


@pytest.mark.parametrize("stop", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("name", ["log.txt", "log.gz"])
def test_never_half_written(tmp_path, capsys, monkeypatch, stop, name):
    whole = LogWriter.rows_of_user

    def breaks(self, number):
        if number == 3:
            raise stop
        return whole(self, number)

    (tmp_path / name).write_text("what was there")
    monkeypatch.setattr(LogWriter, "rows_of_user", breaks)
    assert main(["--users", "5", "--output", str(tmp_path / name)]) != 0
    error_of(capsys)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "what was there"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--users", "0"], "--users: must be at least 1, not 0"),
        (["--users", "many"], "--users: 'many' is not a whole number"),
        (["--seed", "-1"], "--seed: "),
        (["--unknown"], "--unknown"),
        (["yardstick"], "PREFIX"),
    ],
)
def test_bad_options(capsys, options, reason):
    with pytest.raises(SystemExit) as stop:
        main(options)
    assert stop.value.code == 2
    assert reason in error_of(capsys)


def test_bad_output(tmp_path, capsys):
    assert main(["--users", "1", "--output", str(tmp_path / "missing" / "log")]) == 1
    assert "missing" in error_of(capsys)


# --- targets of the output name
# --------------------------------------------------------------------


@pytest.fixture(params=["log", "log.gz"])
def written(request, tmp_path):
    """(name, expected content)"""
    plain = tmp_path / "elsewhere" / request.param
    plain.parent.mkdir()
    assert main(["--users", "2", "--output", str(plain)]) == 0
    content = plain.read_bytes()
    plain.unlink()
    return request.param, content


def write(path):
    assert main(["--users", "2", "--output", str(path)]) == 0


@pytest.mark.parametrize("before", [None, b"an older one"])
def test_a_link_stays_a_link(tmp_path, written, before):
    name, content = written
    target, link = tmp_path / "elsewhere" / name, tmp_path / name
    if before is not None:
        target.write_bytes(before)
    link.symlink_to(target)
    write(link)
    assert link.is_symlink() and target.read_bytes() == content
    assert [path.name for path in target.parent.iterdir()] == [name]


def test_a_pipe_is_written_into(tmp_path, written):
    name, content = written
    pipe, read = tmp_path / name, []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe)
    assert pipe.is_fifo()
    reader.join(timeout=PATIENCE)
    assert read == [content]


def test_a_device_is_written_into(tmp_path, written):
    """A terminal, through a link, so that a bug cannot destroy a device of the system."""
    name, content = written
    reader, terminal = os.openpty()
    tty.setraw(terminal)
    (tmp_path / name).symlink_to(os.ttyname(terminal))
    writer = threading.Thread(target=write, args=[tmp_path / name], daemon=True)
    writer.start()
    read = b""
    while len(read) < len(content) and select.select([reader], [], [], PATIENCE)[0]:
        read += os.read(reader, 4096)
    writer.join(timeout=PATIENCE)
    assert read == content and (tmp_path / name).is_symlink()
    for descriptor in (reader, terminal):
        os.close(descriptor)


def test_appending_to_a_file_keeps_its_content(tmp_path, capfd):
    """`--output /dev/stdout >> log`"""
    with open(tmp_path / "log", "ab") as kept, pytest.MonkeyPatch.context() as patch:
        kept.write(b"kept")
        kept.flush()
        same = os.fstat(kept.fileno())
        stat = os.stat
        patch.setattr(os, "stat", lambda path, **more: same if path == 1 else stat(path, **more))
        assert main(["--users", "2", "--output", str(tmp_path / "log")]) == 1
    assert "standard output goes there, too" in error_of(capfd)
    assert (tmp_path / "log").read_bytes() == b"kept"


def test_a_full_disk_is_a_one_line_error(tmp_path, capfd, written):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    link = tmp_path / written[0]
    link.symlink_to("/dev/full")
    assert main(["--users", "2", "--output", str(link)]) == 1
    reason = "cannot be written (No space left on device); make room, and run it again"
    assert error_of(capfd).endswith(f"{link}: {reason}\n")
    assert link.is_symlink()


def test_help_shows_defaults(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "(default: 2000)" in text
    assert "yardstick" in text


def test_yardstick(tmp_path, capsys):
    pairs = pairs_of(sessions_of(LogWriter(1).rows(30)))
    write_pairs(tmp_path / "test", pairs)
    assert main(["yardstick", str(tmp_path / "test")]) == 0
    assert f"{len(pairs)} pairs" in capsys.readouterr().out
    assert main(["yardstick", str(tmp_path / "test"), "--json"]) == 0
    rates = json.loads(capsys.readouterr().out)
    assert rates["pairs"] == len(pairs)
    assert rates["actual_whole_session"] > rates["actual_last_query"]


def test_only_the_current_session_counts(tmp_path):
    (tmp_path / "a.session").write_text("rome <q> rome map <session> london <q> paris\nlondon\n")
    (tmp_path / "a.next").write_text("london to paris\nlondon map\n")
    assert list(read_pairs(str(tmp_path / "a"))) == [
        (["london", "paris"], "london to paris"),
        (["london"], "london map"),
    ]


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (b"london\nparis\n", b"london map\n", "a.next:2: line missing"),
        (b"london\n", b"london map\nparis\n", "a.session:2: line missing"),
        (b"london\nl\xff\n", b"london map\nparis\n", "a.session:2: not UTF-8"),
        (b"london\nunheard of\n", b"london map\nparis\n", "a.session:2: not a session"),
        (b"london\n<q>\n", b"london map\nparis\n", "a.session:2: only separators"),
        (b"", b"", "no pairs"),
    ],
)
def test_bad_pairs(tmp_path, capsys, source, target, reason):
    (tmp_path / "a.session").write_bytes(source)
    (tmp_path / "a.next").write_bytes(target)
    assert main(["yardstick", str(tmp_path / "a")]) == 1
    assert reason in error_of(capsys)


def test_impossible_pairs_are_counted(tmp_path, capsys):
    write_pairs(tmp_path / "a", [(["london"], "london map"), (["london"], "unheard of")])
    assert main(["yardstick", str(tmp_path / "a"), "--skip-impossible"]) == 0
    assert "1 pairs, 1 skipped" in capsys.readouterr().out


def test_missing_files(tmp_path, capsys):
    assert main(["yardstick", str(tmp_path / "none")]) == 1
    assert "none.session" in error_of(capsys)
