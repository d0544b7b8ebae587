"""Training on whole sessions: the pairs that were unrolled from one, as one example again.

A hierarchical model encodes each query once and knows, at each, what its source would be if it
ended there. So all pairs of a session can be learned in one pass, with the same loss.
"""

from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch
from fairseq.data import FairseqDataset, data_utils
from torch import Tensor

from .batching import like_shapes_together
from .flat_lines import FlatLines, pieces, read_lines
from .session_to_query_dataset import SessionToQueryDataset


class WholeSessionDataset(FairseqDataset):
    """Sessions of a `SessionToQueryDataset`, with the next query of each of their prefixes.

    Args:
        pairs: the unrolled lines, those of one session on consecutive lines, shortest first
    """

    def __init__(self, pairs: SessionToQueryDataset) -> None:
        self.pairs = pairs
        self.sessions = find_sessions(pairs)
        self._begin_examples_at(self.sessions)

    def _begin_examples_at(self, first: np.ndarray) -> None:
        pairs, shapes = self.pairs, self.pairs.src.shapes
        self.first, self.last = first, np.append(first[1:], len(pairs)) - 1
        ends = np.concatenate([[0], np.cumsum(pairs.tgt_sizes)])
        self.target_tokens = ends[self.last + 1] - ends[first]
        self.longest_target = np.maximum.reduceat(pairs.tgt_sizes, first)
        self.source_tokens = shapes.tokens[self.last]
        self.queries = shapes.queries[self.last]
        self.longest_query = shapes.longest[self.last, 0]

    def split_to_fit(
        self, max_tokens: Optional[int] = None, max_sizes: Optional[Tuple[int, int]] = None
    ) -> None:
        """A session that is too large for a batch becomes several examples, each some of its pairs.

        A pair that is too large by itself becomes an example of its own, which is left out as it
        would be among pairs.

        Args:
            max_tokens: of a batch
            max_sizes: longest source and longest target
        """
        self._begin_examples_at(self.sessions)
        most = max_tokens or np.inf
        max_source, max_target = np.broadcast_to(np.minimum(max_sizes or np.inf, most), 2)
        sources, targets = self.pairs.src.shapes.tokens, self.pairs.tgt_sizes
        fits = (sources <= max_source) & (targets <= max_target)
        too_large = (self.target_tokens > most) | ~np.logical_and.reduceat(fits, self.first)
        begins = np.zeros(len(self.pairs), bool)
        begins[self.sessions] = True
        for session in np.flatnonzero(too_large).tolist():
            tokens = 0
            for line in range(self.first[session], self.last[session] + 1):
                tokens += targets[line]
                if tokens > most or not fits[line] or not fits[line - 1]:
                    begins[line] = True
                if begins[line]:
                    tokens = targets[line]
        self._begin_examples_at(np.flatnonzero(begins))

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        lines = range(self.first[index], self.last[index] + 1)
        return {
            "id": index,
            "source": self.pairs.src[lines[-1]],
            "targets": [self.pairs.tgt[line] for line in lines],
            "queries": int(self.queries[index]),
        }

    def collater(self, samples: List[Dict[str, Any]]) -> Dict[str, Any]:
        """Sources (B, T), targets (P, T'): P pairs of B sessions; `target_rows` (P,) says which
        query, of all in the batch, each target follows."""
        if not samples:
            return {}
        targets = [target for sample in samples for target in sample["targets"]]
        ntokens = sum(map(len, targets))
        return {
            "id": torch.tensor([sample["id"] for sample in samples]),
            "nsentences": len(targets),
            "ntokens": ntokens,
            "net_input": {
                "src_tokens": self._merge(
                    [sample["source"] for sample in samples], self.pairs.left_pad_source
                ),
                "src_lengths": torch.tensor([len(sample["source"]) for sample in samples]),
                "prev_output_tokens": self._merge(targets, False, move_eos_to_beginning=True),
                "target_rows": _target_rows(samples),
            },
            "target": self._merge(targets, False),
        }

    def _merge(self, lines: List[Tensor], left_pad: bool, **options: bool) -> Tensor:
        dictionary = self.pairs.src_dict
        return data_utils.collate_tokens(
            lines, dictionary.pad(), dictionary.eos(), left_pad=left_pad, **options
        )

    def num_tokens(self, index: int) -> int:
        return max(self.source_tokens[index], self.target_tokens[index])

    def num_tokens_vec(self, indices: np.ndarray) -> np.ndarray:
        return np.maximum(self.source_tokens[indices], self.target_tokens[indices])

    def size(self, index: int) -> Tuple[int, int]:
        return int(self.source_tokens[index]), int(self.longest_target[index])

    def row_lengths(self, batch: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Of its sources and of all their targets."""
        targets = [self.pairs.tgt_sizes[self.first[i] : self.last[i] + 1] for i in batch]
        return self.source_tokens[batch], np.concatenate(targets)

    @property
    def sizes(self) -> np.ndarray:
        return np.stack([self.source_tokens, self.target_tokens], 1)

    def ordered_indices(self) -> np.ndarray:
        if self.pairs.batching.random:
            return np.random.permutation(len(self))
        return like_shapes_together(self.longest_query, self.queries, shuffle=self.pairs.shuffle)

    def filter_indices_by_size(
        self, indices: np.ndarray, max_sizes: Tuple[int, int]
    ) -> Tuple[np.ndarray, List[int]]:
        """Sessions whose source, or one of whose next queries, is longer than a model or a batch
        may have; fairseq says how many. Sources larger than the model were cut when read."""
        longest = np.stack([self.source_tokens[indices], self.longest_target[indices]], 1)
        too_long = (longest > max_sizes).any(1)
        return indices[~too_long], indices[too_long].tolist()

    def batch_by_size(
        self,
        indices: np.ndarray,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
        required_batch_size_multiple: int = 1,
    ) -> List[np.ndarray]:
        tokens, queries = self.num_tokens_vec(indices), self.queries[indices]
        return self.pairs.batching.batches(indices, tokens, queries, max_tokens, max_sentences)


def find_sessions(pairs: SessionToQueryDataset) -> np.ndarray:
    """The first line of each session: a line goes on the one above it if its source is that
    line's source, `<q>`, and that line's target. Sources are compared as the model reads them: if
    all of a session lost the same history, they still go together."""
    lines = len(pairs)
    sizes = pairs.src.shapes.tokens
    goes_on = np.zeros(lines, bool)
    goes_on[1:] = sizes[1:] == sizes[:-1] + pairs.tgt_sizes[:-1]
    cut = np.zeros(lines, bool)
    cut[list(pairs.src.oversize)] = True
    beside_cut = cut.copy()
    beside_cut[1:] |= cut[:-1]
    for line in np.flatnonzero(goes_on & beside_cut).tolist():
        goes_on[line] = _goes_on_as_read(pairs, line)
    for start, stop in pieces(lines):
        candidates = start + np.flatnonzero((goes_on & ~beside_cut)[start:stop])
        goes_on[candidates] = _go_on(pairs, candidates, start, stop)
    return np.flatnonzero(~goes_on)


def _goes_on_as_read(pairs: SessionToQueryDataset, line: int) -> bool:
    """Whether all of its tokens do, where its source or the one above was cut to fit."""
    separator = pairs.src.separators[0]
    expected = [*pairs.src[line - 1][:-1].tolist(), separator, *pairs.tgt[line - 1].tolist()]
    return pairs.src[line].tolist() == expected


def _go_on(pairs: SessionToQueryDataset, lines: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Of lines from `start` to `stop` whose sizes fit: whether all of their tokens do.

    Their sources are as they stand in the file: none was cut.
    """
    if not len(lines):
        return np.empty(0, bool)
    before = max(start - 1, 0)
    sources = read_lines(pairs.src.dataset, before, stop)
    targets = read_lines(pairs.tgt, before, stop)
    line = lines - before  # counted in what was read
    sizes = sources.sizes[line]
    first = np.cumsum(sizes) - sizes  # of each line's tokens in what is compared
    place = np.arange(sizes.sum()) - np.repeat(first, sizes)  # of each token in its line
    known = np.repeat(sources.sizes[line - 1] - 1, sizes)  # all of the line above but its end

    def tokens(of: FlatLines, line: np.ndarray, place: np.ndarray) -> np.ndarray:
        at = np.repeat(of.starts[line], sizes) + place
        return of.tokens[np.clip(at, 0, len(of.tokens) - 1)]

    expected = np.where(
        place < known,
        tokens(sources, line - 1, place),
        tokens(targets, line - 1, place - known - 1),
    )
    expected[place == known] = pairs.src.separators[0]
    found = tokens(sources, line, place)
    return np.logical_and.reduceat(expected == found, first)


def _target_rows(samples: List[Dict[str, Any]]) -> Tensor:
    """The last queries of each session, as many as it has targets, counted over the batch."""
    rows, before = [], 0
    for sample in samples:
        before += sample["queries"]
        rows.append(torch.arange(before - len(sample["targets"]), before))
    return torch.cat(rows)
