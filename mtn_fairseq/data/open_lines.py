"""Lines of a binarised file with one index per spelled-out word (see `spelled_words`)."""

from typing import Optional

import numpy as np
from torch import Tensor
from torch.utils.data import Dataset

from .flat_lines import FlatLines, TokenLines, pieces, read_lines
from .spelled_words import UnknownWords, one_index_a_word, spelled_words, without_letters


class OpenLines(Dataset):
    """Lines of a file as a model reads them.

    Args:
        dataset: the lines as stored in the file
        first_digit: index of the first digit, which is the size of the dictionary
        words: indices of unknown words; without it they are `<unk>`
    """

    def __init__(
        self, dataset: TokenLines, first_digit: int, words: Optional[UnknownWords] = None
    ) -> None:
        self.dataset, self.first_digit, self.words = dataset, first_digit, words
        self.sizes = np.concatenate(
            [self.read_lines(start, stop).sizes for start, stop in pieces(len(dataset))]
        )

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Tensor:
        line = self.dataset[index]
        if self.words is None:
            return line[line.lt(self.first_digit)]
        return one_index_a_word(line, self.first_digit, self.words)

    def read_lines(self, start: int, stop: int) -> FlatLines:
        """Many lines at once, with `<unk>` for unknown words."""
        return without_letters(read_lines(self.dataset, start, stop), self.first_digit)

    def learn_words(self) -> "OpenLines":
        """Learn the unknown words, so that this process can show them."""
        if self.words is not None:
            for start, stop in pieces(len(self.dataset)):
                lines = read_lines(self.dataset, start, stop).tokens
                for word in spelled_words(lines, self.first_digit).values():
                    self.words.learn(word)
        return self
