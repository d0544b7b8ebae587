"""The features of completions: those of candidates in lists, and features of the prefix. Numbers,
NaN if unknown."""

from typing import Optional, Sequence

import numpy as np

from ..engine import Scores
from ..features import NAMES as LIST_NAMES
from ..features import features as list_features
from ..next_queries import NextQueries
from .candidates import CORRECTED, EDITS, POPULAR, SESSION, WORDS, Completion, Typed

_PLACES = {f"{source}_place": source for source in (SESSION, EDITS, POPULAR, WORDS, CORRECTED)}

PREFIX_NAMES = (
    "typed_characters",
    "typed_words",
    "open_characters",
    "characters_left",
    "words_left",
    "ends_open_word",
    *_PLACES,
    "completions",
    "completions_asked",
    "share_of_completions",
)
NAMES = (*LIST_NAMES, *PREFIX_NAMES)

_NO_SESSION = ("",)


def completion_features(
    typed: Typed,
    completions: Sequence[Completion],
    table: Optional[NextQueries],
    scores: Optional[Scores],
) -> np.ndarray:
    """(completions, NAMES)"""
    candidates = [each.candidate for each in completions]
    of_lists = list_features(typed.session or _NO_SESSION, candidates, table, scores, typed.past)
    of_lists[:, LIST_NAMES.index("queries")] = len(typed.session)
    of_prefix = np.full((len(completions), len(PREFIX_NAMES)), np.nan, dtype=np.float32)
    columns = dict(zip(PREFIX_NAMES, of_prefix.T))
    prefix = typed.prefix
    columns["typed_characters"][:] = len(prefix.text)
    columns["typed_words"][:] = len(prefix.finished)
    columns["open_characters"][:] = len(prefix.open_word)
    texts = [each.text for each in completions]
    columns["characters_left"][:] = [len(text) - len(prefix.text) for text in texts]
    left = [len(text.split()) - len(prefix.finished) for text in texts]
    columns["words_left"][:] = left
    columns["ends_open_word"][:] = np.array(left) == 1
    for name, source in _PLACES.items():
        columns[name][:] = [each.places.get(source, np.nan) for each in completions]
    if table is not None:
        numbers = table.queries.starting_with(prefix.text)
        asked = int(table.asked[numbers.start : numbers.stop].sum(dtype=np.int64))
        columns["completions"][:] = np.log1p(len(numbers))
        columns["completions_asked"][:] = np.log1p(asked)
        times = np.expm1(of_lists[:, LIST_NAMES.index("asked")])
        columns["share_of_completions"][:] = times / max(asked, 1)
    return np.concatenate([of_lists, of_prefix], axis=1)
