"""The form: a tab-separated table for editors and spreadsheets, with one row per list.

A reader fills in two columns. Only these and the three columns that identify the list are read
back, so a spreadsheet may change the queries without harm.
"""

import csv
import io
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Sequence, Tuple

from mtn_preprocess.errors import InputError

VERDICTS = ("useful", "harmless", "bad")
KINDS = ("generic", "shortened", "template", "off-topic", "private", "explicit", "broken")
_COLUMNS = ("form", "pair", "list", "verdict", "kind")
_BETWEEN_QUERIES = "  →  "


class BlindList(NamedTuple):
    """One list as the reader sees it, without its next query and its system."""

    pair: int  # a running number
    letter: str
    session: Sequence[str]
    suggestions: Sequence[str]


class Verdict(NamedTuple):
    """The reader's verdict on one list."""

    form: str
    pair: int
    letter: str
    verdict: str
    kinds: FrozenSet[str]  # of a bad list
    line: int


def form_text(form: str, lists: Sequence[BlindList], nbest: int) -> str:
    """Args:
    form: the name of the form, so that it is never read with another key
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, csv.excel_tab, lineterminator="\n")
    writer.writerow([*_COLUMNS, "session", *range(1, nbest + 1)])
    for each in lists:
        shown = [*each.suggestions[:nbest], *[""] * nbest][:nbest]
        session = _BETWEEN_QUERIES.join(each.session)
        writer.writerow([form, each.pair, each.letter, "", "", session, *shown])
    return out.getvalue()


def read_form(path: str) -> List[Verdict]:
    """All rows of a filled form; each row is checked on its own."""
    rows = _rows(path)
    heading = next(rows, (1, []))[1]
    missing = [name for name in _COLUMNS if name not in heading]
    if missing:
        raise InputError(
            f"no column {', '.join(missing)}", "give a form of mtn-judge sample", path, 1
        )
    place = {name: heading.index(name) for name in _COLUMNS}
    return [_verdict(row, place, path, line) for line, row in rows if any(row)]


def _rows(path: str) -> Iterator[Tuple[int, List[str]]]:
    try:
        # Spreadsheets write a byte order mark.
        with open(path, encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, csv.excel_tab)
            for row in reader:
                yield reader.line_num, [cell.strip() for cell in row]
    except UnicodeDecodeError:
        raise InputError("not UTF-8", "save the form as UTF-8 text with tabs", path) from None
    except csv.Error as error:
        reason = f"not a table with tabs ({error})"
        raise InputError(reason, "save the form as text with tabs", path) from None
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
        raise InputError(reason, "give a form of mtn-judge sample", path) from None


def _verdict(row: List[str], place: Dict[str, int], path: str, line: int) -> Verdict:
    if len(row) <= max(place.values()):
        raise InputError("columns are missing", "restore the row from the form", path, line)
    form, pair, letter, verdict, kind = (row[place[name]] for name in _COLUMNS)
    verdict = verdict.lower()
    kinds = frozenset(each.strip().lower() for each in kind.split(",") if each.strip())
    if not (pair.isascii() and pair.isdecimal()):
        raise InputError("not the number of a pair", "restore the row from the form", path, line)
    if verdict not in VERDICTS:
        reason = f"verdict {verdict!r}" if verdict else "no verdict"
        raise InputError(reason, f"write one of {', '.join(VERDICTS)}", path, line)
    unknown = sorted(kinds - set(KINDS))
    if unknown:
        raise InputError(f"kind {unknown[0]!r}", f"write one of {', '.join(KINDS)}", path, line)
    if verdict == "bad" and not kinds:
        raise InputError(
            "bad, and no kind of badness", f"write one of {', '.join(KINDS)}", path, line
        )
    if verdict != "bad" and kinds:
        raise InputError(
            f"a kind of badness, and the verdict is {verdict}", "remove one of them", path, line
        )
    return Verdict(form, int(pair), letter.upper(), verdict, kinds, line)
