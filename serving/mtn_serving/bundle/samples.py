"""Sample sessions of a bundle. They are given by hand: sessions of the log belong to people.

A file has one session per line in the format of prepared text: `london hotels <q> paris`, with
earlier sessions of the same person before a `<session>`. A sample is shown only if each of its
queries may be suggested to a stranger.
"""

from pathlib import Path
from typing import Any, Counter, Dict, List, NamedTuple, Optional, Sequence, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import decode_query

from ..candidates import COUNTS, Candidate
from ..display_rules import OwnText
from ..pipeline import Pipeline
from ..request import Request, has_query, read_request

NAME = "samples.txt"


class Sample(NamedTuple):
    """A sample as people type it."""

    session: Tuple[str, ...]
    history: Tuple[Tuple[str, ...], ...]  # earlier sessions, oldest first


def read_sample_lines(path: Path) -> List[str]:
    """The lines of a file, without empty lines."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = f"cannot be read ({getattr(error, 'strerror', None) or 'no UTF-8'})"
        raise InputError(reason, "give --samples a text file, one session per line", path) from None
    return [line for line in lines if line.strip()]


def shown_lines(
    lines: Sequence[str], pipeline: Pipeline, held_back: Optional[Counter[str]] = None
) -> List[str]:
    """The lines, as in prepared text, whose queries may all be shown to anybody.

    Args:
        held_back: counter for the lines left out, by `display_rules.REASONS`
    """
    kept = []
    for number, line in enumerate(lines, 1):
        if not has_query(line, pipeline.reader):
            raise InputError("a sample without a query", "leave it out", NAME, number)
        request = read_request(line, reader=pipeline.reader)
        reasons = _reasons(request, pipeline)
        if not reasons:
            kept.append(request.line)
        elif held_back is not None:
            held_back[next(iter(reasons))] += 1
    return kept


def keep_shown(path: Path, pipeline: Pipeline) -> Dict[str, Any]:
    """Rewrite a file with the samples that may be shown; if there are none, delete its folder.

    Returns:
        facts for the manifest
    """
    held_back: Counter[str] = Counter()
    lines = shown_lines(read_sample_lines(path), pipeline, held_back)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if not lines:
        path.unlink()
        path.parent.rmdir()
    return {"sessions": len(lines), "left_out": dict(held_back)}


def samples_of(lines: Sequence[str], pipeline: Pipeline) -> List[Sample]:
    """The samples that may be shown, in the form in which they are shown."""
    found = []
    for line in shown_lines(lines, pipeline):
        request = read_request(line, reader=pipeline.reader)
        history = tuple(_typed(each, pipeline) for each in request.history)
        found.append(Sample(_typed(request.session, pipeline), history))
    return found


def _reasons(request: Request, pipeline: Pipeline) -> Counter[str]:
    queries = [query for session in (*request.history, request.session) for query in session]
    held_back: Counter[str] = Counter()
    candidates = [Candidate(query, COUNTS) for query in queries]
    pipeline.display.shown(candidates, OwnText([]), held_back)
    return held_back


def _typed(queries: Sequence[str], pipeline: Pipeline) -> Tuple[str, ...]:
    table = pipeline.table
    forms = [None if table is None else table.form(query) for query in queries]
    return tuple(form or decode_query(query) for form, query in zip(forms, queries))
