"""Features of the words of candidates: what they share with the session and with each other."""

from functools import partial
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .next_queries import NextQueries
from .once import Once

_ELSEWHERE, _IN_LAST, _EARLIER = range(3)  # where the session has a word


class _Text(NamedTuple):
    length: int  # number of words
    numbers: List[int]  # of the distinct words
    trigrams: FrozenSet[str]


class CandidateWords:
    """The words of the candidates of a batch, which has S sessions with C candidates in all.

    Words are numbered from 0 within the batch, up to V. Candidates have D words in all, each
    counted once per candidate.

    Args:
        texts: of the candidates of each session
        table: for the weights of words; None if all have the same
    """

    def __init__(self, texts: Sequence[Sequence[str]], table: Optional[NextQueries]) -> None:
        self.texts, self.numbers = texts, _Numbers()
        # Each text once. A method of this object would keep both alive until they are collected.
        self.read = Once(partial(_read, self.numbers))
        read = [self.read[text] for of_session in texts for text in of_session]
        self.lengths = np.array([each.length for each in read])  # (C,)
        self.distinct = np.array([len(each.numbers) for each in read])  # (C,)
        self.words = np.array([number for each in read for number in each.numbers])  # (D,)
        self.starts = np.cumsum(self.distinct) - self.distinct  # (C,) first word of each candidate
        self.weights = np.array(
            [1.0 if table is None else table.word_weight(word) for word in self.numbers]
        )  # (V,)

    def features(self, sessions: Sequence[Sequence[str]]) -> Iterator[np.ndarray]:
        """(C,) for each name, in the order of `features.NAMES`.

        `from_session` is the share of a candidate's words that are in the session, weighted by
        rarity: `hotels` has a low weight, `reykjavik` a high one.
        """
        sizes = list(map(len, self.texts))
        where = self._where(sessions, sizes)
        kept = self._sums(where == _IN_LAST)
        repeated = self._sums(where == _EARLIER)
        of_last = [max(len({*session[-1].split()}), 1) for session in sessions]  # 0 words if empty
        weights = self.weights[self.words]
        shared = np.where(where != _ELSEWHERE, weights, 0)
        yield self.lengths
        yield kept
        yield kept / np.repeat(of_last, sizes)
        yield kept / self.distinct
        yield repeated
        yield self.distinct - kept - repeated
        yield from self._compared([session[-1] for session in sessions])
        yield self._sums(shared) / self._sums(weights)

    def _where(self, sessions: Sequence[Sequence[str]], sizes: Sequence[int]) -> np.ndarray:
        """(D,): where the session has each word"""
        places = np.full((len(sessions), len(self.weights)), _ELSEWHERE)
        for of_session, session in zip(places, sessions):
            of_session[self.numbers.known(" ".join(session[:-1]).split())] = _EARLIER
            of_session[self.numbers.known(session[-1].split())] = _IN_LAST
        session_of = np.repeat(np.arange(len(sessions)), sizes)
        return places[session_of.repeat(self.distinct), self.words]

    def _compared(self, last_queries: Sequence[str]) -> np.ndarray:
        """(3, C): shared trigrams, and whether one text starts with all words of the other"""
        rows: List[Tuple[float, bool, bool]] = []
        for last, texts in zip(last_queries, self.texts):
            trigrams, start = _trigrams(last), last + " "
            for text in texts:
                own = self.read[text].trigrams
                like = 2 * len(own & trigrams) / (len(own) + len(trigrams))
                rows.append((like, text.startswith(start), last.startswith(text + " ")))
        return np.array(rows, dtype=np.float32).T

    def agreement(self, probabilities: np.ndarray) -> np.ndarray:
        """(C,): the overlap of words with all candidates of the same session, weighted by their
        probability (C,).

        A candidate that shares many words with other likely candidates may be partly right even if
        none of them is right.
        """
        found = np.empty(len(probabilities))
        ends, end = np.cumsum(self.distinct).tolist(), 0
        for texts in self.texts:
            start, end = end, end + len(texts)
            if start < end:
                distinct = self.distinct[start:end]
                words = self.words[self.starts[start] : ends[end - 1]]
                has = np.zeros((len(texts), len(self.weights)), dtype=np.float32)
                has[np.arange(len(texts)).repeat(distinct), words] = 1
                overlap = 2 * (has @ has.T) / np.float32(distinct[:, None] + distinct)
                found[start:end] = overlap @ probabilities[start:end]
        return found

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """(D,) -> (C,)"""
        return np.add.reduceat(values, self.starts)


class _Numbers(Dict[str, int]):
    """The numbers of words, in the order in which they are first seen."""

    def of(self, words: Sequence[str]) -> List[int]:
        return [self.setdefault(word, len(self)) for word in dict.fromkeys(words)]

    def known(self, words: Sequence[str]) -> List[int]:
        return [self[word] for word in words if word in self]


def _read(numbers: _Numbers, text: str) -> _Text:
    words = text.split()
    return _Text(len(words), numbers.of(words), _trigrams(text))


def _trigrams(text: str) -> FrozenSet[str]:
    """As text: thousands of tuples would be a burden for the garbage collector."""
    padded = f"  {text} "
    return frozenset(map("".join, zip(padded, padded[1:], padded[2:])))
