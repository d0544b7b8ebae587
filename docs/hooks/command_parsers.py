"""The argparse parser of each of the project's commands, taken from the command itself.

A command builds its parser and then parses its arguments. `parser_of` stops it between the two.
"""

import argparse
import importlib
import re
from pathlib import Path
from typing import Any, Dict, List, NoReturn, Sequence, Tuple
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
_ENTRY = re.compile(r'"(mtn-[\w-]+) *= *([\w.]+):(\w+)"')

# Commands with a second parser that argparse does not know as a sub-command.
_WORDS_BEFORE_FLAGS = {"mtn-sample-log": [["yardstick"]]}


class _Built(BaseException):
    """Not an Exception: a command may turn those into messages."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def entry_points() -> Dict[str, Tuple[str, str]]:
    """Commands of setup.py in alphabetic order, each with its module and function."""
    found = _ENTRY.findall((ROOT / "setup.py").read_text(encoding="utf-8"))
    return {name: (module, function) for name, module, function in sorted(set(found))}


def parser_of(command: str, words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser that a command would use for these words."""
    module, function = entry_points()[command]
    main = getattr(importlib.import_module(module), function)

    def stop(parser: argparse.ArgumentParser, *unused: Any, **unused_too: Any) -> NoReturn:
        raise _Built(parser)

    with mock.patch.object(argparse.ArgumentParser, "parse_known_args", stop):
        try:
            main(list(words))
        except _Built as built:
            built.parser.prog = command if not words else built.parser.prog
            return built.parser
    raise LookupError(f"{command} parses no arguments")


def parsers_of(command: str) -> List[argparse.ArgumentParser]:
    """The parser of a command, then those of its sub-commands."""
    parser = parser_of(command)
    return [
        parser,
        *subparsers(parser).values(),
        *(parser_of(command, words) for words in _WORDS_BEFORE_FLAGS.get(command, [])),
    ]


def subparsers(parser: argparse.ArgumentParser) -> Dict[str, argparse.ArgumentParser]:
    """By name; empty for a command without sub-commands."""
    return {
        name: sub
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, sub in action.choices.items()
    }
