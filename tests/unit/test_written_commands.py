"""Commands in docs, examples and errors must work in any folder."""

import argparse
import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest
from command_parsers import entry_points, parser_of, subparsers
from written_commands import LEFT_OUT, blocks, commands, spans

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(
            path
            for folder in (
                "docs",
                "evaluation",
                "examples",
                "experiments",
                "mtn_fairseq",
                "preprocess",
                "report",
                "sample_log",
                "serving",
            )
            for path in sorted((ROOT / folder).rglob("*"))
        ),
    )
    if path.suffix in (".md", ".py", ".sh", ".sbatch", ".yaml")
}
PAGES = [name for name in TEXTS if name.endswith(".md")]
# A folder that exists only in the clone, and a package that is not on PyPI.
BROKEN = re.compile(r"""user[-_]dir[ =](\$PWD/)?mtn_fairseq|pip install ['"]?mtn[-_]fairseq""")
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_no_command_needs_the_clone_or_a_missing_package():
    assert len(TEXTS) > 100
    assert not [name for name, text in TEXTS.items() if BROKEN.search(text)]


def test_install_commands_match_setup_py():
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    lines = [line for text in TEXTS.values() for line in text.splitlines() if "pip install" in line]
    told = {package for line in lines for package in re.findall(r"'([\w-]+>=[\d.]+)'", line)}
    assert len(told) >= 7 and all(f'"{package}"' in setup for package in told), told


@lru_cache(maxsize=None)
def parser(command, first_word):
    """The parser for a command followed by this word; abbreviated flags are not allowed."""
    second = first_word == "yardstick" and command == "mtn-sample-log"
    found = parser_of(command, [first_word] if second else [])
    for each in (found, *subparsers(found).values()):
        each.allow_abbrev = False
    return found


def fault(words):
    """Why a command does not work; None if it does."""
    command, *rest = words
    if command == "make":
        targets = [word for word in rest if re.fullmatch(r"[a-z-]+", word)]
        return next((f"no target {word}" for word in targets if word not in TARGETS), None)
    if command.startswith("fairseq-"):
        return _fault_of_fairseq(command, rest)
    if command not in entry_points():
        return f"no command {command}"
    known = parser(command, rest[0] if rest else "")
    if any(map(LEFT_OUT.fullmatch, rest)):
        return _unknown_flag(known, rest)
    return _parsed(lambda: known.parse_args(rest[len(known.prog.split()) - 1 :]))


def _parsed(parse):
    try:
        parse()
    except (SystemExit, argparse.ArgumentTypeError) as error:
        return "" if getattr(error, "code", 1) in (0, None) else "arguments that do not parse"
    return None


def _unknown_flag(known, words):
    parsers = (known, *subparsers(known).values())
    flags = {flag for each in parsers for flag in each._option_string_actions}
    told = [word.partition("=")[0] for word in words if word.startswith("--")]
    return next((f"no flag {flag}" for flag in told if flag not in flags), None)


def _fault_of_fairseq(command, words):
    from fairseq import options

    import mtn_fairseq  # noqa: F401  registers the task and the architectures

    known = {
        "fairseq-preprocess": options.get_preprocessing_parser,
        "fairseq-train": options.get_training_parser,
        "fairseq-generate": options.get_generation_parser,
        "fairseq-validate": options.get_validation_parser,
        "fairseq-interactive": lambda: options.get_generation_parser(interactive=True),
    }.get(command)
    if known is None:
        return None if command == "fairseq-hydra-train" else f"no command {command}"
    words = [
        "0" if word.startswith("$") else word  # loop variables stand for numbers
        for word in words
        if word not in ("--user-dir", "FILE", "…")
    ]
    if command == "fairseq-preprocess":
        return _parsed(lambda: known().parse_args(words))
    words += [] if "--task" in words else ["--task", "session_to_query"]
    words += ["--arch", "mtn"] if command == "fairseq-train" and "--arch" not in words else []
    return _parsed(lambda: options.parse_args_and_arch(known(), words))


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_a_page_parses(page, capsys):
    faults = [
        (" ".join(words), wrong, capsys.readouterr().err[-300:])
        for block in blocks(TEXTS[page], "", "bash", "sh")
        for words in commands(block)
        for wrong in [fault(words)]
        if wrong
    ]
    assert not faults


@pytest.mark.parametrize("page", PAGES)
def test_every_command_in_a_sentence_has_these_flags(page):
    faults = []
    for span in spans(TEXTS[page]):
        command, *rest = span.split()
        if command.startswith("mtn-"):
            known = command in entry_points()
            first = next(iter(rest), "")
            wrong = _unknown_flag(parser(command, first), rest) if known else "no such command"
            faults += [(span, wrong)] if wrong else []
    assert not faults


@pytest.mark.parametrize("page", PAGES)
def test_python_on_a_page_is_python_and_its_imports_work(page):
    for block in blocks(TEXTS[page], "python"):
        tree = ast.parse(block)
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        exec(compile(ast.Module(imports, type_ignores=[]), page, "exec"), {})


def test_commands_are_split_like_in_a_shell():
    block = (
        "# a comment\n"
        "OMP_NUM_THREADS=1 fairseq-train data-bin \\\n    --lr 1 …   # and more\n"
        "fairseq-generate x --path 'a | b' | mtn-evaluate --test t m=- c=<(mtn-yardstick last)\n"
        "$(which fairseq-train) y > train.log\n"
        "a line that mtn-evaluate printed\n"
    )
    assert list(commands(block)) == [
        ["fairseq-train", "data-bin", "--lr", "1", "…"],
        ["mtn-yardstick", "last"],
        ["fairseq-generate", "x", "--path", "a | b"],
        ["mtn-evaluate", "--test", "t", "m=-", "c=FILE"],
        ["fairseq-train", "y"],
    ]


@pytest.mark.parametrize(
    "line",
    [
        "mtn-evaluat --test x",
        "mtn-evaluate --test x --trian y m=z",
        "mtn-evaluate … --trian y",
        "fairseq-train data-bin --level-size 1",
        "fairseq-generate data-bin --no-such-flag",
        "make no-such-target",
    ],
)
def test_broken_commands_are_found(line):
    [words] = commands(line)
    assert fault(words)
