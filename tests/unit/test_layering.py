"""Who may import whom: each part of the package can be read, and used, with what it names only."""

import ast
import sys
from pathlib import Path

import pytest

import mtn_fairseq
import mtn_preprocess

PACKAGE = Path(mtn_fairseq.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Part of the package (folder, or file beside the folders) -> (ours, fairseq's) that it may import.
# A part may always import itself.
ALLOWED = {
    "errors": ([], []),
    # how commands read and write: JSON, files by name, standard input and output
    "files": (["errors"], []),
    # data for the checks of text that fairseq-preprocess does not ask a task for
    "compat": (["checkpoints", "data"], ["fairseq"]),
    "checkpoints": (["errors"], ["fairseq"]),
    "flags": (["errors"], []),
    # fairseq.dataclass for the flags of a --bpe, which fairseq keeps among its data too
    "data": (["errors"], ["fairseq.data", "fairseq.dataclass", "fairseq.tokenizer"]),
    # fairseq.distributed for `fsdp_wrap`, which fairseq's own makers of layers end with
    # data for the words that no dictionary has; fairseq's incremental states have no package
    "modules": (
        ["data"],
        [
            "fairseq.modules",
            "fairseq.models",
            "fairseq.distributed",
            "fairseq.utils",
            "fairseq.incremental_decoding_utils",
        ],
    ),
    "models": (["modules", "errors", "flags"], ["fairseq"]),
    "criterions": ([], ["fairseq"]),
    "optim": ([], ["fairseq"]),
    # modules for what beam search moves along, and for what is copied
    "generation": (["modules"], ["fairseq"]),
    # data for what is scored: the words of session text, whether in pieces or not
    "scoring": (["data", "errors", "files"], ["fairseq"]),
    "tasks": (["data", "generation", "errors", "flags"], ["fairseq"]),
    # modules to tell an MTN from others, and what its session level attends to
    "report": (["data", "scoring", "modules", "errors", "files"], ["fairseq"]),
    # report for how a checkpoint is loaded, models to tell ours from fairseq's, generation for how
    # a search is kept from saying `<unk>`
    "suggestions": (
        [
            "data",
            "modules",
            "models",
            "generation",
            "scoring",
            "report",
            "errors",
            "files",
            "flags",
        ],
        ["fairseq"],
    ),
    "cli": (
        ["data", "scoring", "models", "report", "suggestions", "errors", "files", "flags"],
        ["fairseq"],
    ),
    "sample_log": (["data", "files"], []),
}
# Beyond the standard library; the parts not named here may import torch, numpy and omegaconf.
THIRD_PARTY = {
    "errors": [],
    "files": [],
    "flags": [],
    "sample_log": [],
    "report": ["numpy", "matplotlib"],
    # whole_folder, which is standard library only, writes their folders whole or not at all
    "suggestions": ["numpy", "torch", "lightgbm", "mtn_preprocess.whole_folder"],
}


def part_of(path):
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path):
    """Full names of all modules that a file imports, wherever in it."""
    package = ["mtn_fairseq", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            # `from fairseq import tokenizer` imports a module of that name; what `from
            # fairseq.data import Dictionary` imports is in fairseq.data.
            if name.count(".") == 0:
                yield from (f"{name}.{alias.name}" for alias in node.names)
            else:
                yield name


def is_within(name, allowed):
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in allowed)


def names(path):
    return path.relative_to(PACKAGE).as_posix()


def test_there_is_something_to_look_at():
    assert {"errors.py", "modules/mtn_encoder.py", "models/mtn.py"} <= set(map(names, MODULES))
    found = set(imports(PACKAGE / "data" / "session_dictionary.py"))
    assert {"fairseq.tokenizer", "mtn_fairseq.errors", "mtn_fairseq.data.session_text"} <= found


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_imports(path):
    part = part_of(path)
    if part == "__init__":
        return  # the package itself imports all that is registered
    ours, fairseqs = ALLOWED[part]
    ours = [f"mtn_fairseq.{name}" for name in (part, *ours)]
    others = THIRD_PARTY.get(part, ["torch", "numpy", "omegaconf", "sacrebleu", "sentencepiece"])
    for name in imports(path):
        top = name.partition(".")[0]
        if top == "mtn_fairseq":
            assert is_within(name, ours), f"{part} may not import {name}"
        elif top == "fairseq":
            assert is_within(name, fairseqs), f"{part} may not import {name}"
        elif not is_standard(top):
            assert is_within(name, others), f"{part} may not import {name}"


def test_what_writes_folders_needs_the_standard_library_only():
    path = Path(mtn_preprocess.__file__).parent / "whole_folder.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    found += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    assert found and all(is_standard(name.partition(".")[0]) for name in found)


def is_standard(name):
    names = getattr(sys, "stdlib_module_names", None)  # Python 3.10
    return name in names if names is not None else name not in ("torch", "numpy", "omegaconf")


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_nobody_imports_tasks(path):
    if path != PACKAGE / "__init__.py" and part_of(path) != "tasks":
        assert not any(is_within(name, ["mtn_fairseq.tasks"]) for name in imports(path))


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_imports_within_the_package_are_relative(path):
    """`--user-dir` names the package after its folder, whatever that is called."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    absolute = [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level
    ]
    absolute += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    assert not [name for name in absolute if is_within(name, ["mtn_fairseq"])]


def test_the_package_imports_everything_that_is_registered():
    """fairseq scans tasks/ and models/ only, and in no order."""
    imported = {
        alias.name
        for node in ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    registering = {
        path.stem for path in MODULES if "\n@register_" in path.read_text(encoding="utf-8")
    }
    assert {"mtn", "session_to_query"} <= registering <= imported
