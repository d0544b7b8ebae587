"""A running suggester loads a new version of its bundle, atomically."""

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_next_queries import table_of

from mtn_preprocess.errors import InputError
from mtn_serving import loading
from mtn_serving.commands.export import main as export
from mtn_serving.suggester import Suggester


@pytest.fixture
def bundles(tmp_path):
    """Two bundles: in `old`, `old 1` follows `x` and `old 2` follows `y`; in `new`, `new 1`, …"""
    for name in ("old", "new"):
        sessions = [["x", f"{name} 1"], ["y", f"{name} 2"]] * 3
        table_of(sessions).save(tmp_path / f"counts-{name}")
        export(f"--counts {tmp_path}/counts-{name} --output {tmp_path}/{name}".split())
    shutil.copytree(tmp_path / "old", tmp_path / "served")
    return tmp_path


def update(folder, name):
    export(["--update", str(folder / "served"), "--counts", str(folder / f"counts-{name}")])


def test_parts_without_a_bundle_are_loaded_each_time(bundles):
    suggester = Suggester.load(counts=bundles / "counts-old")
    before = suggester.table
    assert suggester.reload() is True and suggester.table is not before


def first(suggester, query="x"):
    return suggester.suggest([query])[0].text


def test_a_new_version_is_loaded(bundles):
    suggester = Suggester.load(bundles / "served")
    before = suggester.bundle.version
    assert first(suggester) == "old 1" and suggester.reload() is False
    update(bundles, "new")
    assert first(suggester) == "old 1"  # until `reload` is called
    assert suggester.reload() is True
    assert first(suggester) == "new 1" and suggester.bundle.version != before
    assert suggester.reload() is False


def test_a_damaged_bundle_is_refused_and_the_old_one_stays(bundles):
    suggester = Suggester.load(bundles / "served")
    shutil.rmtree(bundles / "served")
    with pytest.raises(InputError, match="no bundle"):
        suggester.reload()
    shutil.copytree(bundles / "new", bundles / "served")
    letters = bundles / "served/next-queries/queries_letters.npy"
    letters.write_bytes(letters.read_bytes()[:-1])
    with pytest.raises(InputError, match="not as long as written"):
        suggester.reload()
    assert first(suggester) == "old 1" and first(suggester, "y") == "old 2"
    shutil.copytree(bundles / "new", bundles / "served", dirs_exist_ok=True)
    assert suggester.reload() and first(suggester) == "new 1"


def test_options_of_loading_stay(bundles):
    (bundles / "blocked").write_text("1\n")
    suggester = Suggester.load(bundles / "served", block_list=bundles / "blocked")
    assert [each.text for each in suggester.suggest(["x"])] == []
    update(bundles, "new")
    suggester.reload()
    assert [each.text for each in suggester.suggest(["x"])] == []
    assert first(suggester, "y") == "new 2"


def test_a_bundle_replaced_during_loading_is_refused(bundles, monkeypatch):
    """Parts of two versions are never combined."""
    opened = loading.Bundle.table

    def table(bundle):
        (bundles / "served").rename(bundles / "gone")
        (bundles / "new").rename(bundles / "served")
        return opened(bundle)

    monkeypatch.setattr(loading.Bundle, "table", table)
    with pytest.raises(InputError, match="was replaced while it was read; load it again"):
        Suggester.load(bundles / "served")


def test_with_threads_every_answer_comes_from_one_version(bundles):
    suggester = Suggester.load(bundles / "served")
    sessions = [["x"], ["y"]] * 8

    def ask(_):
        found = suggester.suggest_many(sessions)
        return {each[0].text.split()[0] for each in found}

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        with ThreadPoolExecutor(4) as threads:
            answers = threads.map(ask, range(200))
            for name in ("new", "old", "new"):
                update(bundles, name)
                suggester.reload()
            seen = list(answers)
    finally:
        sys.setswitchinterval(before)
    assert all(len(each) == 1 for each in seen)
    assert first(suggester) == "new 1"


def test_separate_parts_are_loaded_again_too(bundles):
    suggester = Suggester.load(counts=bundles / "counts-old")
    table_of([["x", "new 1"]] * 3).save(bundles / "counts-old")
    assert suggester.bundle is None and suggester.reload() and first(suggester) == "new 1"
    with pytest.raises(InputError, match=r"was not loaded; make it with Suggester\.load"):
        Suggester(suggester.table).reload()
