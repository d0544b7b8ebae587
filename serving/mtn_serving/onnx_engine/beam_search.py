"""Beam search with the same hypotheses as the plugin's search.

A search grows a tree of prefixes per session (see `decoder`). It ends when no unfinished hypothesis
is likelier than the finished ones to return (`mtn_fairseq.generation.ended_hypotheses`).
Shapes: B sessions still in search, R hypotheses each, P nodes of their trees computed so far.
"""

from operator import itemgetter
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .decoder import Decoder, Step
from .encoder import NEVER, Encoded, bias_of
from .model_files import Feed
from .typed_start import Continuations, Start
from .vocabulary import END, PAD, Vocabulary

_EXTRA_WORDS = 3  # extra words per node, because </s>, <pad> and <unk> may be among the best
_IS_WORD = np.array([True, False, False, False, True])  # by index; the last for all larger ones
_IMPOSSIBLE = float("-inf")
_MAX_FULL_SORT = 256  # up to this many scores, a full sort is faster than a partial one


class Hypothesis(NamedTuple):
    columns: Tuple[int, ...]  # of its words, without </s>
    log_probability: float  # of the words and </s>

    @property
    def score(self) -> float:
        """The mean log-probability per token, including </s>, by which hypotheses are ranked."""
        return self.log_probability / (len(self.columns) + 1)


class Found(NamedTuple):
    """The result for one session."""

    best: List[Hypothesis]  # best first, as many as the beam is wide
    known: Dict[Tuple[int, ...], float]  # log-probabilities of all that ended, by columns


def search(
    decoder: Decoder,
    vocabulary: Vocabulary,
    encoded: Encoded,
    beam: int,
    max_words: int,
    starts: Sequence[Start],
) -> List[Found]:
    """The hypotheses of each session.

    Args:
        max_words: maximum number of words to add to a start
        starts: the start of the hypotheses of each session; at least one word is added
    """
    ended = _Ended(starts, beam)
    live = np.arange(len(starts))  # (B,) numbers of the sessions in search
    past, seen, so_far = _read_given_words(decoder, encoded, starts)
    words = np.array([[(END, *start.columns)[-1:]] for start in starts])  # (B, R, words added + 1)
    given = np.array([[len(start.columns)] for start in starts])  # (B, 1)
    typed = _Typed.of(starts, encoded, vocabulary)
    for added in range(max_words + 1):
        shape = words.shape[:2]  # B, R
        bias = _with_new_nodes(seen)
        wanted = np.full((*shape, 1), END)
        if typed is not None:
            wanted = np.concatenate([wanted, typed.columns()], 2)
        step = decoder.step(
            encoded, words[:, :, -1], given + added, bias, past, beam + _EXTRA_WORDS, wanted
        )
        if added:
            scores = so_far + step.wanted[:, :, 0]
            ended.add(live, words, scores if typed is None else typed.only_complete(scores))
        if added == max_words:
            break

        # The best continuations of each session, (B, beam): the word, and the row it continues.
        columns, scores = _continuations(step, wanted, typed)
        total = (so_far[:, :, None] + scores).reshape(len(live), -1)
        place = _largest(total, beam) + np.arange(0, total.size, total.shape[1])[:, None]
        so_far, word = total.take(place), columns.take(place)
        row = place // columns.shape[2]  # among the rows of all sessions
        seen, words = _rows(bias, row), np.concatenate([_rows(words, row), word[:, :, None]], 2)
        past, typed = step.past, typed and typed.after(row % shape[1], word)

        # Each session's hypotheses are sorted, so those that are still needed come first.
        needed = (so_far > ended.least_needed(live)[:, None]).sum(1)  # (B,)
        rows = int(needed.max())
        if not rows:
            break
        seen, words, so_far = seen[:, :rows], words[:, :rows], so_far[:, :rows]
        unfinished = np.flatnonzero(needed)
        if len(unfinished) < len(live):
            live, given, seen, words, so_far = (
                part[unfinished] for part in (live, given, seen, words, so_far)
            )
            encoded = encoded.only(unfinished)
            past = {name: array[unfinished] for name, array in past.items()}
        typed = typed and typed.only(unfinished, rows)
    return ended.found()


def _with_new_nodes(seen: np.ndarray) -> np.ndarray:
    """(B, R, P) -> (B, R, P + R): each new node sees the given nodes and itself"""
    sessions, rows, before = seen.shape
    bias = np.full((sessions, rows, before + rows), NEVER)
    bias[:, :, :before] = seen
    bias.reshape(sessions, -1)[:, before :: before + rows + 1] = 0
    return bias


def _rows(array: np.ndarray, row: np.ndarray) -> np.ndarray:
    """(B, R, X), rows (B, beam) -> (B, beam, X)"""
    return array.reshape(-1, array.shape[2]).take(row, 0)


def _read_given_words(
    decoder: Decoder, encoded: Encoded, starts: Sequence[Start]
) -> Tuple[Optional[Feed], np.ndarray, np.ndarray]:
    """Compute all given words except the last in one step.

    Returns:
        keys and values of these P nodes, the bias of the last word to them (B, 1, P), and the
        log-probability of all given words (B, 1)
    """
    longest = max(len(start.columns) for start in starts)
    count = np.array([len(start.columns) for start in starts])
    seen = np.arange(longest) < count[:, None]
    if not longest:
        return None, bias_of(seen)[:, None], np.zeros((len(starts), 1))
    chain = np.full((len(starts), longest + 1), PAD)
    chain[:, 0] = END
    for row, start in zip(chain, starts):
        row[1 : len(start.columns) + 1] = start.columns
    before = bias_of(np.tri(longest, dtype=bool))
    bias = np.broadcast_to(before, (len(starts), longest, longest))
    position = np.broadcast_to(np.arange(longest), seen.shape)
    step = decoder.step(encoded, chain[:, :-1], position, bias, None, 1, chain[:, 1:, None])
    scores = np.where(seen, step.wanted[:, :, 0], 0)
    return step.past, bias_of(seen)[:, None], scores.sum(1, keepdims=True)


