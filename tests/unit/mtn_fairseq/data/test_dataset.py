"""Batches of pairs: by hand, complete, with little padding; truncation is counted."""

import random

import numpy as np
import pytest
import torch
from fairseq.data import ListDataset
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from sessions import (
    DICTIONARY,
    EOS,
    PAD,
    SEPARATORS,
    SESSION,
    SMALL,
    Q,
    W,
    build,
    flat,
    parse,
    random_sessions,
    words,
)

from mtn_fairseq.data.session_to_query_dataset import SessionSource, SessionToQueryDataset
from mtn_preprocess.errors import InputError

A, B, C, D, E = range(W, W + 5)


def source(lines, sizes=(6, 6, 4, 3), max_tokens=1024, refuse=False, separators=SEPARATORS):
    tensors = [torch.tensor(line) for line in lines]
    return SessionSource(tensors, separators, sizes, max_tokens, refuse, "bin/train.session")


def dataset(lines, targets=None, **options):
    if targets is not None:
        tensors = [torch.tensor(line) for line in targets]
        targets = ListDataset(tensors, np.array([len(line) for line in targets]))
    return SessionToQueryDataset(
        source(lines), DICTIONARY, targets, name="bin/train.next", shuffle=False, **options
    )


def random_pairs(seed, count):
    rng = random.Random(seed)
    lines = [flat(session) for session in random_sessions(seed, count)]
    return lines, [[*words(rng), EOS] for _ in range(count)]


# --- collation ------------------------------------------------------------------------------------

PAIRS = [[A, Q, B, C, EOS], [D, EOS], [E, A, SESSION, B, EOS]], [[B, EOS], [C, D, E, EOS], [A, EOS]]


def test_collation_by_hand():
    pairs = dataset(*PAIRS)
    batch = pairs.collater([pairs[0], pairs[1], pairs[2]])
    # Longest source first, as fairseq has it; sources are padded on the left, targets on the right.
    assert batch["id"].tolist() == [0, 2, 1]
    assert batch["net_input"]["src_tokens"].tolist() == [
        [A, Q, B, C, EOS],
        [E, A, SESSION, B, EOS],
        [PAD, PAD, PAD, D, EOS],
    ]
    assert batch["net_input"]["src_lengths"].tolist() == [5, 5, 2]
    assert batch["target"].tolist() == [
        [B, EOS, PAD, PAD],
        [A, EOS, PAD, PAD],
        [C, D, E, EOS],
    ]
    assert batch["net_input"]["prev_output_tokens"].tolist() == [
        [EOS, B, PAD, PAD],
        [EOS, A, PAD, PAD],
        [EOS, C, D, E],
    ]
    assert (batch["nsentences"], batch["ntokens"]) == (3, 8)


def test_collation_padded_on_the_right():
    pairs = dataset(*PAIRS, left_pad_source=False)
    batch = pairs.collater([pairs[1], pairs[0]])
    assert batch["net_input"]["src_tokens"].tolist() == [
        [A, Q, B, C, EOS],
        [D, EOS, PAD, PAD, PAD],
    ]


def test_collation_without_targets():
    pairs = dataset(PAIRS[0])
    batch = pairs.collater([pairs[1]])
    assert batch["target"] is None
    assert batch["net_input"]["src_tokens"].tolist() == [[D, EOS]]


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 7, 8, 299])
@pytest.mark.parametrize(
    "limits", [{"max_sentences": 32}, {"max_tokens": 200}, {"max_tokens": 200, "max_sentences": 12}]
)
@pytest.mark.parametrize("multiple", [1, 8])
def test_every_line_comes_out_once(count, limits, multiple):
    pairs = dataset(*random_pairs(1, count))
    batches = pairs.batch_by_size(
        pairs.ordered_indices(), required_batch_size_multiple=multiple, **limits
    )
    assert sorted(index for batch in batches for index in batch) == list(range(count))
    for batch in batches:
        assert len(batch) <= limits.get("max_sentences", count)
        width = max(max(pairs.size(index)) for index in batch)
        assert width * len(batch) <= limits.get("max_tokens", 10**9)


def padding_share(pairs, batches):
    """Of the flat sources, and of the queries as rows, which an MTN computes on."""
    tokens, queries, longest, _ = pairs.src.shapes
    as_flat = sum(len(batch) * tokens[batch].max() for batch in batches)
    as_rows = sum(queries[batch].sum() * longest[batch, 0].max() for batch in batches)
    return 1 - tokens.sum() / as_flat, 1 - tokens.sum() / as_rows


def test_similar_shapes_are_batched_together():
    pairs = dataset(*random_pairs(2, 400))
    ordered = pairs.batch_by_size(pairs.ordered_indices(), max_sentences=16)
    at_random = np.random.RandomState(3).permutation(400)
    shuffled = pairs.batch_by_size(at_random, max_sentences=16)
    (flat_share, row_share), (flat_before, row_before) = (
        padding_share(pairs, batches) for batches in (ordered, shuffled)
    )
    assert flat_share < flat_before * 0.7
    assert row_share < row_before * 0.8


def test_order_by_hand():
    """By the longest query, then by the number of queries; otherwise in the given order."""
    lines = [
        [A, Q, B, Q, C, EOS],  # longest 2, 3 queries
        [A, B, EOS],  # longest 3, 1 query
        [A, EOS],  # longest 2, 1 query
        [B, EOS],  # longest 2, 1 query
        [A, B, Q, C, EOS],  # longest 3, 2 queries
        [A, Q, B, EOS],  # longest 2, 2 queries
    ]
    assert dataset(lines).ordered_indices().tolist() == [2, 3, 5, 0, 1, 4]


