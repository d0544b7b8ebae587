"""The layering: each part imports only what it lists, so it can be read and used alone.

Between rooms, imports point from later rooms to earlier ones. Within the plugin, each folder lists
what it needs. CONTRIBUTING.md draws the same picture.
"""

import ast
import sys

import pytest
from processes import ROOT

ROOMS = {
    "mtn_preprocess": "preprocess/mtn_preprocess",
    "mtn_sample_log": "sample_log/mtn_sample_log",
    "mtn_evaluation": "evaluation/mtn_evaluation",
    "mtn_fairseq": "mtn_fairseq",
    "mtn_serving": "serving/mtn_serving",
    "mtn_report": "report/mtn_report",
}
MODULES = sorted(path for folder in ROOMS.values() for path in (ROOT / folder).rglob("*.py"))

# Room, or part of one -> packages it may import besides itself and the standard library. The
# longest matching name counts.
TEXT_LAYER = ("mtn_preprocess.errors", "mtn_preprocess.files", "mtn_preprocess.text")
COMMANDS = (*TEXT_LAYER, "mtn_preprocess.commands")
ARROW = ("numpy", "pyarrow")
TORCH = ("torch", "numpy", "omegaconf")
ALLOWED = {
    # before fairseq
    "mtn_preprocess": ("mtn_preprocess", *ARROW, "sentencepiece", "tqdm"),
    "mtn_preprocess.engines": ("mtn_preprocess", *ARROW, "duckdb", "pyspark"),
    "mtn_preprocess.errors": (),
    "mtn_preprocess.files": ("mtn_preprocess.errors",),
    "mtn_preprocess.text": ("mtn_preprocess.errors", "mtn_preprocess.files", "sentencepiece"),
    "mtn_preprocess.commands": TEXT_LAYER,
    "mtn_sample_log": COMMANDS,
    "mtn_evaluation": (*COMMANDS, "numpy", "sacrebleu"),
    # the plugin
    "mtn_fairseq.__main__": ("fairseq",),
    "mtn_fairseq.description": (),
    "mtn_fairseq.flags": TEXT_LAYER,
    "mtn_fairseq.checkpoints": (*TEXT_LAYER, *TORCH, "fairseq"),
    # fairseq.dataclass for the flags of a --bpe, which fairseq also keeps in its data package
    "mtn_fairseq.data": (
        *TEXT_LAYER,
        *TORCH,
        "fairseq.data",
        "fairseq.dataclass",
        "fairseq.tokenizer",
    ),
    # data for words outside the dictionary; fairseq.distributed for `fsdp_wrap`, which fairseq's
    # layer builders call last; its incremental states are in no package
    "mtn_fairseq.modules": (
        "mtn_fairseq.data",
        *TORCH,
        "fairseq.modules",
        "fairseq.models",
        "fairseq.distributed",
        "fairseq.utils",
    ),
    # what a decoder points at, and what follows a beam
    "mtn_fairseq.copying": (
        "mtn_fairseq.data",
        "mtn_fairseq.modules",
        *TORCH,
        "fairseq.models",
        "fairseq.incremental_decoding_utils",
    ),
    "mtn_fairseq.models": (
        *TEXT_LAYER,
        *TORCH,
        "mtn_fairseq.copying",
        "mtn_fairseq.modules",
        "mtn_fairseq.checkpoints",
        "mtn_fairseq.description",
        "mtn_fairseq.flags",
        "fairseq",
    ),
    "mtn_fairseq.criterions": (*TORCH, "fairseq"),
    "mtn_fairseq.optim": (*TORCH, "fairseq"),
    "mtn_fairseq.generation": (
        *TEXT_LAYER,
        *TORCH,
        "mtn_fairseq.modules",
        "mtn_fairseq.copying",
        "fairseq",
    ),
    "mtn_fairseq.scoring": (*TEXT_LAYER, *TORCH, "mtn_evaluation", "fairseq"),
    "mtn_fairseq.tasks": (
        *TEXT_LAYER,
        *TORCH,
        "mtn_fairseq.copying",
        "mtn_fairseq.data",
        "mtn_fairseq.generation",
        "mtn_fairseq.description",
        "mtn_fairseq.flags",
        "fairseq",
    ),
    # data for text checks that fairseq-preprocess does not request from a task
    "mtn_fairseq.compat": (
        *TEXT_LAYER,
        *TORCH,
        "mtn_fairseq.checkpoints",
        "mtn_fairseq.data",
        "fairseq",
    ),
    # after fairseq
    "mtn_serving": (*COMMANDS, "mtn_evaluation", "numpy", "lightgbm"),
    "mtn_serving.trees": ("mtn_preprocess.errors", "numpy", "onnxruntime"),
    "mtn_serving.bundle": (*TEXT_LAYER, "mtn_serving", "numpy"),
    "mtn_serving.bundle.tree_graph": (
        "mtn_preprocess.errors",
        "mtn_serving.trees",
        "numpy",
        "onnx",
    ),
    # an exported model, without torch
    "mtn_serving.onnx_engine": (*TEXT_LAYER, "mtn_serving.engine", "numpy", "onnxruntime"),
    # the two modules that use the plugin
    "mtn_serving.export": (
        *TEXT_LAYER,
        *TORCH,
        "mtn_serving.onnx_engine",
        "mtn_fairseq",
        "fairseq",
        "onnx",
    ),
    "mtn_serving.torch_engine": (
        *TEXT_LAYER,
        *TORCH,
        "mtn_serving.engine",
        "mtn_fairseq",
        "fairseq",
    ),
    # HTTP around a suggester
    "mtn_serving.service": (
        *TEXT_LAYER,
        "mtn_serving",
        "numpy",
        "fastapi",
        "starlette",
        "pydantic",
        "uvicorn",
        "prometheus_client",
    ),
    "mtn_report": (*COMMANDS, "mtn_evaluation", "numpy", "matplotlib"),
    # these modules read checkpoints
    "mtn_report.registered": (*TEXT_LAYER, *TORCH, "mtn_fairseq", "fairseq"),
    "mtn_report.trained_models": ("mtn_fairseq",),
    "mtn_report.attention": (*TEXT_LAYER, "numpy", "mtn_report.samples", "mtn_fairseq"),
}


