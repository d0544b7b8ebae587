"""Training on whole sessions: the pairs that were unrolled from one, as one example again.

A hierarchical model encodes each query once and knows, at each, what its source would be if it
ended there. So all pairs of a session can be learned in one pass, with the same loss.
"""

from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch
from fairseq.data import FairseqDataset, data_utils
from torch import Tensor

from .batching import fill_batches, like_shapes_together
from .flat_lines import FlatLines, pieces, read_lines
from .session_to_query_dataset import SessionToQueryDataset


class WholeSessionDataset(FairseqDataset):
    """Sessions of a `SessionToQueryDataset`, with the next query of each of their prefixes.

    Args:
        pairs: the unrolled lines, those of one session on consecutive lines, shortest first
    """

    def __init__(self, pairs: SessionToQueryDataset) -> None:
        self.pairs = pairs
        self.first, self.last = find_sessions(pairs)
        shapes = pairs.src.shapes
        ends = np.concatenate([[0], np.cumsum(pairs.tgt_sizes)])
        self.target_tokens = ends[self.last + 1] - ends[self.first]
        self.longest_target = np.maximum.reduceat(pairs.tgt_sizes, self.first)
        self.source_tokens = shapes.tokens[self.last]
        self.queries = shapes.queries[self.last]
        self.longest_query = shapes.longest[self.last, 0]

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
        if self.pairs.batching.padding_is_free:
            tokens = self.num_tokens_vec(indices)
            return fill_batches(indices, tokens, max_tokens, max_sentences)
        return super().batch_by_size(indices, max_tokens, max_sentences, 1)  # see the pairs'

    @property
    def supports_prefetch(self) -> bool:
        return False


def find_sessions(pairs: SessionToQueryDataset) -> Tuple[np.ndarray, np.ndarray]:
    """First and last line of each session: a line goes on the one above it if its source is that
    line's source, `<q>`, and that line's target. A source that was cut to fit stands alone."""
    lines = len(pairs)
    sizes = pairs.src.shapes.tokens
    goes_on = np.zeros(lines, bool)
    goes_on[1:] = sizes[1:] == sizes[:-1] + pairs.tgt_sizes[:-1]
    cut = np.array(sorted(pairs.src.oversize), int)
    goes_on[cut] = False
    goes_on[np.minimum(cut + 1, lines - 1)] = False
    for start, stop in pieces(lines):
        candidates = start + np.flatnonzero(goes_on[start:stop])
        goes_on[candidates] = _go_on(pairs, candidates, start, stop)
    first = np.flatnonzero(~goes_on)
    return first, np.append(first[1:], lines) - 1


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
