"""What MkDocs does beyond its own when it builds the site (see mkdocs.yml, `make docs`).

Files outside of docs/ that pages link to are added to the site, and the reference is filled in from
the parsers, so that it cannot be out of date.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, List, Set

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from site_paths import in_repository, in_site, link_in_site, replace_links, resolve

ROOT = Path(__file__).resolve().parents[2]
_MARKER = re.compile(r"<!-- generated: (\w+) -->.*?<!-- end -->", re.DOTALL)
_LANGUAGES = {".py": "python", ".sh": "bash", ".sbatch": "bash", ".yaml": "yaml", ".json": "json"}
_NO_SEARCH = "---\nsearch:\n  exclude: true\n---\n"


def on_files(files: Files, config: Any) -> Files:
    """Add what pages link to, and what is linked from there."""
    seen: Set[str] = set()
    todo = [in_repository(file.src_uri) for file in files.documentation_pages()]
    while todo:
        page = todo.pop()
        for path in _links((ROOT / page).read_text(encoding="utf-8"), page):
            if path in seen or path.startswith("docs/"):
                continue
            if not (ROOT / path).is_file():
                raise PluginError(f"{page} links to {path}, which is no file")
            seen.add(path)
            files.append(_file(path, config))
            if path.endswith(".md"):
                todo.append(path)
    return files


def on_page_markdown(markdown: str, page: Any, **unused: Any) -> str:
    path = in_repository(page.file.src_uri)
    filled = _MARKER.sub(lambda found: _generated(found[1]), markdown)
    if not path.endswith((".md", ".ipynb")):  # a page of a file's text has no links
        return filled
    return replace_links(filled, lambda link: link_in_site(path, link))


def _generated(part: str) -> str:
    """In a process of its own: importing fairseq changes the logging of the process."""
    script = Path(__file__).with_name("reference_pages.py")
    words = [sys.executable, "-W", "ignore", str(script), part]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise PluginError(f"{' '.join(words)} failed:\n{done.stderr}")
    return done.stdout


def _links(markdown: str, page: str) -> List[str]:
    found: List[str] = []
    replace_links(markdown, lambda link: found.append(resolve(page, link)) or link)
    return found


def _file(path: str, config: Any) -> File:
    place = in_site(path)
    if place == f"repository/{path}":
        return File.generated(
            config,
            place,
            abs_src_path=str(ROOT / path),
            inclusion=InclusionLevel.NOT_IN_NAV,
        )
    text = (ROOT / path).read_text(encoding="utf-8")
    content = _notebook(text) if path.endswith(".ipynb") else _source(path, text)
    return File.generated(config, place, content=content, inclusion=InclusionLevel.NOT_IN_NAV)


def _source(path: str, text: str) -> str:
    language = _LANGUAGES.get(Path(path).suffix, "text")
    return f"{_NO_SEARCH}# `{path}`\n\n~~~~{language}\n{text.rstrip()}\n~~~~\n"


def _notebook(text: str) -> str:
    """The cells of a notebook: text as it is, code as code, no outputs."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"~~~~python\n{source}\n~~~~")
    return "\n\n".join(parts) + "\n"
