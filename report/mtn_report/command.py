"""`mtn-report`: a report on evaluated runs, as Markdown with pictures and as one HTML page."""

import argparse
import logging
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import List, Optional, Sequence

from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError
from mtn_preprocess.files.result_file import check_result_file, write_result_file
from mtn_preprocess.files.standard_streams import standard_output

from .document import PICTURES, Document
from .html_page import to_html
from .manifest import NAME, Manifest, read_manifest
from .markdown import to_markdown
from .pictures import check_matplotlib
from .sections import build_document

_PAGES = ("report.md", "report.html")
_MISSING_GLYPH = re.compile(r"Glyph \d+ .*missing from")  # matplotlib's warning


def main(argv: Optional[Sequence[str]] = None) -> None:
    args = _parser().parse_args(argv)
    warnings.simplefilter("ignore")  # from fairseq and hydra
    logging.disable(logging.WARNING)
    check_matplotlib()
    manifest = read_manifest(args.experiment)
    folder = Path(args.output)
    _check_folder(folder, list(map(str, manifest.files())))  # early: the rest may take minutes
    document = _build(manifest)
    files = {f"{picture.name}.png": picture.png for picture in document.pictures()}
    # System names came from a command line and may contain bytes that are not UTF-8.
    for name, text in zip(_PAGES, (to_markdown(document), to_html(document))):
        files[name] = text.encode("utf-8", errors="replace")
    folder.mkdir(parents=True, exist_ok=True)
    with standard_output() as out:
        for name, content in files.items():
            write_result_file(str(folder / name), content)
        _remove_other_pictures(folder, list(files))
        out.writelines(f"{folder / name}\n" for name in files)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="mtn-report",
        description="Report the runs of an experiment in the tables and pictures of the paper, "
        "beside the paper's results. Writes report.md with its pictures, and report.html, a single "
        "file.",
        epilog=f"The format of {NAME}: docs/report.md.",
    )
    parser.add_argument("experiment", help=f"a {NAME}, or its folder")
    parser.add_argument("--output", required=True, metavar="FOLDER", help="folder for the report")
    return parser


def _check_folder(folder: Path, inputs: Sequence[str]) -> None:
    """Check that the report can be written and replaces none of its inputs.

    A new folder is removed again, so that a later error leaves no empty folder.
    """
    made = [path for path in (folder, *folder.parents) if not os.path.exists(path)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        for path in made:
            path.rmdir()
    except (FileExistsError, NotADirectoryError):
        raise InputError("not a folder", "choose another --output", folder) from None
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})", "choose another --output", folder
        ) from None
    for name in (*_PAGES, *(f"{picture}.png" for picture in PICTURES)):
        if (folder / name).is_dir():
            raise InputError(
                "is a folder, not a file", "remove it, or choose another --output", folder / name
            )
        if folder not in made:
            check_result_file(str(folder / name), inputs)


def _build(manifest: Manifest) -> Document:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        document = build_document(manifest)
    if any(_MISSING_GLYPH.match(str(warning.message)) for warning in caught):
        print(
            "mtn-report: the font of the pictures lacks some letters, which appear as boxes; "
            "install a font that has them, and name it in matplotlibrc, for example "
            "`font.family: DejaVu Sans, Noto Sans CJK JP`",
            file=sys.stderr,
        )
    return document


def _remove_other_pictures(folder: Path, written: List[str]) -> None:
    """Remove pictures of an earlier report: they may show queries that are now private."""
    for name in (f"{picture}.png" for picture in PICTURES):
        if name not in written and (folder / name).is_file():
            (folder / name).unlink()
            print(f"mtn-report: removed {folder / name}, from an earlier report", file=sys.stderr)


if __name__ == "__main__":
    main()
