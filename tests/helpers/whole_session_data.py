"""Pairs of whole sessions, as the preparation writes them, and their data sets."""

import random

import numpy as np
import torch
from fairseq.data import ListDataset
from sessions import DICTIONARY, EOS, SEPARATORS, SESSION, SIZES, Q, W, words

from mtn_fairseq.data.session_to_query_dataset import SessionSource, SessionToQueryDataset

A, B, C, D = range(W, W + 4)


def pairs_dataset(pairs, sizes=SIZES, shuffle=False):
    sources = [torch.tensor(source) for source, _ in pairs]
    targets = [torch.tensor(target) for _, target in pairs]
    return SessionToQueryDataset(
        SessionSource(sources, SEPARATORS, sizes, 1024, False, "train.session"),
        DICTIONARY,
        ListDataset(targets, np.array([len(target) for target in targets])),
        shuffle=shuffle,
    )


def unrolled(queries, history=()):
    """The pairs of one session as the preparation writes them, each source after `history`."""
    pairs = []
    for known in range(1, len(queries)):
        session = [token for query in queries[:known] for token in [*query, Q]]
        pairs.append(([*history, *session[:-1], EOS], [*queries[known], EOS]))
    return pairs


def random_data(seed, sessions=7, with_history=False):
    rng = random.Random(seed)
    pairs = []
    for _ in range(sessions):
        history = []
        for _ in range(rng.randint(0, 2) if with_history else 0):
            for _ in range(rng.randint(1, 3)):
                history += [*words(rng), Q]
            history[-1] = SESSION
        pairs += unrolled([words(rng) for _ in range(rng.randint(2, 5))], history)
    return pairs
