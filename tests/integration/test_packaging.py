"""The wheel: its contents, its metadata, and its installation elsewhere."""

import os
import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
FILES_OF_THE_BUILD = ["setup.py", "pyproject.toml", "README.md", "LICENSE"]
NEEDED_BY_ALL = ["numpy", "sacrebleu", "sentencepiece", "torch"]
NEEDED_TO_EXPORT = ["onnx", "onnxruntime"]  # not on Python 3.8, which serves with torch only
SCRIPTS = {
    "mtn-architectures",
    "mtn-bundle",
    "mtn-check-text",
    "mtn-complete",
    "mtn-count-next",
    "mtn-evaluate",
    "mtn-events",
    "mtn-export",
    "mtn-fit-ranker",
    "mtn-judge",
    "mtn-log-to-sessions",
    "mtn-report",
    "mtn-sample-log",
    "mtn-serve",
    "mtn-suggest",
    "mtn-user-dir",
    "mtn-yardstick",
}
PACKAGES = {
    "mtn_evaluation": "evaluation/mtn_evaluation",
    "mtn_fairseq": "mtn_fairseq",
    "mtn_preprocess": "preprocess/mtn_preprocess",
    "mtn_report": "report/mtn_report",
    "mtn_sample_log": "sample_log/mtn_sample_log",
    "mtn_serving": "serving/mtn_serving",
}


def run(*command, cwd, **env):
    """Run a command outside the source tree; a failure shows its output."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the sources without access to torch or fairseq."""
    work = tmp_path_factory.mktemp("wheel")
    source, without_torch = work / "source", work / "without_torch"
    skip = shutil.ignore_patterns("__pycache__")
    for folder in (*PACKAGES.values(), "tests"):
        shutil.copytree(ROOT / folder, source / folder, ignore=skip)
    for name in FILES_OF_THE_BUILD:
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source)

    without_torch.mkdir()
    for name in ["torch", "fairseq"]:
        (without_torch / f"{name}.py").write_text(f"raise ImportError('{name} in the build')\n")
    pip_wheel = ["pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", work]
    run(sys.executable, "-m", *pip_wheel, source, cwd=work, PYTHONPATH=str(without_torch))
    (built,) = work.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def read(wheel):
    """A function that returns the text of a file in the wheel's dist-info."""

    def read_dist_info(name):
        with zipfile.ZipFile(wheel) as archive:
            (path,) = [n for n in archive.namelist() if n.endswith(f".dist-info/{name}")]
            return archive.read(path).decode("utf-8")

    return read_dist_info


def test_wheel_has_the_complete_packages_and_nothing_else(wheel):
    expected = {
        f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
        for package, folder in PACKAGES.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == expected
    assert {f"{package}/py.typed" for package in PACKAGES} <= packed


def test_wheel_is_plain_python(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")


def test_the_citation_has_the_version_of_the_package(read):
    version = Parser().parsestr(read("METADATA"))["Version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_metadata_tell_an_index_what_this_is(read):
    metadata = Parser().parsestr(read("METADATA"))
    assert "MIT" in (metadata["License-Expression"], metadata["License"])
    assert {"fairseq", "query suggestion"} <= set(metadata["Keywords"].split(","))
    assert "Topic :: Internet :: WWW/HTTP :: Indexing/Search" in metadata.get_all("Classifier")
    paper = dict(each.split(", ") for each in metadata.get_all("Project-URL"))["Paper"]
    assert f"url: {paper}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_command_has_a_console_script(read):
    entry_points = ConfigParser()
    entry_points.read_string(read("entry_points.txt"))
    scripts = dict(entry_points["console_scripts"])
    assert set(scripts) == SCRIPTS
    modules = {target.split(":")[0] for target in scripts.values()}
    commands = {
        f"{package}.{path.relative_to(ROOT / folder).with_suffix('').as_posix().replace('/', '.')}"
        for package, folder in PACKAGES.items()
        for path in (ROOT / folder).rglob("*.py")
        if "\ndef main(" in path.read_text(encoding="utf-8")
    }
    assert modules == commands
    for target in scripts.values():
        module, function = target.split(":")
        package, *path = module.split(".")
        source = ROOT.joinpath(PACKAGES[package], *path).with_suffix(".py")
        source = source.read_text(encoding="utf-8")
        assert f"\ndef {function}(" in source, target


@pytest.mark.parametrize(
    ("python", "fairseq"),
    [
        ("3.8", "fairseq==0.12.2"),
        ("3.10", "fairseq==0.12.2"),
        ("3.11", "fairseq-fixed==0.12.3.1"),
        ("3.13", "fairseq-fixed==0.12.3.1"),
    ],
)
def test_each_python_gets_one_fairseq(read, python, fairseq):
    required = requirements(read("METADATA"), python)
    assert [f"{r.name}{r.specifier}" for r in required if "fairseq" in r.name] == [fairseq]
    needed = [*NEEDED_BY_ALL, *(NEEDED_TO_EXPORT if python != "3.8" else [])]
    assert sorted(r.name for r in required if "fairseq" not in r.name) == sorted(needed)


@pytest.mark.parametrize("python", ["3.10", "3.11"])
def test_constraints_pin_all_requirements(read, python):
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            if holds(pin, python):
                assert pin.name not in pins, f"{pin.name} is pinned twice for Python {python}"
                (specifier,) = pin.specifier
                assert specifier.operator == "==" and "+" not in specifier.version, line
                pins[pin.name] = specifier.version

    for extra in ["", "dev", "preprocess", "spark", "ranker", "report", "serve", "docs", "bench"]:
        for requirement in requirements(read("METADATA"), python, extra):
            assert requirement.name in pins, f"{requirement.name} has no pin for Python {python}"
            assert pins[requirement.name] in requirement.specifier


def test_user_dir_of_an_installed_wheel(wheel, tmp_path):
    site = tmp_path / "site"
    pip_install = ["pip", "install", "--no-deps", "--no-index", "--target", site]
    run(sys.executable, "-m", *pip_install, wheel, cwd=tmp_path)
    printed = run(sys.executable, site / "bin" / "mtn-user-dir", cwd=tmp_path, PYTHONPATH=str(site))
    # Exactly one line: the output is part of another command, `--user-dir "$(mtn-user-dir)"`.
    assert printed == f"{site / 'mtn_fairseq'}\n"
    assert (site / "mtn_fairseq" / "__init__.py").is_file()


def test_user_dir_of_a_checkout_that_is_not_installed():
    """The plugin finds the rooms that it needs beside it."""
    program = """
import sys
from argparse import Namespace

sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
from fairseq.tasks import TASK_REGISTRY
from fairseq.utils import import_user_module

import_user_module(Namespace(user_dir=sys.argv[1]))
print("session_to_query" in TASK_REGISTRY, sys.modules["mtn_preprocess"].__file__)
"""
    said = run(sys.executable, "-c", program, ROOT / "mtn_fairseq", cwd="/", PYTHONPATH="")
    assert said.splitlines()[-1] == f"True {ROOT}/preprocess/mtn_preprocess/__init__.py"


def requirements(metadata, python, extra=""):
    """The requirements of the metadata that hold for a Python version and an extra."""
    stated = Parser().parsestr(metadata).get_all("Requires-Dist")
    return [r for r in map(Requirement, stated) if holds(r, python, extra)]


def holds(requirement, python, extra=""):
    marker = requirement.marker
    return marker is None or marker.evaluate({"python_version": python, "extra": extra})
