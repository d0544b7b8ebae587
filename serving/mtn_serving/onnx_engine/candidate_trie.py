"""Log-probabilities of given queries: a trie per session computes each distinct prefix once."""

from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np

from ..engine import Scores
from .beam_search import Hypothesis
from .decoder import Decoder
from .encoder import Encoded, bias_of
from .vocabulary import END, PAD, Vocabulary

_FLOOR = -60.0  # minimum log-probability of unknown words, as in the plugin
_MAX_PADDING = 1.5  # times the size of the smallest trie of a step
_MAX_NUMBERS = 1 << 22  # numbers in one matrix of nodes x words: 16 MB

Known = Dict[Tuple[int, ...], float]  # log-probabilities of texts, by columns


class Trie:
    """The distinct prefixes of queries. A node is a prefix; its children are the next tokens."""

    def __init__(self) -> None:
        self.columns = [END]  # the last token of each prefix; END for the root
        self.parents = [-1]
        self.depths = [0]
        self.children: List[Dict[int, int]] = [{}]  # column -> index among the wanted columns
        self._nodes: Dict[Tuple[int, int], int] = {}

    def add(self, columns: Sequence[int]) -> Tuple[List[int], List[int]]:
        """-> (the node before each token, the token's index among the wanted columns there)"""
        nodes, places, node = [], [], 0
        for column in columns:
            of_node = self.children[node]
            nodes.append(node)
            places.append(of_node.setdefault(column, len(of_node)))
            if column != END:
                node = self._node_after(node, column)
        return nodes, places

    def _node_after(self, node: int, column: int) -> int:
        found = self._nodes.setdefault((node, column), len(self.columns))
        if found == len(self.columns):
            self.columns.append(column)
            self.parents.append(node)
            self.depths.append(self.depths[node] + 1)
            self.children.append({})
        return found

    def visible(self, size: int) -> np.ndarray:
        """-> (size, size): each node sees its ancestors and itself"""
        seen = np.eye(size, dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node] |= seen[parent]
        return seen


def known_of(hypotheses: Sequence[Hypothesis]) -> Known:
    """Scores from a search. They have no floor, so scores near the floor are left out."""
    likely = (each for each in hypotheses if each.log_probability > _FLOOR / 2)
    return {each.columns: each.log_probability for each in likely}


class _Job(NamedTuple):
    """The candidates of one session, or a part if there are very many."""

    session: int
    trie: Trie
    paths: List[Tuple[List[int], List[int]]]  # of the candidates, see `Trie.add`
    scores: List[float]  # of the candidates, once they are computed

    @property
    def size(self) -> int:
        return len(self.trie.columns)


def score(
    decoder: Decoder,
    vocabulary: Vocabulary,
    encoded: Encoded,
    candidates: Sequence[Sequence[str]],
    known: Sequence[Known],
) -> List[Scores]:
    """Scores as of `fairseq-generate --score-reference`, but for all candidates at once.

    Args:
        known: known scores of each session, used for candidates with exactly the same columns

    A candidate too long for the model gets the lowest score: the floor for each token.
    """
    words = [[vocabulary.cut(text) for text in texts] for texts in candidates]
    columns = [
        [tuple(source.columns_of(each, vocabulary)) for each in of_session]
        for source, of_session in zip(encoded.sources, words)
    ]
    longest = len(decoder.positions)
    known = [{**of_known, **_too_long(each, longest)} for of_known, each in zip(known, columns)]
    new = [
        [(*each, END) for each in of_session if each not in of_known]
        for of_session, of_known in zip(columns, known)
    ]
    max_nodes = max(1, _MAX_NUMBERS // len(vocabulary))
    jobs = list(_jobs(new, max_nodes))
    for group in _groups(jobs, max_nodes):
        wanted = _wanted_scores(decoder, encoded.only([job.session for job in group]), group)
        for job, of_nodes in zip(group, wanted.tolist()):
            job.scores[:] = (
                sum(of_nodes[node][place] for node, place in zip(*path)) for path in job.paths
            )
    sums: List[List[float]] = [[] for _ in candidates]
    for job in jobs:
        sums[job.session] += job.scores
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
    """The log-probabilities of a session's candidates, in order."""
    computed = iter(new)
    return [known[each] if each in known else next(computed) for each in columns]


def _too_long(columns: Sequence[Tuple[int, ...]], longest: int) -> Known:
    """The scores of candidates of more than `longest` tokens, including </s>."""
    return {each: _FLOOR * (len(each) + 1) for each in columns if len(each) >= longest}


def _jobs(columns: Sequence[Sequence[Sequence[int]]], max_nodes: int) -> Iterator[_Job]:
    for session, of_session in enumerate(columns):
        job = _Job(session, Trie(), [], [])
        for each in of_session:
            if job.paths and job.size + len(each) > max_nodes:
                yield job
                job = _Job(session, Trie(), [], [])
            job.paths.append(job.trie.add(each))
        if job.paths:
            yield job


def _groups(jobs: Sequence[_Job], max_nodes: int) -> Iterator[List[_Job]]:
    """Groups of jobs to run in one step, padded to the largest; smallest first."""
    group: List[_Job] = []
    for job in sorted(jobs, key=lambda job: job.size):
        is_full = (len(group) + 1) * job.size > max_nodes
        if group and (is_full or job.size > _MAX_PADDING * group[0].size):
            yield group
            group = []
        group.append(job)
    if group:
        yield group


def _wanted_scores(decoder: Decoder, encoded: Encoded, jobs: Sequence[_Job]) -> np.ndarray:
    """-> (B, N, M): at each node, the log-probabilities of its children"""
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
