"""`mtn-user-dir`: print the plugin's folder, for `fairseq-train --user-dir "$(mtn-user-dir)" …`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Optional, Sequence

from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError
from mtn_preprocess.files.standard_streams import standard_output


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Print the package's folder and nothing else: the output goes into a command line."""
    CommandParser(
        prog="mtn-user-dir",
        description="Print the folder of mtn_fairseq, as fairseq's --user-dir wants it.",
        epilog='Example: fairseq-train data-bin --user-dir "$(mtn-user-dir)" '
        "--task session_to_query --arch mtn",
    ).parse_args(argv)
    with standard_output() as out:
        out.write(f"{plugin_folder()}\n")


def plugin_folder() -> Path:
    """Find the folder without importing the plugin, which would import fairseq.

    Symbolic links stay: fairseq compares the path with the one the package was imported from.
    """
    plugin = find_spec("mtn_fairseq")
    if plugin is None or plugin.origin is None:
        raise InputError("mtn_fairseq is not installed here", "install it: pip install .")
    return Path(plugin.origin).absolute().parent


if __name__ == "__main__":
    main()
