"""The sample sessions with suggestions: only those that the manifest lists by line."""

from itertools import islice
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from mtn_evaluation.generate_log import read_system
from mtn_evaluation.same_test_set import check_same_next_queries, fingerprint
from mtn_preprocess.errors import InputError
from mtn_preprocess.text.histories import split_history
from mtn_preprocess.text.session_pairs import read_pairs
from mtn_preprocess.text.session_text import decode_query
from mtn_preprocess.text.word_pieces import decode_pieces

from .manifest import Manifest, System
from .run_scores import Evaluations

SHOWN = 3  # suggestions per system


class Session(NamedTuple):
    line: int
    source: str  # as in the test text
    queries: List[str]  # as typed
    next_query: str


class Suggested(NamedTuple):
    text: str
    is_next: bool


class Sample(NamedTuple):
    session: Session
    suggestions: Dict[str, List[Suggested]]  # by label, best first


class SampleText(NamedTuple):
    """The test text: the sessions to show, and all next queries."""

    sessions: List[Session]  # in the order of the manifest
    next_queries: List[str]  # all, in words


def read_sample_text(manifest: Manifest, evaluations: Optional[Evaluations]) -> SampleText:
    """Empty if the manifest lists no lines."""
    if manifest.test is None or not manifest.sample_lines:
        return SampleText([], [])
    wanted = set(manifest.sample_lines)
    found = {}
    next_queries = []
    for line, pair in enumerate(read_pairs(str(manifest.test)), 1):
        next_queries.append(decode_pieces(pair.next_query))
        if line in wanted:
            earlier, current = split_history(pair.source)
            queries = [as_typed(query) for session in (*earlier, current) for query in session]
            found[line] = Session(line, pair.source, queries, as_typed(pair.next_query))
    if evaluations is not None and fingerprint(next_queries) != evaluations.test["sha256"]:
        raise InputError(
            "not the test text of the evaluations",
            "give the evaluated text as `test`",
            manifest.test,
        )
    beyond = sorted(wanted - found.keys())
    if beyond:
        raise InputError(
            f"`sample_lines`: {beyond[0]} is beyond the {len(next_queries)} lines of "
            f"{manifest.test}.session",
            "choose lines of this file",
            manifest.file,
        )
    return SampleText([found[line] for line in manifest.sample_lines], next_queries)


def read_samples(manifest: Manifest, text: SampleText) -> List[Sample]:
    samples = [Sample(session, {}) for session in text.sessions]
    asked = text.next_queries
    for system in manifest.systems:
        files = list(map(str, suggestion_files(system)))
        if not files:
            continue
        pairs = read_system(*files, pairs=len(asked)).pairs
        check_same_next_queries(" + ".join(files), pairs, str(manifest.test), asked)
        for session, suggestions in samples:
            ranked = dict.fromkeys(pairs[session.line - 1].ranked)  # without duplicates
            suggestions[system.label] = [
                Suggested(as_typed(query), query == asked[session.line - 1])
                for query in islice(ranked, SHOWN)
            ]
    return samples


def suggestion_files(system: System) -> List[Path]:
    """The files of the first run that has any."""
    return next((run.suggestions for run in system.runs if run.suggestions), [])


def as_typed(query: str) -> str:
    return decode_query(decode_pieces(query))
