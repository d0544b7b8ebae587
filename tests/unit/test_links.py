"""Links in all committed Markdown files: the file and the heading exist."""

import re
import runpy
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^( *)(```|~~~).*?^ *\2[^\n]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
ATTRIBUTE = re.compile(r"""(?:href|src|srcset)=["']([^"']+)["']""")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)  # https:, mailto:


def markdown_files():
    """The committed files; without git, those outside hidden and generated folders."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        ).stdout.splitlines()
        return sorted(ROOT / name for name in listed if (ROOT / name).is_file())
    except (OSError, subprocess.CalledProcessError):
        return sorted(
            path
            for path in ROOT.rglob("*.md")
            if not any(part.startswith(".") or part == "runs" for part in path.parts)
        )


def without_code(text):
    return FENCE.sub("", text)


def links(text):
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", without_code(text))
    found = LINK.findall(text) + ATTRIBUTE.findall(text)
    return [target for target in found if not ELSEWHERE.match(target)]


def anchor(heading):
    """The anchor that GitHub makes from a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@lru_cache(maxsize=None)
def anchors(path):
    found = []
    for heading in HEADING.findall(without_code(path.read_text(encoding="utf-8"))):
        name = anchor(heading)
        before = found.count(name)
        found.append(name)
        if before:
            found.append(f"{name}-{before}")
    return frozenset(found)


def broken(path):
    """The broken links of a file."""
    for target in links(path.read_text(encoding="utf-8")):
        name, _, place = target.partition("#")
        linked = (path.parent / name) if name else path
        if not linked.exists() or (place and place not in anchors(linked)):
            yield target


def names(path):
    return path.relative_to(ROOT).as_posix()


def test_links_are_recognised(tmp_path):
    (tmp_path / "other.md").write_text("# A `b` c: d\n## Twice\n## Twice\n```\n# no heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#a-b-c-d) [c](#here) [d](https://x.org/no) `[e](code.md)`\n"
        "[f](gone.md) ![g](gone.png) [h](other.md#no-heading) [i](other.md#twice-1)\n"
        '<source srcset="gone.svg"> <img src="other.md">\n'
        "# Here\n```\n[j](fenced.md)\n```\n"
    )
    assert list(broken(page)) == ["gone.md", "gone.png", "other.md#no-heading", "gone.svg"]


@pytest.mark.parametrize("path", markdown_files(), ids=names)
def test_links(path):
    assert not list(broken(path))


def test_every_page_of_the_docs_is_linked_from_their_first_page():
    first = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    linked = {name.partition("#")[0] for name in links(first)}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} <= linked | {"index.md"}


@pytest.mark.parametrize("name", ["levels", "results"])
def test_the_pictures_are_what_their_scripts_draw(name):
    """The results are read from committed files: where these change, run the script again."""
    script = runpy.run_path(str(ROOT / f"docs/pictures/{name}.py"))
    for theme, colours in script["THEMES"].items():
        drawn = (ROOT / f"docs/pictures/{name}-{theme}.svg").read_text(encoding="utf-8")
        assert drawn == script["draw"](colours), f"python docs/pictures/{name}.py"
