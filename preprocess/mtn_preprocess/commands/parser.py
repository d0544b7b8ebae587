"""The parser of every command: argparse with `--version`."""

import argparse
from typing import Any, Sequence

# The whole project, or only the part that serves a bundle. Both have the same version.
_DISTRIBUTIONS = ("mtn_fairseq", "mtn_serving")
NOT_INSTALLED = "(not installed: run from a checkout)"


class CommandParser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.add_argument("--version", action=_Version, help="print the version and exit")


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *unused: Any) -> None:
        print(parser.prog, version())
        parser.exit()


def version() -> str:
    from importlib import metadata  # takes 40 ms: import it only for --version

    for distribution in _DISTRIBUTIONS:
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return NOT_INSTALLED
