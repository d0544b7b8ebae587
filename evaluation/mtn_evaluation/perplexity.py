"""Perplexity of the next queries, from `fairseq-generate --score-reference`.

Tokens are those of the model's own dictionary, including the end of the query; all unknown words
are one token. So perplexities compare only between models with the same dictionary.
"""

import math
from typing import NamedTuple, Sequence

from mtn_preprocess.errors import InputError

from .generate_log import read_system
from .same_test_set import check_same_next_queries, shows
from .unknown_words import UNKNOWN

_ROUNDING = 1e-3  # log probabilities may exceed 0 by this much
_REMEDY = "give the output of fairseq-generate --score-reference, made without --post-process"


class Perplexity(NamedTuple):
    value: float
    tokens: int


def read_perplexity(path: str, test: str, next_queries: Sequence[str]) -> Perplexity:
    """Perplexity over all pairs of a test text."""
    pairs = read_system(path, pairs=len(next_queries)).pairs
    check_same_next_queries(path, pairs, test, next_queries)
    bits = 0.0
    tokens = 0
    for number, (pair, next_query) in enumerate(zip(pairs, next_queries)):
        # A copying model writes <unk> here only for words it cannot copy.
        found = [suggestion.replace(UNKNOWN, f"<{UNKNOWN}>") for suggestion in pair.ranked]
        if len(found) != 1 or not shows(found[0], next_query):
            raise InputError(f"H-{number} is not the next query itself", _REMEDY, path)
        try:
            scores = list(map(float, pair.token_scores.split()))
        except ValueError:
            scores = []
        whole = len(scores) == pair.tokens + 1  # plus the end of the query
        if not whole or not math.isfinite(sum(scores)) or max(scores) > _ROUNDING:
            raise InputError(
                f"P-{number} has no finite score, up to 0, of each token", _REMEDY, path
            )
        bits -= sum(scores)
        tokens += len(scores)
    try:
        return Perplexity(2 ** (bits / tokens), tokens)
    except OverflowError:
        raise InputError("its perplexity is beyond all numbers", _REMEDY, path) from None
