"""Features of the words of candidates: what they share with the session and with each other."""

from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .next_queries import NextQueries
from .once import Once


class _Text(NamedTuple):
    """What the features need of one text."""

    length: int  # number of words
    words: FrozenSet[str]
    weight: float  # sum over the distinct words
    trigrams: FrozenSet[Tuple[str, str, str]]


def word_features(
    sessions: Sequence[Sequence[str]],
    texts: Sequence[Sequence[str]],
    table: Optional[NextQueries],
) -> np.ndarray:
    """Features of the candidates of each session, by name: see the end of `features.NAMES`.

    `from_session` is the share of a candidate's words that are in the session, weighted by
    rarity: `hotels` has a low weight, `reykjavik` a high one.

    Returns:
        (names, all candidates)
    """
    # Each word and text once, however many candidates and sessions have it.
    weight_of: Once[str, float] = Once(table.word_weight if table is not None else _same_weight)

    def read(text: str) -> _Text:
        words = text.split()
        distinct = frozenset(words)
        weight = sum(map(weight_of.__getitem__, distinct))
        return _Text(len(words), distinct, weight, _trigrams(text))

    known: Once[str, _Text] = Once(read)
    rows: List[Sequence[float]] = []
    for session, of_session in zip(sessions, texts):
        last_query = session[-1]
        start, last_trigrams = last_query + " ", _trigrams(last_query)
        last = frozenset(last_query.split())
        earlier = frozenset(" ".join(session[:-1]).split()) - last
        for text in of_session:
            length, words, weight, trigrams = known[text]
            kept, repeated = words & last, words & earlier
            rows.append(
                (
                    length,
                    len(kept),
                    len(kept) / max(len(last), 1),  # 0 words without a session
                    len(kept) / len(words),
                    len(repeated),
                    len(words) - len(kept) - len(repeated),
                    2 * len(trigrams & last_trigrams) / (len(trigrams) + len(last_trigrams)),
                    text.startswith(start),
                    last_query.startswith(text + " "),
                    sum(map(weight_of.__getitem__, kept | repeated)) / weight,
                )
            )
    return np.array(rows, dtype=np.float32).T


def agreement(texts: Sequence[Sequence[str]], weights: Sequence[np.ndarray]) -> np.ndarray:
    """The overlap of words with all candidates of the same session, weighted by their probability.

    A candidate that shares many words with other likely candidates may be partly right even if none
    of them is right.

    Args:
        weights: of the candidates of each session; their sum is 1
    Returns:
        (all candidates,)
    """
    words_of: Once[str, FrozenSet[str]] = Once(lambda text: frozenset(text.split()))
    return np.concatenate(
        [
            _agreement([words_of[text] for text in of_session], of_rows)
            for of_session, of_rows in zip(texts, weights)
        ]
    )


def _agreement(words: Sequence[FrozenSet[str]], weights: np.ndarray) -> np.ndarray:
    places: Dict[str, int] = {}
    columns = [places.setdefault(word, len(places)) for of_text in words for word in of_text]
    lengths = np.array(list(map(len, words)))
    has = np.zeros((len(words), len(places)), dtype=np.float32)
    has[np.arange(len(words)).repeat(lengths), columns] = 1
    shared = has @ has.T
    return (2 * shared / np.float32(lengths[:, None] + lengths)) @ weights


def _same_weight(word: str) -> float:
    return 1.0


def _trigrams(text: str) -> FrozenSet[Tuple[str, str, str]]:
    padded = f"  {text} "
    return frozenset(zip(padded, padded[1:], padded[2:]))
