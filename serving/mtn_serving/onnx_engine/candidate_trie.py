"""How likely given queries are: those of a session as a trie, each distinct prefix once."""

from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np

from mtn_preprocess.errors import InputError

from ..engine import Scores
from .beam_search import Hypothesis
from .decoder import Decoder
from .encoder import Encoded, bias_of
from .vocabulary import END, PAD, Vocabulary

_FLOOR = -60.0  # log of "never", as the plugin has it for unknown words
_MAX_NUMBERS = 1 << 22  # of one matrix, nodes times words: 16 MB

Known = Dict[Tuple[int, ...], float]  # the log probability of a text, by its columns


class Trie:
    """The distinct prefixes of queries. A node is a prefix; its children, what follows it."""

    def __init__(self) -> None:
        self.columns = [END]  # the last token of each prefix; the root has none
        self.parents = [-1]
        self.depths = [0]
        self.children: List[Dict[int, int]] = [{}]  # column -> its place among the wanted ones
        self._nodes: Dict[Tuple[int, int], int] = {}

    def add(self, columns: Sequence[int]) -> Tuple[List[int], List[int]]:
        """The nodes at which each token is wanted, and its place among the wanted ones there."""
        nodes, places, node = [], [], 0
        for column in columns:
            of_node = self.children[node]
            nodes.append(node)
            places.append(of_node.setdefault(column, len(of_node)))
            if column != END:
                node = self._node_behind(node, column)
        return nodes, places

    def _node_behind(self, node: int, column: int) -> int:
        found = self._nodes.setdefault((node, column), len(self.columns))
        if found == len(self.columns):
            self.columns.append(column)
            self.parents.append(node)
            self.depths.append(self.depths[node] + 1)
            self.children.append({})
        return found

    def visible(self, size: int) -> np.ndarray:
        """(size, size): each node sees its ancestors and itself"""
        seen = np.eye(size, dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node] |= seen[parent]
        return seen


def known_of(hypotheses: Sequence[Hypothesis]) -> Known:
    """What a search has scored already. It has no floor, which counts for what is near it only."""
    likely = (each for each in hypotheses if each.log_probability > _FLOOR / 2)
    return {each.columns: each.log_probability for each in likely}


class _Job(NamedTuple):
    """Some of the candidates of one session, all of them unless they are very many."""

    session: int
    trie: Trie
    paths: List[Tuple[List[int], List[int]]]  # of each candidate, see `Trie.add`


def score(
    decoder: Decoder,
    vocabulary: Vocabulary,
    encoded: Encoded,
    candidates: Sequence[Sequence[str]],
    known: Sequence[Known],
) -> List[Scores]:
    """As `fairseq-generate --score-reference` scores a next query, but for all of them at once.

    Args:
        known: of each session; a candidate is known if it is cut into the very same columns
    """
    words = [[vocabulary.cut(text) for text in texts] for texts in candidates]
    columns = [
        [tuple(source.columns_of(each, vocabulary)) for each in of_session]
        for source, of_session in zip(encoded.sources, words)
    ]
    new = [
        [(*each, END) for each in of_session if each not in of_known]
        for of_session, of_known in zip(columns, known)
    ]
    _refuse_too_long(columns, len(decoder.positions))
    sums: List[List[float]] = [[] for _ in candidates]
    max_nodes = max(1, _MAX_NUMBERS // len(vocabulary))
    for jobs in _groups(list(_jobs(new, max_nodes)), max_nodes):
        wanted = _wanted_scores(decoder, encoded.only([job.session for job in jobs]), jobs)
        for job, of_nodes in zip(jobs, wanted.tolist()):
            sums[job.session] += [
                sum(of_nodes[node][place] for node, place in zip(*path)) for path in job.paths
            ]
    return [
        Scores(
            np.array(_in_order(of_session, of_known, of_new)),
            np.array([len(each) + 1 for each in of_words]),
            np.array([sum(word not in vocabulary.index for word in each) for each in of_words]),
        )
        for of_words, of_session, of_known, of_new in zip(words, columns, known, sums)
    ]


def _in_order(
    columns: Sequence[Tuple[int, ...]], known: Known, new: Sequence[float]
) -> List[float]:
    """The log probability of each candidate of a session."""
    computed = iter(new)
    return [known[each] if each in known else next(computed) for each in columns]


def _refuse_too_long(columns: Sequence[Sequence[Sequence[int]]], longest: int) -> None:
    found = max((len(each) for of_session in columns for each in of_session), default=0)
    if found + 1 > longest:
        raise InputError(
            f"a candidate of {found + 1} tokens, but the model was built for {longest}",
            "leave it out",
        )


def _jobs(columns: Sequence[Sequence[Sequence[int]]], max_nodes: int) -> Iterator[_Job]:
    for session, of_session in enumerate(columns):
        job = _Job(session, Trie(), [])
        for each in of_session:
            if job.paths and len(job.trie.columns) + len(each) > max_nodes:
                yield job
                job = _Job(session, Trie(), [])
            job.paths.append(job.trie.add(each))
        if job.paths:
            yield job


def _groups(jobs: Sequence[_Job], max_nodes: int) -> Iterator[List[_Job]]:
    """Jobs that are done at once, padded to the largest."""
    group: List[_Job] = []
    for job in jobs:
        most = max(len(each.trie.columns) for each in [*group, job])
        if group and (len(group) + 1) * most > max_nodes:
            yield group
            group = []
        group.append(job)
    if group:
        yield group


def _wanted_scores(decoder: Decoder, encoded: Encoded, jobs: Sequence[_Job]) -> np.ndarray:
    """(B, N, M): at each node, the log probabilities of its children"""
    tries = [job.trie for job in jobs]
    size = max(len(trie.columns) for trie in tries)
    width = max(len(children) for trie in tries for children in trie.children)
    nodes, position = (np.zeros((len(jobs), size), dtype=np.int64) for _ in range(2))
    wanted = np.full((len(jobs), size, width), PAD)
    for row, trie in enumerate(tries):
        nodes[row, : len(trie.columns)] = trie.columns
        position[row, : len(trie.depths)] = trie.depths
        for node, children in enumerate(trie.children):
            wanted[row, node, : len(children)] = list(children)
    bias = bias_of(np.stack([trie.visible(size) for trie in tries]))
    found = decoder.step(encoded, nodes, position, bias, None, 1, wanted).wanted
    is_unknown = wanted >= decoder.facts.words
    return np.where(is_unknown, np.logaddexp(found, _FLOOR), found)
