"""The pairs of prepared text, each with what the same person asked before."""

from itertools import zip_longest
from pathlib import Path
from typing import Callable, List, NamedTuple, Sequence

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.histories import read_histories, split_history
from mtn_preprocess.text.session_pairs import Pair, read_pairs
from mtn_preprocess.text.word_pieces import decode_pieces

from ..engine import HistorySize
from ..history import MAX_HISTORY
from ..request import Request


class PersonalPair(NamedTuple):
    pair: Pair  # as its files have it, in words
    line: str  # to suggest for: the session with the history in front


def read_personal_pairs(
    prefix: str, use_history: bool, model_reads: HistorySize, say: Callable[[str], None]
) -> List[PersonalPair]:
    """Those of `PREFIX.session` and `PREFIX.next`, with the histories of `PREFIX.history`.

    Without that file, a history is what stands in front of a session in `PREFIX.session`.

    Args:
        use_history: False to take everybody for a stranger
        model_reads: what the model reads of a history
        say: is told how many histories are cut
    """
    pairs = [Pair(*map(decode_pieces, pair)) for pair in read_pairs(prefix)]
    requests = [Request(tuple(pair.queries())) for pair in pairs]
    if use_history:
        histories = _histories(prefix, pairs)
        requests = [
            request._replace(history=tuple(map(tuple, history)))
            for request, history in zip(requests, histories)
        ]
    for note in _what_is_cut(requests, model_reads):
        say(note)
    kept = [request._replace(history=request.history[-MAX_HISTORY:]) for request in requests]
    return [PersonalPair(pair, request.line) for pair, request in zip(pairs, kept)]


def _histories(prefix: str, pairs: Sequence[Pair]) -> List[List[List[str]]]:
    found = read_histories(prefix)
    if found is None:
        return [split_history(pair.source)[0] for pair in pairs]
    histories: List[List[List[str]]] = []
    for number, (pair, history) in enumerate(zip_longest(pairs, found), 1):
        if pair is None or history is None:
            raise InputError(
                f"{'a line too many' if pair is None else 'line missing'}, "
                f"{prefix}.session has {len(pairs)}",
                "line n must belong to pair n; prepare all files again, or pass --no-history",
                Path(f"{prefix}.history"),
                number,
            )
        histories.append(history)
    return histories


def _what_is_cut(requests: Sequence[Request], model_reads: HistorySize) -> List[str]:
    known = sum(bool(request.history) for request in requests)
    if not known:
        return []
    notes = [f"{known:,} of {len(requests):,} pairs are of people with a history"]
    long = sum(len(request.history) > MAX_HISTORY for request in requests)
    if long:
        notes.append(f"{long:,} histories are cut to their last {MAX_HISTORY} sessions")
    cut = sum(request.fitted(model_reads) != request for request in requests)
    if cut and model_reads.sessions:
        notes.append(
            f"{cut:,} histories are cut for the model, to their last {model_reads.sessions} "
            f"sessions of {model_reads.queries} queries"
        )
    return notes