def _continuations(
    step: Step, wanted: np.ndarray, typed: Optional["_Typed"]
) -> Tuple[np.ndarray, np.ndarray]:
    """-> (words that continue the hypotheses (B, R, K), their log-probabilities)"""
    columns = step.columns
    scores = np.where(_IS_WORD.take(columns, mode="clip"), step.scores, -np.inf)
    if typed is None:
        return columns, scores
    limited = typed.is_open[:, :, None]
    fits = limited & (wanted[:, :, 1:] != PAD)
    return (
        np.concatenate([columns, wanted[:, :, 1:]], 2),
        np.concatenate(
            [
                np.where(limited, -np.inf, scores),
                np.where(fits, step.wanted[:, :, 1:], -np.inf),
            ],
            2,
        ),
    )


def _largest(scores: np.ndarray, count: int) -> np.ndarray:
    """(B, S) -> (B, count): the positions of the largest scores, in order"""
    if max(count, _MAX_FULL_SORT) < scores.shape[1]:
        row = np.arange(len(scores))[:, None]
        places = scores.argpartition(-count, 1)[:, -count:]
        return places[row, (-scores[row, places]).argsort(1)]
    return (-scores).argsort(1)[:, :count]


class _Typed(NamedTuple):
    """The rest of the typed prefix that each hypothesis must still generate."""

    rests: List[List[str]]  # (B, R)
    follow: List[Continuations]  # (B,)

    @classmethod
    def of(
        cls, starts: Sequence[Start], encoded: Encoded, vocabulary: Vocabulary
    ) -> Optional["_Typed"]:
        if not any(start.rest for start in starts):
            return None
        follow = [Continuations(source, vocabulary) for source in encoded.sources]
        return cls([[start.rest] for start in starts], follow)

    @property
    def is_open(self) -> np.ndarray:
        """(B, R): whether a rest is left"""
        return np.array([[bool(rest) for rest in rests] for rests in self.rests])

    def only_complete(self, scores: np.ndarray) -> np.ndarray:
        """(B, R): scores, -inf for hypotheses that cannot end because a rest is left"""
        return np.where(self.is_open, -np.inf, scores)

    def columns(self) -> np.ndarray:
        """(B, R, M): the words that can follow, padded with PAD"""
        found = [
            [follow.columns(rest) if rest else [] for rest in rests]
            for rests, follow in zip(self.rests, self.follow)
        ]
        most = max(len(each) for of_session in found for each in of_session)
        return np.array(
            [[[*each, *[PAD] * (most - len(each))] for each in of_session] for of_session in found],
            dtype=np.int64,
        )

    def only(self, kept: np.ndarray, rows: int) -> "_Typed":
        """Some of the sessions, with the first rows of each."""
        return _Typed(
            [self.rests[each][:rows] for each in kept], [self.follow[each] for each in kept]
        )

    def after(self, row: np.ndarray, word: np.ndarray) -> Optional["_Typed"]:
        """The rests after each hypothesis continued a row (B, beam) by a word; None if none is
        left."""
        rests = [
            [
                follow.rest_after(rests[before], column) if rests[before] else ""
                for before, column in zip(rows, words)
            ]
            for rests, follow, rows, words in zip(
                self.rests, self.follow, row.tolist(), word.tolist()
            )
        ]
        return _Typed(rests, self.follow) if any(map(any, rests)) else None


class _Ended:
    """Finished hypotheses: the likeliest of each session, as many as the beam is wide."""

    def __init__(self, starts: Sequence[Start], beam: int) -> None:
        self.starts, self.beam = starts, beam
        self.steps: List[Tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.likeliest = np.full((len(starts), beam), -np.inf)  # sorted, the largest last

    def add(self, live: np.ndarray, words: np.ndarray, likelihood: np.ndarray) -> None:
        """Add hypotheses: words (B, R, added + 1), likelihood (B, R)."""
        self.steps.append((live, words, likelihood))
        both = np.concatenate([self.likeliest[live], likelihood], 1)
        both.sort(1)
        self.likeliest[live] = both[:, -self.beam :]

    def least_needed(self, live: np.ndarray) -> np.ndarray:
        """(B,): less likely hypotheses are not needed"""
        return self.likeliest[live, 0]

    def found(self) -> List[Found]:
        known: List[Dict[Tuple[int, ...], float]] = [{} for _ in self.starts]
        for live, words, likelihood in self.steps:
            added = words[:, :, 1:].tolist()
            for number, rows, scores in zip(live.tolist(), added, likelihood.tolist()):
                start = self.starts[number].columns
                known[number].update(
                    ((*start, *row), score)
                    for row, score in zip(rows, scores)
                    if score > _IMPOSSIBLE  # of rows without words to continue with, too
                )
        return [Found(self._best(each), each) for each in known]

    def _best(self, known: Dict[Tuple[int, ...], float]) -> List[Hypothesis]:
        likeliest = sorted(known.items(), key=itemgetter(1), reverse=True)[: self.beam]
        return sorted((Hypothesis(*each) for each in likeliest), key=lambda each: -each.score)
