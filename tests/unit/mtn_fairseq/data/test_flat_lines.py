"""Many lines at once equal the lines one by one."""

import numpy as np
import pytest
import torch
from fairseq.data import indexed_dataset
from sessions import DICTIONARY
from whole_session_data import pairs_dataset, random_data

from mtn_fairseq.data import flat_lines
from mtn_fairseq.data.binarised import load_pairs
from mtn_fairseq.data.flat_lines import FlatLines, pieces, read_lines
from mtn_fairseq.data.session_to_query_dataset import SessionSource, SessionToQueryDataset
from mtn_fairseq.data.whole_sessions import find_sessions


def binarised(path, lines, words):
    """Write lines as fairseq-preprocess does; with more words, tokens are wider."""
    builder = indexed_dataset.make_builder(f"{path}.bin", "mmap", words)
    for line in lines:
        builder.add_item(torch.tensor(line))
    builder.finalize(f"{path}.idx")
    return indexed_dataset.MMapIndexedDataset(str(path))


@pytest.mark.parametrize("words", [100, 100_000])
@pytest.mark.parametrize(("start", "stop"), [(0, 4), (1, 3), (2, 2), (3, 4), (0, 0)])
def test_of_a_file(tmp_path, words, start, stop):
    lines = [[5, 2], [99, 7, 2], [4, 2], [9, 8, 7, 2]]
    tokens, sizes = read_lines(binarised(tmp_path / "lines", lines, words), start, stop)
    assert tokens.tolist() == [token for line in lines[start:stop] for token in line]
    assert sizes.tolist() == [len(line) for line in lines[start:stop]]


@pytest.mark.parametrize("kind", ["mmap", "lazy", "cached"])
def test_every_kind_of_file_can_be_read(tmp_path, kind):
    """Each `--dataset-impl`, of which one can only read lines that were prefetched."""
    lines = [[5, 2], [9, 7, 2]]
    for side in ("session", "next"):
        path = tmp_path / f"train.session-next.{side}"
        builder = indexed_dataset.make_builder(f"{path}.bin", kind, 100)
        for line in lines:
            builder.add_item(torch.tensor(line))
        builder.finalize(f"{path}.idx")
    for side in load_pairs(
        str(tmp_path), "train", ("session", "next"), DICTIONARY, kind, combine=False
    ):
        assert read_lines(side, 0, 2).tokens.tolist() == [5, 2, 9, 7, 2]


def test_starts():
    assert FlatLines.of([np.array([5, 2]), np.array([7, 7, 2]), np.array([2])]).starts.tolist() == [
        0,
        2,
        5,
    ]


def test_pieces_are_all_lines_once(monkeypatch):
    monkeypatch.setattr(flat_lines, "_BATCH_SIZE", 4)
    assert list(pieces(9)) == [(0, 4), (4, 8), (8, 9)]
    assert list(pieces(0)) == [(0, 0)]


@pytest.mark.parametrize("at_once", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("in_file", [True, False])
def test_sessions_do_not_end_where_a_piece_does(tmp_path, monkeypatch, at_once, in_file):
    data = random_data(seed=3, sessions=12, with_history=True)
    expected = find_sessions(pairs_dataset(data))
    pairs = pairs_dataset(data)
    if in_file:
        sources, targets = zip(*data)
        source = pairs.src
        pairs = SessionToQueryDataset(
            SessionSource(
                binarised(tmp_path / "sources", sources, 100),
                source.separators,
                source.level_sizes,
                source.max_tokens,
                False,
                "train.session",
            ),
            DICTIONARY,
            binarised(tmp_path / "targets", targets, 100),
        )
    monkeypatch.setattr(flat_lines, "_BATCH_SIZE", at_once)
    assert find_sessions(pairs).tolist() == expected.tolist()
    assert len(expected) < len(data)
