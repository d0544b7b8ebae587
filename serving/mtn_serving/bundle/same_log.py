"""Whether counts and model can be of the same log: by how many words of the counts the model knows.

Nothing proves it, and counts of newer text are meant to be used with an older model. But a model
that does not know most of what people ask most was trained on something else.
"""

from typing import Optional

import numpy as np

from ..pipeline import Pipeline

MAX_QUERIES = 200  # the most asked
LEAST_KNOWN = 0.5  # of their words; with less, somebody should look


def known_words(pipeline: Pipeline) -> Optional[float]:
    """The share of words in the most asked queries, as often as these were asked, that the model
    knows; None without a model or without counts."""
    table, trained = pipeline.table, pipeline.trained
    if table is None or trained is None or not len(table.queries):
        return None
    numbers = list(table.most_asked.of(range(len(table.queries)), MAX_QUERIES))
    texts = [table.queries[number] for number in numbers]
    (scores,) = trained.scores(trained.sources(texts[:1]), [texts])
    asked = np.array([int(table.asked[number]) for number in numbers])
    words = asked * (scores.tokens - 1)  # without the end
    return float(1 - (asked * scores.unknown).sum() / words.sum())
