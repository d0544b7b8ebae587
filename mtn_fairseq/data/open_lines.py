"""Lines of a binarised file, their spelled-out words one index each (see `spelled_words`)."""

from typing import Optional

import numpy as np
from torch import Tensor
from torch.utils.data import Dataset

from .flat_lines import FlatLines, TokenLines, pieces, read_lines
from .spelled_words import UnknownWords, one_index_a_word, spelled_words, without_letters


class OpenLines(Dataset):
    """What a model reads of a file.

    Args:
        dataset: the lines as they stand in the file
        first_digit: size of the dictionary, where the spelling begins
        words: gives unknown words their index; without it they are `<unk>`
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
        """Many at once; unknown words are `<unk>` here."""
        return without_letters(read_lines(self.dataset, start, stop), self.first_digit)

    def learn_words(self) -> "OpenLines":
        """So that they can be shown, by this process."""
        if self.words is not None:
            for start, stop in pieces(len(self.dataset)):
                lines = read_lines(self.dataset, start, stop).tokens
                for word in spelled_words(lines, self.first_digit).values():
                    self.words.learn(word)
        return self
