"""The number of parameters of each architecture: at the paper's sizes, the paper's counts.

The counts of the recurrent models and of the flat Transformer come from the paper's tables and
match exactly, so an extra bias or a missing layer is found.
"""

from functools import lru_cache

import pytest
import torch

from mtn_report.registered import (
    build,
    parameters,
    registered_architectures,
    without_allocating,
)

AOL, ONLINE = 76_604, 81_893  # words of the paper's two data sets, special symbols included
SIX_LAYERS = ("--encoder-layers", "6", "--decoder-layers", "6")
CAN_SKIP_ALLOCATION = int(torch.__version__.split(".")[0]) >= 2


@lru_cache(maxsize=None)
def count(architecture, vocabulary, flags=()):
    """(total, total without embedding and output layer)"""
    with without_allocating():
        return parameters(build(architecture, vocabulary, flags), vocabulary)


def paper_count(architecture, vocabulary, flags=()):
    """The total, without half a gigabyte of weights on any version of torch."""
    if CAN_SKIP_ALLOCATION:
        return count(architecture, vocabulary, flags)[0]
    # A word adds a row of the embedding, a row of the output layer and its bias: a linear count.
    one, other = 101, 103
    at_one, at_other = (count(architecture, words, flags)[0] for words in (one, other))
    a_word, remainder = divmod(at_other - at_one, other - one)
    assert not remainder
    return at_one + (vocabulary - one) * a_word


@pytest.mark.parametrize(
    "architecture, vocabulary, flags, expected",
    [
        ("seq2seq_attn_aol", AOL, (), 105_358_732),
        ("seq2seq_attn_aol", ONLINE, (), 112_366_657),
        ("hlstm_aol", AOL, (), 118_662_540),
        ("hlstm_aol", ONLINE, (), 125_670_465),
        ("mnsrf_aol", AOL, (), 118_662_540),
        ("mnsrf_aol", ONLINE, (), 125_670_465),
        ("transformer_aol", AOL, (), 104_807_228),  # 5 + 5 layers; the paper prints 104,814,396
        ("transformer_aol", ONLINE, SIX_LAYERS, 115_485_669),
    ],
)
def test_paper_size(architecture, vocabulary, flags, expected):
    assert paper_count(architecture, vocabulary, flags) == expected


def test_paper_size_of_mtn():
    """Not known exactly: the paper does not specify its projection."""
    assert paper_count("mtn_aol", AOL) == pytest.approx(101_684_540, rel=0.001)


def test_the_count_is_linear_in_the_vocabulary():
    """The control for torch 1: two sizes predict the count at a third."""
    at = {words: count("seq2seq_attn_small", words)[0] for words in (101, 103, 1009)}
    assert at[1009] == at[101] + (1009 - 101) * (at[103] - at[101]) // 2


def test_small_architectures_have_similar_sizes():
    """Within 5 % of each other, without the layers whose size depends on the vocabulary."""
    small = [name for name in registered_architectures() if name.endswith("_small")]
    models = {name[: -len("_small")] for name in small}
    assert models == {"mtn", "seq2seq_attn", "hlstm", "mnsrf", "transformer"}
    bodies = [count(name, 101)[1] for name in small]
    assert max(bodies) <= 1.05 * min(bodies)
