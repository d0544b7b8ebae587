"""The reference of every command and flag, as Markdown, made from the parsers and dataclasses.

python docs/hooks/reference_pages.py commands     # or: registered
"""

import argparse
import sys
from dataclasses import MISSING, fields
from typing import Any, Iterable, List, Type

from command_parsers import entry_points, parsers_of, subparsers

PACKAGE = "mtn_fairseq"


def commands() -> str:
    """One section per command: what it does, then a table of its arguments."""
    return "\n".join(_section(parser) for name in entry_points() for parser in parsers_of(name))


def registered() -> str:
    """One section per object that the plugin registers: its own flags for fairseq's commands."""
    return "\n".join(
        f"### `{flag} {name}`\n\n{_table(rows)}"
        for flag, name, config in _configs()
        for rows in [[_field_row(field) for field in fields(config) if _is_ours(config, field)]]
        if rows
    )


def _section(parser: argparse.ArgumentParser) -> str:
    rows = [
        _argument_row(parser, action)
        for action in parser._actions
        if action.dest not in ("help", "version") and action.help != argparse.SUPPRESS
    ]
    for name in subparsers(parser):
        rows = [row for row in rows if row[0] != f"`{name}`"]
    parts = [f"### `{parser.prog}`", _escaped(parser.description or "")]
    parts += [_table(rows)] if rows else []
    parts += [_escaped(parser.epilog)] if parser.epilog else []
    return "\n\n".join(parts) + "\n"


def _argument_row(parser: argparse.ArgumentParser, action: argparse.Action) -> List[str]:
    if isinstance(action, argparse._SubParsersAction):
        return [_code("|".join(action.choices)), "a sub-command; see below"]
    value = _value(action)
    if action.option_strings:
        names = ", ".join(_code(f"{name} {value}".strip()) for name in action.option_strings)
    else:
        names = _code(value)
    # The formatter fills in %(default)s, as for --help.
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return [names + (" *" if action.option_strings and action.required else ""), _escaped(text)]


def _value(action: argparse.Action) -> str:
    """How an argument's value is written in a usage line."""
    if action.nargs == 0:
        return ""
    if action.metavar:
        return action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def _configs() -> Iterable[Any]:
    """Flag, name and dataclass of what the plugin registers."""
    from fairseq.models import MODEL_DATACLASS_REGISTRY
    from fairseq.registry import REGISTRIES
    from fairseq.tasks import TASK_DATACLASS_REGISTRY

    import mtn_fairseq  # noqa: F401  registers everything

    families = {
        "--task": TASK_DATACLASS_REGISTRY,
        "--arch": MODEL_DATACLASS_REGISTRY,
        **{
            f"--{name.replace('_', '-')}": registry["dataclass_registry"]
            for name, registry in sorted(REGISTRIES.items())
        },
    }
    for flag, registry in families.items():
        for name, config in registry.items():
            if config is not None and config.__module__.startswith(PACKAGE):
                yield flag, name, config


def _is_ours(config: Type[Any], field: Any) -> bool:
    """Whether a class of the plugin declares the field; fairseq documents those it inherits."""
    return field.metadata.get("help") is not None and any(
        field.name in vars(each).get("__annotations__", {})
        for each in config.__mro__
        if each.__module__.startswith(PACKAGE)
    )


def _field_row(field: Any) -> List[str]:
    text = field.metadata["help"]
    if field.default is not MISSING and not str(field.default).startswith("${"):
        is_flag = field.default is False
        text += "" if is_flag else f" (default: {getattr(field.default, 'value', field.default)})"
    return [_code(f"--{field.name.replace('_', '-')}"), _escaped(text)]


def _table(rows: List[List[str]]) -> str:
    lines = ["| argument | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _escaped(text: str) -> str:
    """Help is plain text: in Markdown, <unk> would be a tag and * an emphasis."""
    plain = " ".join(text.split()).replace("|", "\\|")
    for sign in "<>*_":
        plain = plain.replace(sign, "\\" + sign)
    return plain


if __name__ == "__main__":
    sys.stdout.write({"commands": commands, "registered": registered}[sys.argv[1]]())
