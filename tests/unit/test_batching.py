"""Training batches: drawn at random where padding costs nothing, every example once."""

import numpy as np
import pytest
from fairseq import tasks
from hypothesis import given
from hypothesis import strategies as st
from sessions import parse
from test_whole_sessions import pairs_dataset, random_data

from mtn_fairseq.data.batching import Batching, fill_batches
from mtn_fairseq.data.whole_sessions import WholeSessionDataset
from mtn_fairseq.errors import InputError

RANDOM = Batching(random=True, padding_is_free=True)


def test_by_hand():
    indices, tokens = np.array([7, 1, 5, 2, 9]), np.array([4, 3, 3, 1, 8])
    assert [b.tolist() for b in fill_batches(indices, tokens, 8, None)] == [[7, 1], [5, 2], [9]]
    assert [b.tolist() for b in fill_batches(indices, tokens, None, 2)] == [[7, 1], [5, 2], [9]]
    assert [b.tolist() for b in fill_batches(indices, tokens, 11, 3)] == [[7, 1, 5], [2, 9]]
    assert fill_batches(indices[:0], tokens[:0], 8, 2) == []
    with pytest.raises(InputError, match=r"an example of 8 tokens, in batches of 7; raise"):
        fill_batches(indices, tokens, 7, None)


@given(
    st.lists(st.integers(1, 9), max_size=40),
    st.one_of(st.none(), st.integers(9, 30)),
    st.one_of(st.none(), st.integers(1, 7)),
)
def test_as_many_as_fit(tokens, max_tokens, max_examples):
    tokens = np.array(tokens, dtype=int)
    indices = np.arange(len(tokens))[::-1]
    batches = fill_batches(indices, tokens[indices], max_tokens, max_examples)
    assert [i for batch in batches for i in batch] == indices.tolist()
    for batch, following in zip(batches, [*batches[1:], None]):
        assert 0 < len(batch) <= (max_examples or len(tokens))
        assert tokens[batch].sum() <= (max_tokens or np.inf)
        if following is not None:  # one more would not have fitted
            full = max_tokens and tokens[batch].sum() + tokens[following[0]] > max_tokens
            assert full or len(batch) == max_examples


def shuffled(random, whole):
    pairs = pairs_dataset(random_data(1, sessions=60), shuffle=True)
    pairs.batching = RANDOM if random else Batching()
    return WholeSessionDataset(pairs) if whole else pairs


def kinds(dataset, batch):
    shapes = (dataset.pairs if isinstance(dataset, WholeSessionDataset) else dataset).src.shapes
    lines = dataset.last[batch] if isinstance(dataset, WholeSessionDataset) else batch
    return len(set(shapes.longest[lines, 0]))


@pytest.mark.parametrize("whole", [False, True])
def test_a_random_batch_has_all_kinds(whole):
    found = {}
    for random in (False, True):
        dataset = shuffled(random, whole)
        np.random.seed(1)
        order = dataset.ordered_indices()
        assert sorted(order.tolist()) == list(range(len(dataset)))
        np.random.seed(1)
        assert (dataset.ordered_indices() == order).all()
        assert (dataset.ordered_indices() != order).any()
        batches = dataset.batch_by_size(order, max_sentences=12)
        assert sorted(i for batch in batches for i in batch) == list(range(len(dataset)))
        found[random] = np.mean([kinds(dataset, np.asarray(batch)) for batch in batches])
    assert found[False] < 2.5 < 3.5 < found[True]


@pytest.mark.parametrize("whole", [False, True])
def test_max_tokens_are_real_ones(whole):
    dataset = shuffled(True, whole)
    order = dataset.ordered_indices()
    batches = dataset.batch_by_size(order, max_tokens=120)
    tokens = [dataset.num_tokens_vec(np.asarray(batch)).sum() for batch in batches]
    assert max(tokens) <= 120 and np.mean(tokens[:-1]) > 100


@pytest.mark.parametrize(
    ("arch", "flags", "expected"),
    [
        ("mtn", "--level-layers 1,1", RANDOM),
        ("transformer_session", "", RANDOM),
        ("mtn", "--level-layers 1,1 --train-batches alike", Batching()),
        ("hlstm", "", Batching()),
        ("hlstm", "--train-batches random", Batching(random=True)),
        ("lstm", "", Batching()),
    ],
)
def test_where_padding_costs_nothing(arch, flags, expected):
    args = parse(arch, flags)
    task = tasks.setup_task(args)
    task.build_model(args)
    assert task._batching() == expected
