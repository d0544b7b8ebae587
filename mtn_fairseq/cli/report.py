"""`mtn-report`: evaluated runs as Markdown with pictures, and as one HTML page."""

import argparse
import logging
import os
import warnings
from pathlib import Path
from typing import Optional, Sequence

from ..errors import InputError
from ..report.html_page import to_html
from ..report.manifest import NAME, read_manifest
from ..report.markdown import to_markdown
from ..report.pictures import check_matplotlib
from ..report.sections import build_document
from .output import standard_output


def main(argv: Optional[Sequence[str]] = None) -> None:
    args = _parser().parse_args(argv)
    warnings.simplefilter("ignore")  # fairseq and hydra, about each other
    logging.disable(logging.WARNING)
    check_matplotlib()
    document = build_document(read_manifest(args.experiment))
    files = {f"{picture.name}.png": picture.png for picture in document.pictures()}
    files["report.md"] = to_markdown(document).encode("utf-8")
    files["report.html"] = to_html(document).encode("utf-8")
    folder = Path(args.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError("not a folder", "name another --output", folder) from None
    with standard_output() as out:
        for name, content in files.items():
            _write_whole(folder / name, content)
            out.write(f"{folder / name}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mtn-report",
        description="Write the paper's tables and pictures for the runs of an experiment, beside "
        "the paper's own: report.md with pictures, and report.html, one file.",
        epilog=f"Which files it is made of, a {NAME} says: docs/report.md.",
    )
    parser.add_argument("experiment", help=f"a {NAME}, or the folder that has one")
    parser.add_argument("--output", required=True, metavar="FOLDER", help="where to write")
    return parser


def _write_whole(path: Path, content: bytes) -> None:
    """A file that appears under its name only when complete."""
    partial = Path(f"{path}.partial-{os.getpid()}")
    partial.write_bytes(content)
    os.replace(partial, path)


if __name__ == "__main__":
    main()
