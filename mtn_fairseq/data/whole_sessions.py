"""Training on whole sessions: all pairs that were unrolled from one session form one example.

A hierarchical model encodes each query once, and its state at a query is that of a source which
ends there. So one pass trains on all pairs of a session, with the same loss.
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
        pairs: unrolled lines; the pairs of a session are consecutive, shortest first
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
        """Split each session that is too large for a batch into several examples of some pairs.

        A pair that is too large by itself becomes its own example, and is then left out as in
        training on pairs.

        Args:
            max_tokens: tokens per batch
            max_sizes: longest source and longest target
        """
        self._begin_examples_at(self.sessions)
        batch_limit = max_tokens or np.inf
        max_source, max_target = np.broadcast_to(np.minimum(max_sizes or np.inf, batch_limit), 2)
        sources, targets = self.pairs.src.shapes.tokens, self.pairs.tgt_sizes
        fits = (sources <= max_source) & (targets <= max_target)
        too_large = (self.target_tokens > batch_limit) | ~np.logical_and.reduceat(fits, self.first)
        begins = np.zeros(len(self.pairs), bool)
        begins[self.sessions] = True
        for session in np.flatnonzero(too_large).tolist():
            tokens = 0
            for line in range(self.first[session], self.last[session] + 1):
                tokens += targets[line]
                if tokens > batch_limit or not fits[line] or not fits[line - 1]:
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
        """Sources (B, T), targets (P, T') for P pairs of B sessions; `target_rows` (P,) is the
        query that each target follows, counted over the batch."""
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
        """Lengths of the batch's sources and of all their targets."""
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
        """Drop sessions with a source or a next query too long for the model or a batch; fairseq
        logs how many. Sources larger than the model were cut when read."""
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
    """The first line of each session. A line continues the line above if its source is that line's
    source, `<q>` and that line's target. Sources are compared as the model reads them: if all lines
    of a session lost the same history, they still belong together."""
    lines = len(pairs)
    sizes = pairs.src.shapes.tokens
    continues = np.zeros(lines, bool)
    continues[1:] = sizes[1:] == sizes[:-1] + pairs.tgt_sizes[:-1]
    cut = np.zeros(lines, bool)
    cut[list(pairs.src.oversize)] = True
    beside_cut = cut.copy()
    beside_cut[1:] |= cut[:-1]
    for line in np.flatnonzero(continues & beside_cut).tolist():
        continues[line] = _continues_when_cut(pairs, line)
    for start, stop in pieces(lines):
        candidates = start + np.flatnonzero((continues & ~beside_cut)[start:stop])
        continues[candidates] = _continue(pairs, candidates, start, stop)
    return np.flatnonzero(~continues)


def _continues_when_cut(pairs: SessionToQueryDataset, line: int) -> bool:
    """Whether a line continues the line above, if one of the two sources was cut to fit."""
    separator = pairs.src.separators[0]
    expected = [*pairs.src[line - 1][:-1].tolist(), separator, *pairs.tgt[line - 1].tolist()]
    return pairs.src[line].tolist() == expected


def _continue(pairs: SessionToQueryDataset, lines: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Which of the `lines` from `start` to `stop` continue the line above; their sizes match.

    None of their sources was cut, so the tokens are those in the file.
    """
    if not len(lines):
        return np.empty(0, bool)
    before = max(start - 1, 0)
    sources = read_lines(pairs.src.dataset, before, stop)
    targets = read_lines(pairs.tgt, before, stop)
    line = lines - before  # index among the lines read here
    sizes = sources.sizes[line]
    first = np.cumsum(sizes) - sizes  # offset of each line
    place = np.arange(sizes.sum()) - np.repeat(first, sizes)  # position of each token in its line
    known = np.repeat(sources.sizes[line - 1] - 1, sizes)  # the line above without `</s>`

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
    """(P,) the query before each target, counted over the batch: the last ones of each session."""
    rows, before = [], 0
    for sample in samples:
        before += sample["queries"]
        rows.append(torch.arange(before - len(sample["targets"]), before))
    return torch.cat(rows)
