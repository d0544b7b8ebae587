"""Check whether counts and model may be of the same log, by the words that the model knows.

This is no proof, and counts of newer text are meant to be used with an older model. But a model
that lacks most words of the most frequent queries was trained on another log. One that lacks all of
them is refused.
"""

from typing import Optional

import numpy as np

from mtn_preprocess.errors import InputError

from ..pipeline import Pipeline

MAX_QUERIES = 200  # the most frequent queries
LEAST_KNOWN = 0.5  # share of known words; warn below it


def known_words(pipeline: Pipeline) -> Optional[float]:
    """The share of words in the most frequent queries that the model knows, weighted by frequency;
    None without a model or without counts.

    Raises:
        InputError: the model knows none of these words
    """
    table, trained = pipeline.table, pipeline.trained
    if table is None or trained is None or not len(table.queries):
        return None
    numbers = list(table.most_asked.of(range(len(table.queries)), MAX_QUERIES))
    texts = [table.queries[number] for number in numbers]
    (scores,) = trained.scores(trained.sources(texts[:1]), [texts])
    asked = np.array([int(table.asked[number]) for number in numbers])
    words = (asked * (scores.tokens - 1)).sum()  # without the end token
    unknown = (asked * scores.unknown).sum()
    if unknown == words:
        reason = "the model knows none of the words that people ask most, by the counts"
        raise InputError(reason, "give --counts of the text that it was trained on")
    return float(1 - unknown / words)
