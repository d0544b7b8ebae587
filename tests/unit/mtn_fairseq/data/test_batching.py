"""Training batches: drawn at random where padding costs nothing, every example once."""

import numpy as np
import pytest
from fairseq import tasks
from hypothesis import given
from hypothesis import strategies as st
from sessions import EOS, parse
from whole_session_data import A, B, C, D, pairs_dataset, random_data, unrolled

from mtn_fairseq.data.batching import Batching, fill_batches
from mtn_fairseq.data.whole_sessions import WholeSessionDataset
from mtn_preprocess.errors import InputError

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
        if following is not None:  # one more would not fit
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


# --- small batches --------------------------------------------------------------------------------


def batches_of(arch, flags, data, **limits):
    """The training data set and the batches of an epoch."""
    args = parse(arch, flags)
    task = tasks.setup_task(args)
    task.build_model(args)
    pairs = pairs_dataset(data, shuffle=True)
    pairs.batching = task._batching()
    dataset = WholeSessionDataset(pairs) if task.trains_whole_sessions else pairs
    epoch = task.get_batch_iterator(dataset, ignore_invalid_inputs=True, **limits)
    return dataset, [np.asarray(batch) for batch in epoch.frozen_batches]


def lines_seen(dataset, batches):
    """The lines of all pairs in the batches."""
    examples = np.concatenate(batches)
    if not isinstance(dataset, WholeSessionDataset):
        return sorted(examples.tolist())
    return sorted(line for i in examples for line in range(dataset.first[i], dataset.last[i] + 1))


@pytest.mark.parametrize("max_tokens", [6, 9, 14, 40])
@pytest.mark.parametrize("way", ["alike", "random", "by-queries"])
@pytest.mark.parametrize("arch", ["mtn", "hlstm"])
def test_whole_sessions_and_pairs_are_the_same_data(arch, way, max_tokens):
    """Every pair that fits into a batch is used, even if its session does not fit."""
    data = random_data(3, sessions=30, with_history=True)
    limits = {"max_tokens": max_tokens, "max_positions": (max_tokens, min(max_tokens, 5))}
    seen = {}
    for parallel in ("always", "never"):
        flags = f"--train-batches {way} --session-parallel {parallel}"
        dataset, batches = batches_of(arch, flags, data, **limits)
        seen[parallel] = lines_seen(dataset, batches)
        assert max(dataset.num_tokens(i) for batch in batches for i in batch) <= max_tokens
    fit = [len(source) <= max_tokens and len(target) <= 5 for source, target in data]
    assert seen["always"] == seen["never"] == np.flatnonzero(fit).tolist()
    assert 0 < len(seen["never"]) < len(data)


def test_parts_of_a_session_by_hand():
    """Targets of 2, 3, 2 and 2 tokens, sources of 2, 4, 7 and 9."""
    pairs = pairs_dataset(unrolled([[A], [B], [C, D], [A], [B]]) + unrolled([[A], [B]]))
    whole = WholeSessionDataset(pairs)
    for max_tokens, max_sizes, first in (
        (None, None, [0, 4]),
        (9, (9, 9), [0, 4]),
        (8, (8, 8), [0, 3, 4]),  # the last source is too long
        (7, (9, 9), [0, 3, 4]),  # so are all targets together
        (None, (9, 2), [0, 1, 2, 4]),  # the second target is too long
    ):
        whole.split_to_fit(max_tokens, max_sizes)
        assert whole.first.tolist() == first
    batch = whole.collater([whole[2]])  # the third and fourth pair of the first session
    assert batch["net_input"]["target_rows"].tolist() == [2, 3]
    assert batch["target"].tolist() == [[A, EOS], [B, EOS]]


def test_pairs_too_large_for_a_batch_are_validated_alone():
    """fairseq would stop with an AssertionError."""
    pairs = pairs_dataset(random_data(4))
    batches = pairs.batch_by_size(pairs.ordered_indices(), max_tokens=10)
    assert sorted(i for batch in batches for i in batch) == list(range(len(pairs)))
    tokens = [pairs.num_tokens_vec(np.asarray(batch)).max() for batch in batches]
    assert max(tokens) > 10
    assert all(len(batch) * most <= 10 or len(batch) == 1 for batch, most in zip(batches, tokens))


@pytest.mark.parametrize("arch", ["mtn", "hlstm", "transformer_session"])
def test_batches_with_equal_numbers_of_queries(arch):
    data = random_data(5, sessions=60)
    dataset, batches = batches_of(arch, "--train-batches by-queries", data, max_tokens=80)
    assert lines_seen(dataset, batches) == list(range(len(data)))
    whole = isinstance(dataset, WholeSessionDataset)
    queries = dataset.queries if whole else dataset.src.shapes.queries
    assert all(len(set(queries[batch])) == 1 for batch in batches)
    assert len(batches) > len(set(queries))  # several per number of queries, drawn at random
    longest = dataset.longest_query if whole else dataset.src.shapes.longest[:, 0]
    assert max(len(set(longest[batch])) for batch in batches) > 2