def module_of(path):
    """The module of a file, such as `mtn_fairseq.data.batching`."""
    for package, folder in ROOMS.items():
        if (ROOT / folder) in path.parents:
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            return ".".join([package, *(part for part in parts if part != "__init__")])
    raise AssertionError(path)


def imports(path):
    """Full names of all modules that a file imports, anywhere in it."""
    package = module_of(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            # `from fairseq import tokenizer` imports a module of that name, but `from fairseq.data
            # import Dictionary` imports a class in fairseq.data.
            if name.count(".") == 0:
                yield from (f"{name}.{alias.name}" for alias in node.names)
            else:
                yield name


def is_within(name, allowed):
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in allowed)


def rule_for(module):
    return max((name for name in ALLOWED if is_within(module, [name])), key=len)


def names(path):
    return path.relative_to(ROOT).as_posix()


def test_modules_and_imports_are_found():
    found = set(map(module_of, MODULES))
    assert {"mtn_preprocess.errors", "mtn_fairseq.models.mtn", "mtn_serving.suggester"} <= found
    found = set(imports(ROOT / "mtn_fairseq/data/session_dictionary.py"))
    assert "fairseq.tokenizer" in found and "mtn_fairseq.data.spelled_words" in found
    assert "mtn_preprocess.text.session_text" in found
    assert rule_for("mtn_serving.torch_engine.trained_model") == "mtn_serving.torch_engine"


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_imports(path):
    module = module_of(path)
    if module == "mtn_fairseq":
        return  # the plugin itself imports everything registered
    rule = rule_for(module)
    allowed = (rule, *ALLOWED[rule])
    for name in imports(path):
        if not is_standard(name.partition(".")[0]):
            assert is_within(name, allowed), f"{rule} may not import {name}"


def is_standard(name):
    known = getattr(sys, "stdlib_module_names", None)  # Python 3.10
    if known is not None:
        return name in known
    return not name.startswith("mtn_") and name not in ("torch", "numpy", "fairseq", "omegaconf")


def test_no_room_imports_a_later_one():
    """Rooms are listed in the order of the data flow."""
    order = list(ROOMS)
    for path in MODULES:
        room = module_of(path).partition(".")[0]
        for name in imports(path):
            other = name.partition(".")[0]
            if other in order:
                assert order.index(other) <= order.index(room), f"{names(path)} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_no_module_imports_tasks(path):
    if module_of(path) != "mtn_fairseq" and "tasks" not in path.parts:
        assert not any(is_within(name, ["mtn_fairseq.tasks"]) for name in imports(path))


PLUGIN = [path for path in MODULES if module_of(path).startswith("mtn_fairseq")]


@pytest.mark.parametrize("path", PLUGIN, ids=names)
def test_imports_within_the_plugin_are_relative(path):
    """`--user-dir` names the package after its folder, whatever the folder's name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    absolute = [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level
    ]
    absolute += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    assert not [name for name in absolute if is_within(name, ["mtn_fairseq"])]


def test_the_plugin_imports_everything_that_is_registered():
    """fairseq scans only tasks/ and models/, in no defined order."""
    init = (ROOT / "mtn_fairseq/__init__.py").read_text(encoding="utf-8")
    imported = {
        alias.name
        for node in ast.parse(init).body
        if isinstance(node, ast.ImportFrom) and node.level and node.module
        for alias in node.names
    }
    registering = {
        path.stem for path in PLUGIN if "\n@register_" in path.read_text(encoding="utf-8")
    }
    assert {"mtn", "session_to_query"} <= registering <= imported


def test_every_room_has_a_table_of_contents():
    for package, folder in ROOMS.items():
        text = (ROOT / folder / "__init__.py").read_text(encoding="utf-8")
        contents = ast.get_docstring(ast.parse(text))
        for path in (ROOT / folder).iterdir():
            if path.name != "__init__.py" and (
                path.suffix == ".py" or (path / "__init__.py").is_file()
            ):
                assert path.stem in contents, f"{package} does not tell of {path.stem}"
