"""How queries are shown: as most people typed them, from a file beside the prepared text.

    www ebay com	www.ebay.com

The file lists only queries that most people typed differently from the text.
"""

from pathlib import Path
from typing import Dict, Iterable, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_checks import numbered_lines
from mtn_preprocess.text.typed_queries import in_lower_case

NAME = "display.tsv"


def display_form(typed: str) -> str:
    """Typed text as it may be shown, in lower case; "" if it has invisible characters."""
    form = in_lower_case(typed)
    return form if form.isprintable() else ""


def write_forms(folder: Path, forms: Iterable[Tuple[str, str]]) -> None:
    """Args:
    forms: pairs of a query and its displayed form
    """
    with open(folder / NAME, "w", encoding="utf-8", newline="\n") as file:
        for query, form in forms:
            file.write(f"{query}\t{form}\n")


def read_forms(folder: Path) -> Dict[str, str]:
    """The displayed forms of the queries in a folder's text; empty if there is no such file."""
    path = Path(folder) / NAME
    forms: Dict[str, str] = {}
    for number, line in numbered_lines(path) if path.exists() else ():
        query, *form = line.split("\t")
        if len(form) != 1 or not query or not display_form(form[0]):
            reason = "not a query and how it is shown, with a tab between"
            raise InputError(reason, "prepare the text again", path, number)
        forms[query] = form[0]
    return forms
