"""What can be told of the page from its files: samples that fit the sample log, nothing from
elsewhere, and nothing that a strict Content-Security-Policy or somebody's text could break."""

import json
import re
from pathlib import Path

import pytest

import mtn_serving
from mtn_sample_log import Process

PAGE = Path(mtn_serving.__file__).parent / "page"
SAMPLES = json.loads((PAGE / "samples.json").read_text(encoding="utf-8"))
FILES = sorted(path for path in PAGE.iterdir() if path.suffix in (".html", ".css", ".js", ".svg"))
LAW = Process()

# Text that would be read as markup or code, and what the policy forbids.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    r"|<style|\sstyle=|javascript:|\son[a-z]+=\"|@import|url\("
)


def sessions():
    for sample in SAMPLES:
        yield sample["session"]
        yield from sample.get("history", [])


def test_there_are_a_dozen_samples():
    names = [sample["name"] for sample in SAMPLES]
    assert len(names) == len(set(names)) == 12


@pytest.mark.parametrize("session", list(sessions()), ids=" > ".join)
def test_samples_can_occur_in_the_sample_log(session):
    """Each query can be the next one, by the law of the log, and something comes after the last."""
    assert session[0] in LAW.first_queries()
    for length in range(1, len(session)):
        assert session[length] in LAW.next_queries(session[:length])
    assert LAW.next_queries(session)


def test_the_same_query_is_followed_by_another_where_the_session_is_another():
    """The first two samples: this is what the page is for."""
    likeliest = []
    for sample in SAMPLES[:2]:
        law = LAW.next_queries(sample["session"])
        likeliest.append(max(law, key=law.get))
    assert SAMPLES[0]["session"][-1] == SAMPLES[1]["session"][-1]
    assert likeliest == ["paris hotels", "paris flights"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_markup_code_or_from_elsewhere(path):
    text = path.read_text(encoding="utf-8")
    assert FORBIDDEN.search(text) is None
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "https://HOST", "https://HOST/widget.js"}


def test_all_modules_that_are_imported_are_there():
    for path in FILES:
        for name in re.findall(r"from \"\./([^\"]+)\"", path.read_text(encoding="utf-8")):
            assert (PAGE / name).is_file(), f"{path.name} imports {name}"
