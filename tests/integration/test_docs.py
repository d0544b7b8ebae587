"""The documentation: the site as `make docs` builds it, and the notebook."""

import json
import os
import re
import subprocess
import sys

import pytest
from command_parsers import entry_points, parsers_of
from optional_parts import need
from processes import ROOT, environment
from site_paths import in_repository, in_site, link_in_site, replace_links

NOTEBOOK = ROOT / "examples/tour.ipynb"
LOADED = re.compile(r"<(?:script|link|img|source)\b[^>]*?(?:src|href|srcset)=[\"']?(?:https?:)?//")


def need_package(name):
    try:
        __import__(name)
    except ImportError as error:
        need("docs", f"{name} cannot be imported: {error}; install the extra [docs]")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of a site, built with the strictness of `make docs`."""
    need_package("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        env=environment({"NO_MKDOCS_2_WARNING": "1"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0 and "WARNING" not in done.stdout, done.stdout[-3000:]
    return folder


def test_the_reference_has_every_command_and_flag(site):
    page = (site / "reference.html").read_text(encoding="utf-8")
    for name in entry_points():
        for parser in parsers_of(name):
            assert f"<code>{parser.prog}</code>" in page
            for flag in {*parser._option_string_actions} - {"-h", "--help", "--version"}:
                assert f"<code>{flag} " in page or f"<code>{flag}</code>" in page
    for flag in ("--level-layers", "--beam-stop", "--copy-attention", "--entropy-weight"):
        assert f"<code>{flag}</code>" in page


def test_no_page_loads_anything_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    assert not [page for page in pages if LOADED.search(page.read_text(encoding="utf-8"))]


def test_files_outside_the_docs_are_in_the_site(site):
    assert (site / "repository/experiments/aol_small/index.html").exists()
    code = (site / "repository/mtn_fairseq/modules/mtn_encoder.py.html").read_text(encoding="utf-8")
    assert "MTNEncoder" in code
    assert 'href="repository/mtn_fairseq/modules/mtn_encoder.py.html"' in (
        site / "model.html"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path",
    [
        "docs/model.md",
        "README.md",
        "examples/tour.ipynb",
        "a/b.py",
        "LICENSE",
        "experiments/x/y.png",
    ],
)
def test_a_path_in_the_site_leads_back_to_its_file(path):
    assert in_repository(in_site(path)) == path


def test_links_lead_from_page_to_page():
    assert link_in_site("docs/model.md", "copying.md") == "copying.md"
    assert link_in_site("docs/model.md", "../README.md") == "repository/README.md"
    assert link_in_site("README.md", "docs/model.md") == "../model.md"
    assert link_in_site("a/README.md", "../b/c.py") == "../b/c.py.md"
    page = (
        '[a](x.md#y) `[b](x.md)` [c](https://d.org) [d](#e)\n```\n[f](x.md)\n```\n<img src="x.md">'
    )
    assert replace_links(page, lambda link: "NEW") == page.replace("(x.md#", "(NEW#").replace(
        '"x.md"', '"NEW"'
    )


def test_the_notebook_is_committed_without_outputs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)


def test_the_notebook_runs(tmp_path):
    """With small settings, from the log to suggestions and two pictures."""
    for package in ("nbclient", "ipykernel", "matplotlib"):
        need_package(package)
    script = (
        "import nbformat, nbclient, sys\n"
        "notebook = nbformat.read(sys.argv[1], 4)\n"
        "nbclient.NotebookClient(notebook, timeout=600, kernel_name='python3').execute()\n"
        "nbformat.write(notebook, sys.argv[2])\n"
    )
    executed = tmp_path / "executed.ipynb"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(NOTEBOOK), str(executed)],
        cwd=tmp_path,
        env={
            **environment({"MTN_TOUR_TINY": "1", "MTN_TOUR_FOLDER": str(tmp_path / "tour")}),
            "IPYTHONDIR": str(tmp_path),
            "JUPYTER_PREFER_ENV_PATH": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    cells = json.loads(executed.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 2
    assert any("mtn" in "".join(output.get("text", "")) for output in outputs)
    assert os.path.exists(tmp_path / "tour/next-queries/header.json")
