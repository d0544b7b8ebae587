"""Where a file of the repository is found in the site, and links between the two.

Pages link to files outside of docs/ by relative paths, as GitHub wants it. In the site these files
stand under repository/: Markdown and pictures as they are, everything else as a page of its text.
"""

import posixpath
import re
from pathlib import Path
from typing import Callable

OUTSIDE = "repository"
_AS_IT_IS = (".md", ".png", ".svg")
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:|^#", re.IGNORECASE)
_LINK = re.compile(
    r"(?P<code>^ *(```|~~~).*?^ *\2[^\n]*$|`[^`\n]*`)"
    r"|(?P<before>\]\(|\b(?:src|srcset|href)=\")(?P<target>[^)\s\"]+)",
    re.MULTILINE | re.DOTALL,
)


def in_site(path: str) -> str:
    """The place in the site of a path of the repository."""
    folder, _, inside = path.partition("/")
    if folder == "docs":
        return inside
    return posixpath.join(OUTSIDE, path if Path(path).suffix in _AS_IT_IS else f"{path}.md")


def in_repository(place: str) -> str:
    """The path in the repository of a place in the site."""
    if not place.startswith(f"{OUTSIDE}/"):
        return posixpath.join("docs", place)
    path = posixpath.relpath(place, OUTSIDE)
    stem = path[: -len(".md")]
    return stem if path.endswith(".md") and (Path(stem).suffix or stem == "LICENSE") else path


def replace_links(markdown: str, replace: Callable[[str], str]) -> str:
    """The page with every relative link outside of code replaced; anchors stay."""

    def replaced(found: "re.Match[str]") -> str:
        target = found["target"]
        if target is None or _ELSEWHERE.match(target):
            return found[0]
        path, mark, anchor = target.partition("#")
        return found["before"] + replace(path) + mark + anchor

    return _LINK.sub(replaced, markdown)


def resolve(page: str, link: str) -> str:
    """The path in the repository that a link of a page (a path in the repository) leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def link_in_site(page: str, link: str) -> str:
    """The same link, as it has to be in the site."""
    start = posixpath.dirname(in_site(page))
    return posixpath.relpath(in_site(resolve(page, link)), start or ".")
