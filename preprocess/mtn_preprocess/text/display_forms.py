"""How queries are shown: the way most people typed them, from a file beside the prepared text.

    www ebay com	www.ebay.com

Only queries that most people typed in another way than the text has them are in it.
"""

from pathlib import Path
from typing import Dict, Iterable, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_checks import numbered_lines
from mtn_preprocess.text.typed_queries import in_lower_case

NAME = "display.tsv"


def display_form(typed: str) -> str:
    """What was typed, as it may be shown: in lower case; "" if it has invisible characters."""
    form = in_lower_case(typed)
    return form if form.isprintable() else ""


def write_forms(folder: Path, forms: Iterable[Tuple[str, str]]) -> None:
    """Args:
    forms: a query and how it is shown, each
    """
    with open(folder / NAME, "w", encoding="utf-8", newline="\n") as file:
        for query, form in forms:
            file.write(f"{query}\t{form}\n")


def read_forms(folder: Path) -> Dict[str, str]:
    """How queries of the text in a folder are shown; none where there is no such file."""
    path = Path(folder) / NAME
    forms: Dict[str, str] = {}
    for number, line in numbered_lines(path) if path.exists() else ():
        query, *form = line.split("\t")
        if len(form) != 1 or not query or not display_form(form[0]):
            reason = "not a query and how it is shown, with a tab between"
            raise InputError(reason, "prepare the text again", path, number)
        forms[query] = form[0]
    return forms
