"""Group training examples into batches."""

from typing import List, NamedTuple, Optional

import numpy as np
from fairseq.data.data_utils import batch_by_size

from mtn_preprocess.errors import InputError


class Batching(NamedTuple):
    """How to batch training data.

    Examples of similar shape need little padding. But they are of one kind (short queries, first
    queries of a session, …), and a model learns less from updates on one kind.
    """

    random: bool = False  # examples drawn at random; otherwise of similar shape
    padding_is_free: bool = False  # `--max-tokens` then counts real tokens only
    by_queries: bool = False  # all examples of a batch have the same number of queries

    def batches(
        self,
        indices: np.ndarray,
        tokens: np.ndarray,
        queries: np.ndarray,
        max_tokens: Optional[int],
        max_examples: Optional[int],
    ) -> List[np.ndarray]:
        """Batches of all `indices`, in the given order unless grouped by queries.

        Args:
            tokens, queries: one number per index
        """
        if not self.by_queries:
            return self._fill(indices, tokens, max_tokens, max_examples)
        order = np.argsort(queries, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(queries[order])) + 1)
        return [
            batch
            for group in groups
            for batch in self._fill(indices[group], tokens[group], max_tokens, max_examples)
        ]

    def _fill(
        self,
        indices: np.ndarray,
        tokens: np.ndarray,
        max_tokens: Optional[int],
        max_examples: Optional[int],
    ) -> List[np.ndarray]:
        if self.padding_is_free:
            return fill_batches(indices, tokens, max_tokens, max_examples)
        # Training has dropped examples that are too large for a batch. Validation and generation
        # read every pair; fairseq would stop at one that is too large.
        alone = tokens > (max_tokens or np.inf)
        # fairseq 0.12.3 drops the last batch if its size is not a multiple of
        # --required-batch-size-multiple (8 by default), in generation too.
        batches = batch_by_size(
            indices[~alone],
            None,
            tokens[~alone].astype(np.int64),
            max_tokens,
            max_examples,
            required_batch_size_multiple=1,
        )
        return [*batches, *indices[alone, np.newaxis]]


ALIKE = Batching()


def like_shapes_together(longest: np.ndarray, queries: np.ndarray, shuffle: bool) -> np.ndarray:
    """Order examples by shape: by longest query, then roughly by number of queries.

    The order is rough and ignores target length: the more similar the examples of a batch, the less
    the model learns.
    """
    if not shuffle:
        return np.lexsort([queries, longest])
    indices = np.random.permutation(len(queries))
    noise = 2 * np.random.rand(len(queries))
    return indices[np.lexsort([queries[indices] + noise, longest[indices]])]


def fill_batches(
    indices: np.ndarray, tokens: np.ndarray, max_tokens: Optional[int], max_examples: Optional[int]
) -> List[np.ndarray]:
    """Fill batches in order, each with as many examples as fit.

    Args:
        tokens: one number per index
    """
    too_large = np.flatnonzero(tokens > (max_tokens or np.inf))
    if len(too_large):
        raise InputError(
            f"an example of {tokens[too_large[0]]} tokens, in batches of {max_tokens}",
            "raise --max-tokens",
        )
    starts, count, total = [0], 0, 0
    for place, size in enumerate(tokens.tolist()):
        full = max_tokens is not None and total + size > max_tokens
        if full or count == max_examples:
            starts.append(place)
            count = total = 0
        count, total = count + 1, total + size
    return np.split(indices, starts[1:]) if len(indices) else []
