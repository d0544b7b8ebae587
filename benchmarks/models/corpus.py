"""Random binarised sessions of a given shape: cost depends on shapes, not on words."""

from pathlib import Path
from typing import List, NamedTuple

import numpy as np
import torch
from fairseq.data import Dictionary, indexed_dataset

from mtn_fairseq.data.spelled_words import spell

WORDS_PER_QUERY = [0.16, 0.27, 0.24, 0.14, 0.09, 0.05, 0.03, 0.02]  # 1 to 8, as in AOL's log
SEPARATORS = ["<q>", "<session>", "<unit3>"]


class Shape(NamedTuple):
    """The parameters that a benchmark varies.

    Args:
        vocabulary: number of distinct words
        queries: per session; the last one is only a target
        depth: 1 for sessions; 2 groups a source's queries into sessions, 3 groups these, …
        unknown: share of words outside the dictionary
    """

    vocabulary: int
    queries: int = 5
    depth: int = 1
    unknown: float = 0.0

    @property
    def unit(self) -> int:
        """Queries per unit of the lowest level above queries."""
        return round(self.queries ** (1 / self.depth))

    @property
    def pairs_together(self) -> int:
        """Pairs learned in one pass; with a history, those of its last session."""
        return self.unit - 1 if self.depth == 1 else self.unit


def write_corpus(folder: Path, shape: Shape, sessions: int, seed: int = 1) -> Path:
    """Write training, validation and test pairs like fairseq-preprocess, and a dictionary."""
    folder.mkdir(parents=True)
    dictionary = _dictionary(shape.vocabulary)
    for side in ("session", "next"):
        dictionary.save(str(folder / f"dict.{side}.txt"))
    random = np.random.default_rng(seed)
    for split, count in (("train", sessions), ("valid", 8), ("test", sessions)):
        builders = {
            side: indexed_dataset.make_builder(
                str(folder / f"{split}.session-next.{side}.bin"), "mmap", len(dictionary)
            )
            for side in ("session", "next")
        }
        for _ in range(count):
            _add_session(builders, dictionary, shape, random)
        for side, builder in builders.items():
            builder.finalize(str(folder / f"{split}.session-next.{side}.idx"))
    return folder


def _dictionary(vocabulary: int) -> Dictionary:
    dictionary = Dictionary()
    for name in SEPARATORS + [f"w{i}" for i in range(vocabulary)]:
        dictionary.add_symbol(name)
    return dictionary


def _add_session(
    builders: dict, dictionary: Dictionary, shape: Shape, random: np.random.Generator
) -> None:
    """All pairs of one session, shortest first."""
    lengths = 1 + random.choice(len(WORDS_PER_QUERY), shape.queries, p=WORDS_PER_QUERY)
    first_word = dictionary.index("w0")
    # Zipf's law: the rank of a word is log-uniform.
    queries = [
        first_word + (shape.vocabulary ** random.random(length)).astype(np.int64) - 1
        for length in lengths
    ]
    spelled = [_spell_some(query, dictionary, shape.unknown, random) for query in queries]
    eos = dictionary.eos()
    source: List[int] = []
    for place, (query, following) in enumerate(zip(spelled, spelled[1:]), 1):
        source += query
        builders["session"].add_item(torch.tensor([*source, eos]))
        builders["next"].add_item(torch.tensor([*following, eos]))
        source.append(dictionary.index(SEPARATORS[_level(place, shape)]))


def _spell_some(
    query: np.ndarray, dictionary: Dictionary, share: float, random: np.random.Generator
) -> List[int]:
    """The tokens of a query, with some words spelled out in eight letters each."""
    tokens: List[int] = []
    for word in query.tolist():
        if share and random.random() < share:
            tokens += [dictionary.unk(), *spell(f"{word:08d}", len(dictionary))]
        else:
            tokens.append(word)
    return tokens


def _level(place: int, shape: Shape) -> int:
    """Which separator follows the query at this place, 0 for `<q>`, in units of equal size."""
    return max(k for k in range(shape.depth) if place % shape.unit**k == 0)
