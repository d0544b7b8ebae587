"""Log-probabilities of given queries: a trie per session computes each distinct prefix once."""

from itertools import chain, islice
from typing import Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np

from ..engine import Scores
from .decoder import Decoder
from .encoder import Encoded, bias_of
from .session_source import Source
from .vocabulary import END, PAD, UNKNOWN, Vocabulary

_FLOOR = -60.0  # minimum log-probability of unknown words, as in the plugin
_MAX_PADDING = 1.5  # times the size of the smallest trie of a step
_MAX_NUMBERS = 1 << 22  # numbers in one matrix of nodes x words: 16 MB

Known = Dict[Tuple[int, ...], float]  # log-probabilities of texts, by columns


class Trie:
    """The distinct prefixes of queries. A node is a prefix; an edge is a token that follows it."""

    def __init__(self) -> None:
        self.columns = [END]  # the last token of each prefix; END for the root
        self.parents = [0]  # the root is its own parent
        self.depths = [0]
        self.edges: List[Dict[int, int]] = [{}]  # of each node: token -> edge
        # Of each edge: its node, its place among the edges of the node, and its token.
        self.nodes: List[int] = []
        self.places: List[int] = []
        self.tokens: List[int] = []
        self._behind: List[int] = []  # the node that an edge leads to; 0 for END

    def add(self, columns: Sequence[int]) -> List[int]:
        """-> the edges of a query"""
        path, node = [], 0
        for column in columns:
            edge = self.edges[node].get(column)
            if edge is None:
                edge = self._new_edge(node, column)
            path.append(edge)
            node = self._behind[edge]
        return path

    def _new_edge(self, node: int, column: int) -> int:
        edge, of_node = len(self.nodes), self.edges[node]
        self.nodes.append(node)
        self.places.append(len(of_node))
        self.tokens.append(column)
        of_node[column] = edge
        if column == END:
            self._behind.append(0)
            return edge
        self._behind.append(len(self.columns))
        self.columns.append(column)
        self.parents.append(node)
        self.depths.append(self.depths[node] + 1)
        self.edges.append({})
        return edge


def visible(parents: np.ndarray, depth: int) -> np.ndarray:
    """(B, N) -> (B, N, N): each node sees its ancestors, up to `depth`, and itself"""
    tries, size = parents.shape
    seen = np.zeros((tries, size, size), dtype=bool)
    above = np.arange(size)[None].repeat(tries, 0)
    for _ in range(depth + 1):
        np.put_along_axis(seen, above[:, :, None], True, 2)
        above = np.take_along_axis(parents, above, 1)
    return seen


def known_of(found: Known) -> Known:
    """Scores from a search. They have no floor, so scores near the floor are left out."""
    return {columns: score for columns, score in found.items() if score > _FLOOR / 2}


class _Text(NamedTuple):
    """A candidate in words or pieces."""

    words: List[str]
    columns: Tuple[int, ...]  # UNKNOWN for words that are not in the dictionary
    unknown: int  # number of these words


class _Job(NamedTuple):
    """The candidates of one session, or a part if there are very many."""

    session: int
    trie: Trie
    paths: List[List[int]]  # of the candidates, see `Trie.add`
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
    read = {text: _read(text, vocabulary) for text in {*chain.from_iterable(candidates)}}
    texts = [[read[text] for text in of_session] for of_session in candidates]
    columns = [
        [_columns(each, source, vocabulary) for each in of_session]
        for source, of_session in zip(encoded.sources, texts)
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
        some = encoded.only([job.session for job in group])
        for job, of_edges in zip(group, _scores_of_edges(decoder, some, group)):
            job.scores[:] = (sum(of_edges[edge] for edge in path) for path in job.paths)
    sums: List[List[float]] = [[] for _ in candidates]
    for job in jobs:
        sums[job.session] += job.scores
    return [
        Scores(
            np.array(_in_order(of_session, of_known, of_new)),
            np.array([len(each.columns) + 1 for each in of_texts]),
            np.array([each.unknown for each in of_texts]),
        )
        for of_texts, of_session, of_known, of_new in zip(texts, columns, known, sums)
    ]


def _read(text: str, vocabulary: Vocabulary) -> _Text:
    words = vocabulary.cut(text)
    columns = tuple(vocabulary.index.get(word, UNKNOWN) for word in words)
    return _Text(words, columns, columns.count(UNKNOWN))


def _columns(text: _Text, source: Source, vocabulary: Vocabulary) -> Tuple[int, ...]:
    """The columns of a text, with the unknown words that its session can copy."""
    if not text.unknown or not source.unknown_words:
        return text.columns
    return tuple(source.columns_of(text.words, vocabulary))


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


def _scores_of_edges(
    decoder: Decoder, encoded: Encoded, jobs: Sequence[_Job]
) -> Iterator[List[float]]:
    """The log-probabilities of the edges of each trie."""
    tries = [job.trie for job in jobs]
    sizes = np.array([job.size for job in jobs])
    exists = np.arange(sizes.max()) < sizes[:, None]  # (B, N)
    nodes, position = (np.zeros(exists.shape, dtype=np.int64) for _ in range(2))
    parents = np.arange(exists.shape[1])[None].repeat(len(jobs), 0)  # padding sees itself
    nodes[exists] = _together(trie.columns for trie in tries)
    parents[exists] = _together(trie.parents for trie in tries)
    position[exists] = _together(trie.depths for trie in tries)
    counts = [len(trie.nodes) for trie in tries]
    token = _together(trie.tokens for trie in tries)
    place = _together(trie.places for trie in tries)
    edges = (
        np.arange(len(jobs)).repeat(counts),
        _together(trie.nodes for trie in tries),
        place,
    )
    wanted = np.full((*exists.shape, place.max() + 1), PAD)
    wanted[edges] = token
    bias = bias_of(visible(parents, int(position.max())))
    found = decoder.step(encoded, nodes, position, bias, None, 0, wanted).wanted[edges]
    unknown = token >= decoder.facts.words
    found[unknown] = np.logaddexp(found[unknown], _FLOOR)
    of_edges = iter(found.tolist())
    return (list(islice(of_edges, count)) for count in counts)


def _together(lists: Iterable[List[int]]) -> np.ndarray:
    return np.array(list(chain.from_iterable(lists)), dtype=np.int64)