def test_shuffled_order_keeps_shapes_together():
    pairs = dataset(*random_pairs(4, 200))
    pairs.shuffle = True
    shapes = pairs.src.shapes
    orders = []
    for seed in (1, 2):
        np.random.seed(seed)
        orders.append(pairs.ordered_indices())
        longest = shapes.longest[orders[-1], 0]
        assert (np.diff(longest) >= 0).all()
    assert sorted(orders[0]) == list(range(200))
    assert orders[0].tolist() != orders[1].tolist()


# --- too large ------------------------------------------------------------------------------------

TOO_LARGE = [
    [A, EOS],
    [A, Q, B, Q, C, EOS],  # 3 queries
    [A, Q, B, EOS],
    [A, B, C, D, EOS],  # 5 tokens
]


@pytest.mark.parametrize(
    "sizes",
    [
        (4, 2, 4, 3),
        (4, 2),  # fewer than the dictionary has levels, but enough for the data
    ],
)
def test_truncation_is_counted(caplog, sizes):
    lines = source(TOO_LARGE, sizes)
    assert "2 of 4 sessions are larger than the model" in caplog.text
    assert "bin/train.session" in caplog.text
    assert "line 2" in caplog.text
    assert [lines[i].tolist() for i in range(4)] == [
        [A, EOS],
        [B, Q, C, EOS],
        [A, Q, B, EOS],
        [A, B, C, EOS],
    ]
    assert lines.sizes.tolist() == [2, 4, 4, 4]
    assert lines.shapes.queries.tolist() == [1, 2, 2, 1]


def test_truncation_to_all_tokens(caplog):
    lines = source([[A, Q, B, C, Q, D, EOS], [A, EOS]], max_tokens=5)
    assert "1 of 2 sessions" in caplog.text
    assert lines[0].tolist() == [B, C, Q, D, EOS]
    assert lines.sizes.tolist() == [5, 2]


def test_nothing_is_logged_if_all_lines_fit(caplog):
    lines = source(TOO_LARGE)
    assert not caplog.text
    assert [lines[i].tolist() for i in range(4)] == TOO_LARGE


@pytest.mark.parametrize("sizes, max_tokens", [((6, 2, 4, 3), 1024), ((6, 6, 4, 3), 5)])
def test_refused_with_its_line(sizes, max_tokens):
    with pytest.raises(InputError, match=r"^bin/train\.session:2: .*--level-sizes.*; .*truncate"):
        source(TOO_LARGE, sizes, max_tokens, refuse=True)


def test_more_levels_than_sizes():
    with pytest.raises(InputError, match=r"^bin/train\.session: data of 3 levels.*2 numbers; "):
        source([[A, EOS], [A, SESSION, B, EOS]], sizes=(6, 6))


# --- empty queries --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line, reason",
    [
        ([EOS], "no query"),
        ([Q, EOS], "empty query"),
        ([A, Q, EOS], "empty query"),
        ([A, Q, Q, B, EOS], "empty query"),
        ([A, Q, SESSION, B, EOS], "empty query"),
    ],
)
def test_empty_queries_are_refused_with_their_line(line, reason):
    with pytest.raises(InputError, match=rf"^bin/train\.session:3: {reason}.*; remove"):
        source([[A, EOS], [B, EOS], line, line])


def test_empty_targets_are_refused_with_their_line():
    with pytest.raises(InputError, match=r"^bin/train\.next:2: empty next query .1 such.*; remove"):
        dataset([[A, EOS], [B, EOS]], [[A, EOS], [EOS]])


def test_many_lines_are_measured_in_pieces(monkeypatch):
    from mtn_fairseq.data import flat_lines

    lines, _ = random_pairs(5, 23)
    whole = source(lines).shapes
    monkeypatch.setattr(flat_lines, "_BATCH_SIZE", 5)
    for found, expected in zip(source(lines).shapes, whole):
        assert (found == expected).all()


def test_line_numbers_continue_across_buffers():
    """fairseq-interactive passes one buffer at a time."""
    task, _ = build("mtn", SMALL)
    task.build_dataset_for_inference([torch.tensor([A, EOS])] * 2, [2, 2])
    with pytest.raises(InputError, match=r"^input:4: no query"):
        task.build_dataset_for_inference([torch.tensor([A, EOS]), torch.tensor([EOS])], [2, 1])


def test_sources_fit_the_model_when_flags_are_not_repeated():
    """At generation the task has default sizes until it has built the model."""
    task, _ = build("mtn", SMALL)
    short = parse("mtn", f"{SMALL} --max-source-positions 5 --level-sizes 4,4,4,4")
    task.build_model(convert_namespace_to_omegaconf(short).model)
    line = torch.tensor([A, B, A, Q, A, Q, A, B, A, B, EOS])
    dataset = task.build_dataset_for_inference([line], [len(line)])
    assert dataset[0]["source"].tolist() == [A, B, A, EOS]


@pytest.mark.parametrize("sizes, longest", [([1, 10], 50), ([12, 10], 1)])
def test_sizes_without_room_for_a_word_are_refused(sizes, longest):
    with pytest.raises(InputError, match="no room for a word"):
        SessionSource([torch.tensor([A, EOS])], [Q], sizes, longest, False, "x")
