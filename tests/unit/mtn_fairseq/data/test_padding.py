"""The share of padding that training reports."""

import numpy as np
import pytest
from whole_session_data import A, B, C, D, pairs_dataset, unrolled

from mtn_fairseq.data.padding import describe_batches, padded_sizes
from mtn_fairseq.data.whole_sessions import WholeSessionDataset


def test_by_hand():
    sizes = padded_sizes([np.array([2, 4]), np.array([3])])
    assert sizes == (9, 11)
    assert sizes.padding == pytest.approx(2 / 11)


def test_no_batch():
    assert describe_batches([]) == "no batches"


def test_one_batch_of_pairs():
    """Sources of 2 and 5 tokens, targets of 3 and 2."""
    pairs = pairs_dataset(unrolled([[A], [B, C], [D]]))
    said = describe_batches([pairs.row_lengths(np.array([0, 1]))])
    assert said == (
        "1 batches of 2 pairs on average; padding: 30% of source places, 17% of target places"
    )


def test_one_batch_of_sessions():
    """Sources of 5 and 2 tokens, three targets of 3, 2 and 2; in the batch as collated."""
    whole = WholeSessionDataset(pairs_dataset(unrolled([[A], [B, C], [D]]) + unrolled([[D], [A]])))
    sources, targets = whole.row_lengths(np.array([0, 1]))
    batch = whole.collater([whole[0], whole[1]])
    pad = whole.pairs.src_dict.pad()
    assert sources.tolist() == batch["net_input"]["src_tokens"].ne(pad).sum(1).tolist() == [5, 2]
    assert targets.tolist() == batch["target"].ne(pad).sum(1).tolist() == [3, 2, 2]
