"""The files of the page: nothing loaded from other sites, and nothing that a strict
Content-Security-Policy forbids or typed text could break. The demo's samples fit the sample log."""

import re
from pathlib import Path

import pytest
from processes import ROOT

import mtn_serving
from mtn_sample_log import Process

PAGE = Path(mtn_serving.__file__).parent / "page"
SAMPLES = (ROOT / "examples/sample_log/samples.txt").read_text(encoding="utf-8").splitlines()
FILES = sorted(path for path in PAGE.iterdir() if path.suffix in (".html", ".css", ".js", ".svg"))
LAW = Process()

# Ways to read text as markup or code, and what the policy forbids.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    r"|<style|\sstyle=|javascript:|\son[a-z]+=\"|@import|url\("
)


def sessions():
    for sample in SAMPLES:
        yield from (session.split(" <q> ") for session in sample.split(" <session> "))


def test_there_are_a_dozen_samples():
    assert len(SAMPLES) == len(set(SAMPLES)) == 12


@pytest.mark.parametrize("session", list(sessions()), ids=" > ".join)
def test_samples_can_occur_in_the_sample_log(session):
    """The process of the log can produce each next query, and a query after the last one."""
    assert session[0] in LAW.first_queries()
    for length in range(1, len(session)):
        assert session[length] in LAW.next_queries(session[:length])
    assert LAW.next_queries(session)


def test_the_same_last_query_has_different_next_queries_in_different_sessions():
    """The first two samples show this, the point of the page."""
    first_two = [sample.split(" <q> ") for sample in SAMPLES[:2]]
    laws = map(LAW.next_queries, first_two)
    likeliest = [max(law, key=law.get) for law in laws]
    assert first_two[0][-1] == first_two[1][-1]
    assert likeliest == ["paris hotels", "paris flights"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_markup_no_code_and_nothing_from_other_sites(path):
    text = path.read_text(encoding="utf-8")
    assert FORBIDDEN.search(text) is None
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "https://HOST", "https://HOST/widget.js"}


def test_all_imported_modules_exist():
    for path in FILES:
        for name in re.findall(r"from \"\./([^\"]+)\"", path.read_text(encoding="utf-8")):
            assert (PAGE / name).is_file(), f"{path.name} imports {name}"
