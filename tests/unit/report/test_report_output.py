"""mtn-report --output: what it writes, what it removes of an earlier report, what it prints."""

import logging
import os
import threading
from pathlib import Path

import pytest
from processes import PATIENCE
from report_experiments import Experiment, training_log

from mtn_preprocess.errors import InputError
from mtn_report import command
from mtn_report.document import PICTURES, Document, Paragraph, Picture

pytest.importorskip("matplotlib")


@pytest.fixture
def experiment(tmp_path):
    yield Experiment(tmp_path)
    logging.disable(logging.NOTSET)  # the command assumes its own process


def write(experiment, output="out"):
    command.main([experiment.write(), "--output", str(experiment.folder / output)])


@pytest.fixture
def drawn(monkeypatch):
    """Replaces the report: tests choose its pictures, and none are drawn."""
    names = list(PICTURES)
    monkeypatch.setattr(
        command,
        "build_document",
        lambda manifest: Document("a", [Picture(name, b"new", "alt") for name in names]),
    )
    monkeypatch.setattr(command, "to_html", lambda document: "")
    return names


def test_pictures_of_an_earlier_report_are_removed(experiment, drawn, capfd):
    write(experiment)
    out = experiment.folder / "out"
    others = ["mine.png", "attention.png.txt", "curves.svg"]
    for name in others:
        (out / name).write_bytes(b"mine")
    capfd.readouterr()
    drawn[:] = ["bleu", "curves-others"]
    write(experiment)
    ours = ["bleu.png", "curves-others.png", "report.html", "report.md"]
    assert sorted(path.name for path in out.iterdir()) == sorted(others + ours)
    said = capfd.readouterr().err.splitlines()
    gone = ["positions", "curves", "attention"]
    assert said == [
        f"mtn-report: removed {out}/{name}.png, from an earlier report" for name in gone
    ]


def test_a_failed_report_keeps_the_earlier_one(experiment, drawn):
    write(experiment)
    out = experiment.folder / "out"
    before = sorted(path.name for path in out.iterdir())
    experiment.manifest["systems"][0]["group"] = "mian"
    with pytest.raises(InputError):
        write(experiment)
    assert sorted(path.name for path in out.iterdir()) == before


def test_a_picture_with_sample_queries_is_removed(experiment, capfd):
    out = experiment.folder / "out"
    out.mkdir()
    (out / "attention.png").write_bytes(b"queries")
    write(experiment)
    assert sorted(path.name for path in out.glob("*.png")) == ["bleu.png", "positions.png"]


@pytest.mark.parametrize(
    "output, reason",
    [
        ("/proc/x/y", r"/proc/x/y: cannot be written \(.+\); choose another --output"),
        ("report.json", "report.json: not a folder; choose another --output"),
        ("report.json/x", "report.json/x: not a folder; choose another --output"),
        ("x" * 300, r"cannot be written \(File name too long\); choose another --output"),
    ],
)
def test_output_that_cannot_be_written_is_reported_before_the_work(
    experiment, monkeypatch, output, reason
):
    if output.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("no /proc")
    monkeypatch.setattr(command, "build_document", lambda manifest: pytest.fail("the work"))
    with pytest.raises(InputError, match=reason):
        write(experiment, output)


@pytest.mark.parametrize("name", ["report.md", "report.html", "curves.png"])
def test_a_folder_in_the_place_of_a_file_is_refused(experiment, monkeypatch, name):
    (experiment.folder / "out" / name).mkdir(parents=True)
    monkeypatch.setattr(command, "build_document", lambda manifest: pytest.fail("the work"))
    with pytest.raises(
        InputError, match=rf"out/{name}: is a folder, not a file; remove it, or choose another"
    ):
        write(experiment)


def test_a_new_folder_is_created_only_on_success(experiment, monkeypatch):
    def fail(manifest):
        assert not (experiment.folder / "new").exists()
        raise InputError("wrong", "mend it")

    monkeypatch.setattr(command, "build_document", fail)
    with pytest.raises(InputError, match="wrong"):
        write(experiment, "new/out")
    assert not (experiment.folder / "new").exists()


def test_links_stay_and_pipes_are_written_into(experiment, drawn):
    out, elsewhere = experiment.folder / "out", experiment.folder / "elsewhere"
    for folder in (out, elsewhere):
        folder.mkdir()
    (elsewhere / "page").write_text("an older one")
    (out / "report.md").symlink_to(elsewhere / "page")
    (out / "bleu.png").symlink_to(elsewhere / "new.png")
    os.mkfifo(out / "curves.png")
    read = []
    reader = threading.Thread(
        target=lambda: read.append((out / "curves.png").read_bytes()), daemon=True
    )
    reader.start()
    write(experiment)
    assert (out / "curves.png").is_fifo()
    reader.join(timeout=PATIENCE)
    assert read == [b"new"]
    assert (out / "report.md").is_symlink() and (out / "bleu.png").is_symlink()
    assert (elsewhere / "page").read_text(encoding="utf-8").startswith("# a")
    assert (elsewhere / "new.png").read_bytes() == b"new"
    assert sorted(path.name for path in elsewhere.iterdir()) == ["new.png", "page"]


@pytest.mark.parametrize("name", ["report.json", "scores.json", "stats.json", "test.next"])
def test_no_input_is_overwritten(experiment, monkeypatch, name):
    experiment.manifest.update(stats="stats.json", test="test", sample_lines=[1])
    experiment.write()
    before = (experiment.folder / name).read_bytes()
    (experiment.folder / "out").mkdir()
    (experiment.folder / "out/positions.png").symlink_to(experiment.folder / name)
    monkeypatch.setattr(command, "build_document", lambda manifest: pytest.fail("the work"))
    with pytest.raises(InputError, match=r"out/positions\.png: one of the files to read; "):
        write(experiment)
    assert (experiment.folder / name).read_bytes() == before


def test_letters_missing_in_the_font_are_reported_once(experiment, capfd):
    write(experiment)
    assert capfd.readouterr().err == ""
    experiment.mtn["label"] = "模型"
    (experiment.folder / "train.log").write_text(training_log([3, 2]), encoding="utf-8")
    experiment.mtn["runs"][0]["training_log"] = "train.log"
    write(experiment)
    said = capfd.readouterr().err
    assert said.startswith(
        "mtn-report: the font of the pictures lacks some letters, which appear as boxes"
    )
    assert said.count("\n") == 1


def test_names_that_are_not_utf_8_are_written(experiment, monkeypatch):
    text = Document("a", [Paragraph("Evaluated: mtn\udcff.")])
    monkeypatch.setattr(command, "build_document", lambda manifest: text)
    write(experiment)
    for page in ("report.md", "report.html"):
        assert "mtn?." in (experiment.folder / "out" / page).read_text(encoding="utf-8")
