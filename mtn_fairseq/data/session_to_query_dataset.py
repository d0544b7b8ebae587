"""Pairs (session so far, next query) for fairseq's trainer and generator."""

import logging
from typing import List, Optional, Sequence, Tuple

import numpy as np
from fairseq.data import Dictionary, FairseqDataset, LanguagePairDataset
from torch import Tensor
from torch.utils.data import Dataset

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.level_sizes import fit

from .batching import ALIKE, Batching, like_shapes_together
from .flat_lines import FlatLines, TokenLines, pieces, read_lines
from .session_shapes import Shapes, measure

logger = logging.getLogger(__name__)


class SessionSource(Dataset):
    """Checked source lines, cut to the sizes that the model was built for.

    Args:
        dataset: binarised lines, each ending in `</s>`
        separators: dictionary indices of `<q>`, `<session>`, …
        sizes: largest unit of each level (`--level-sizes`)
        max_tokens: longest line (`--max-source-positions`)
        refuse_oversize: raise an error instead of cutting
        name: the file, for messages
        lines_before: number of its lines in earlier batches
        quiet: cut without a warning
        no_sessions: lines that may be empty
    """

    def __init__(
        self,
        dataset: TokenLines,
        separators: Sequence[int],
        sizes: Sequence[int],
        max_tokens: int,
        refuse_oversize: bool,
        name: str,
        lines_before: int = 0,
        quiet: bool = False,
        no_sessions: Sequence[int] = (),
    ) -> None:
        self.dataset = dataset
        if sizes[0] < 2 or max_tokens < 2:
            raise InputError(
                "no room for a word and the end of its query",
                "give --level-sizes and --max-source-positions of at least 2 tokens",
            )
        self.name, self.first_line = name, lines_before + 1
        self.separators, self.level_sizes, self.max_tokens = separators, sizes, max_tokens
        shapes = _measure_all(dataset, separators)
        shapes.empty[list(no_sessions)] = False
        self._refuse_empty_queries(shapes)
        used = int(np.flatnonzero((shapes.longest > 1).any(0)).max(initial=-1)) + 1
        if used > len(sizes):
            raise InputError(
                f"data of {used} levels, but --level-sizes has {len(sizes)} numbers",
                "give a size for each level of the data",
                name,
            )
        limits = np.full(shapes.longest.shape[1], np.iinfo(np.int64).max)
        limits[: len(sizes)] = sizes[: len(limits)]
        oversize = (shapes.longest > limits).any(1) | (shapes.tokens > max_tokens)
        self.oversize = set(np.flatnonzero(oversize).tolist())
        if self.oversize:
            self._report_oversize(shapes, refuse_oversize, quiet)
            shapes = self._shapes_after_fitting(shapes)
        self.shapes = shapes

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Tensor:
        line = self.dataset[index]
        return self._fit(line) if index in self.oversize else line

    def _fit(self, line: Tensor) -> Tensor:
        fitted = fit(line.tolist(), self.separators, self.level_sizes, self.max_tokens)
        return line.new_tensor(fitted)

    @property
    def sizes(self) -> np.ndarray:
        return self.shapes.tokens

    def _report_oversize(self, shapes: Shapes, refuse: bool, quiet: bool) -> None:
        first = min(self.oversize)
        found = ",".join(map(str, shapes.longest[first][: len(self.level_sizes)]))
        allowed = ",".join(map(str, self.level_sizes))
        reason = (
            f"largest units {found} and {shapes.tokens[first]} tokens in all, more than "
            f"--level-sizes {allowed} and --max-source-positions {self.max_tokens} allow"
        )
        if refuse:
            raise InputError(
                reason,
                "raise these, shorten the session, or pass --oversize truncate",
                self.name,
                self.first_line + first,
            )
        logger.log(
            logging.DEBUG if quiet else logging.WARNING,
            f"{self.name}: {len(self.oversize)} of {len(shapes.tokens)} sessions are larger than "
            "the model and are cut to fit, oldest queries first "
            f"(first: line {self.first_line + first}: {reason})",
        )

    def _refuse_empty_queries(self, shapes: Shapes) -> None:
        faults = np.flatnonzero(shapes.empty)
        if len(faults):
            reason = "no query" if shapes.queries[faults[0]] == 1 else "empty query"
            raise InputError(
                f"{reason} ({len(faults)} such lines in all)",
                "remove it, or write a word there (mtn-check-text finds it in text)",
                self.name,
                self.first_line + int(faults[0]),
            )

    def _shapes_after_fitting(self, shapes: Shapes) -> Shapes:
        changed = sorted(self.oversize)
        fitted = measure(FlatLines.of([self[i].numpy() for i in changed]), self.separators)
        for whole, part in zip(shapes, fitted):
            whole[changed] = part
        return shapes


def _measure_all(dataset: TokenLines, separators: Sequence[int]) -> Shapes:
    shapes = [
        measure(read_lines(dataset, start, stop), separators)
        for start, stop in pieces(len(dataset))
    ]
    return Shapes(*map(np.concatenate, zip(*shapes)))


class SessionToQueryDataset(LanguagePairDataset):
    """`LanguagePairDataset` with batches of similar shape, or at random, that drop no remainder."""

    def __init__(
        self,
        source: SessionSource,
        dictionary: Dictionary,
        target: Optional[FairseqDataset] = None,
        name: str = "input",
        batching: Batching = ALIKE,
        **options: object,
    ) -> None:
        if target is not None:
            _refuse_empty_targets(target, name)
        self.batching = batching
        super().__init__(
            source,
            source.sizes,
            dictionary,
            target,
            target.sizes if target is not None else None,
            dictionary,
            **options,
        )

    def row_lengths(self, batch: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Lengths of the batch's sources and of its targets."""
        return self.src_sizes[batch], self.tgt_sizes[batch]

    def ordered_indices(self) -> np.ndarray:
        if self.batching.random:
            return np.random.permutation(len(self))
        shapes = self.src.shapes
        return like_shapes_together(shapes.longest[:, 0], shapes.queries, self.shuffle)

    def batch_by_size(
        self,
        indices: np.ndarray,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
        required_batch_size_multiple: int = 1,
    ) -> List[np.ndarray]:
        tokens, queries = self.num_tokens_vec(indices), self.src.shapes.queries[indices]
        return self.batching.batches(indices, tokens, queries, max_tokens, max_sentences)


def _refuse_empty_targets(target: FairseqDataset, name: str) -> None:
    empty = np.flatnonzero(np.asarray(target.sizes) <= 1)
    if len(empty):
        raise InputError(
            f"empty next query ({len(empty)} such lines in all)",
            "remove the line from both text files",
            name,
            int(empty[0]) + 1,
        )
