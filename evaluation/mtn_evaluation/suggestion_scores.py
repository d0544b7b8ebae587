"""Scores of ranked suggestions. sacrebleu counts n-grams and computes BLEU from the counts.

Each pair contributes one row of numbers, and the figures of many pairs are computed from the sum of
their rows. So groups of pairs and bootstrap resamples need no further counting.
"""

from functools import lru_cache
from typing import Dict, Optional, Sequence, Tuple

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.metrics.helpers import extract_word_ngrams

from .generate_log import Suggestions
from .unknown_words import RawText

ORDERS = (1, 2, 3, 4)
_EXACT_COLUMN = 2 + 2 * len(ORDERS)  # after both lengths, matches and n-grams
_CACHE_SIZE = 1 << 18  # pairs of queries

# The preparation has tokenised the text, so no tokenizer. No smoothing: if no n-gram of some order
# matches, that precision and BLEU are 0.
_BLEU = BLEU(tokenize="none", smooth_method="none", force=True)


def signature() -> str:
    """The signature to quote with BLEU, as sacrebleu writes it."""
    _BLEU.corpus_score(["a"], [["a"]])  # sets the number of references
    return str(_BLEU.get_signature())


@lru_cache(_CACHE_SIZE)
def ngram_counts(suggestion: str, next_query: str) -> Tuple[int, ...]:
    """Lengths of suggestion and next query, matching n-grams and n-grams per order in ORDERS."""
    bleu = _BLEU.corpus_score([suggestion], [[next_query]])
    return (bleu.sys_len, bleu.ref_len, *bleu.counts, *bleu.totals)


def rank_of(next_query: str, ranked: Sequence[str]) -> Optional[int]:
    """The rank of the next query, from 1; None if it is not suggested.

    Repeated suggestions do not count as ranks.
    """
    if next_query not in ranked:
        return None
    return len(set(ranked[: ranked.index(next_query)])) + 1


def pair_rows(
    ranked: Sequence[Sequence[str]],
    next_queries: Sequence[str],
    at: Sequence[int],
    nbest: Optional[int] = None,
) -> np.ndarray:
    """The contribution of each pair to the figures: (pairs, columns).

    If lists ended at `nbest`, later ranks are unknown: nan, also in the figures.
    """
    rows = np.empty((len(next_queries), _EXACT_COLUMN + 1 + 2 * len(at)))
    for row, suggestions, next_query in zip(rows, ranked, next_queries):
        row[:_EXACT_COLUMN] = ngram_counts(suggestions[0], next_query)
        rank = rank_of(next_query, suggestions)
        row[_EXACT_COLUMN] = rank == 1
        row[_EXACT_COLUMN + 1 :: 2] = [1 / rank if rank and rank <= k else 0 for k in at]
        row[_EXACT_COLUMN + 2 :: 2] = [bool(rank and rank <= k) for k in at]
    for i, k in enumerate(at):
        if nbest is not None and k > nbest:
            rows[:, _EXACT_COLUMN + 1 + 2 * i : _EXACT_COLUMN + 3 + 2 * i] = np.nan
    return rows


def figures(totals: np.ndarray, pairs: int, at: Sequence[int]) -> Dict[str, float]:
    """Figures in percent (`length` in words) from the sum of the rows of some pairs."""
    counts = totals[:_EXACT_COLUMN]
    matches, ngrams = counts[2:].reshape(2, len(ORDERS)).tolist()
    bleu = BLEU.compute_bleu(matches, ngrams, int(counts[0]), int(counts[1]), smooth_method="none")
    exact, *ranks = (100 / pairs * totals[_EXACT_COLUMN:]).tolist()
    return {
        "exact": exact,
        **{f"hit@{k}": hit for k, hit in zip(at, ranks[1::2])},
        **{f"mrr@{k}": mrr for k, mrr in zip(at, ranks[::2])},
        "bleu": bleu.score,
        **{f"{n}-gram": precision for n, precision in zip(ORDERS, bleu.precisions)},
        "length": float(counts[0]) / pairs,
    }


def distinct(suggestions: Sequence[str], order: int) -> float:
    """Distinct n-grams as a share of all n-grams in the first suggestions, in percent."""
    different = set()
    total = 0
    for suggestion in suggestions:
        ngrams = extract_word_ngrams(suggestion.split(), order)
        different.update(ngrams)
        total += sum(ngrams.values())
    return 100 * len(different) / total if total else 0.0


def score_lists(
    ranked: Sequence[Sequence[str]], next_queries: Sequence[str], at: Sequence[int] = ()
) -> Dict[str, float]:
    """The figures of texts as they are."""
    rows = pair_rows(ranked, next_queries, at)
    return figures(rows.sum(axis=0), len(rows), at)


def score(pairs: Sequence[Suggestions], at: Sequence[int] = (5,)) -> Dict[str, float]:
    """The figures of a single log, on raw text."""
    text = RawText()
    ranked = [list(map(text.suggestion, pair.ranked)) for pair in pairs]
    return score_lists(ranked, [text.next_query(pair.next_query) for pair in pairs], at)
