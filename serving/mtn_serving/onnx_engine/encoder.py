"""Sessions -> codes that the decoder attends to, computed once per session for all calls."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import onnxruntime

from .model_files import ATTENTION, Facts, Feed
from .session_layout import LevelView, SessionLayout, query_tokens
from .session_source import NO_COLUMN, Source
from .token_codes import INPUT, OUTPUT, TokenCodes
from .vocabulary import UNKNOWN

NEVER = np.float32(-3e4)  # a score that softmax turns into 0
_GENERATE = np.float32(1e3)  # log-odds of generating if there is nothing to copy


class Copyable(NamedTuple):
    """The words that can be copied, up to W per session."""

    columns: np.ndarray  # (B, W) columns of the output distribution; -1 for padding
    words: np.ndarray  # (B, W) their indices in the decoder's graph; UNKNOWN if not in dictionary
    known: np.ndarray  # (B, W) whether the dictionary has them


class Encoded(NamedTuple):
    """B encoded sessions."""

    sources: Sequence[Source]
    memory: Feed  # inputs of the decoder's graph, with B as the first dimension
    sizes: Feed  # inputs that all sessions share
    source_bias: np.ndarray  # (B, H, 1, T) which tokens the decoder sees
    copyable: Copyable
    token_codes: Optional[TokenCodes]  # for sessions that grow; None to encode all again
    attention: Optional[List[np.ndarray]]  # see `Engine.attention`; None if not known

    def only(self, kept: Any) -> "Encoded":
        """Some of the sessions, by position."""
        return self._replace(
            sources=[self.sources[place] for place in kept],
            memory={name: array[kept] for name, array in self.memory.items()},
            source_bias=self.source_bias[kept],
            copyable=Copyable(*(array[kept] for array in self.copyable)),
            token_codes=None,
            attention=None,
        )


class Encoder:
    """Runs the encoder's graph and prepares its inputs.

    Args:
        tables: of words, positions and weights (see `export.tables`)
        separators: indices of `<q>`, `<session>`, …
    """

    def __init__(
        self,
        graph: onnxruntime.InferenceSession,
        tables: Dict[str, np.ndarray],
        facts: Facts,
        separators: Sequence[int],
    ) -> None:
        self.graph, self.tables, self.facts = graph, tables, facts
        self.hierarchical = facts.architecture == "mtn"
        self.separators = list(separators) if self.hierarchical else []
        self.outputs = [output.name for output in graph.get_outputs()]
        self.keeps_codes = OUTPUT in self.outputs

    def __call__(self, sources: Sequence[Source], known: Optional[TokenCodes] = None) -> Encoded:
        """Encode a batch.

        Args:
            known: codes of the session that the only source grew from
        """
        layout = SessionLayout([source.tokens for source in sources], self.separators)
        facts = self.facts
        tokens = query_tokens(layout, self.separators) if self.hierarchical else layout.tokens
        feed = self._tokens(layout, tokens, known)
        top = max(facts.levels, 2)  # without a level above queries, the source is a session
        upper = range(2, top + 1) if self.hierarchical else ()
        views = [layout.level(level, top=level == top) for level in upper]
        if facts.levels > 1:
            feed.update(self._levels(layout, views))
        memory: Feed = {}
        sizes: Feed = {}
        columns = np.zeros((len(sources), 1), dtype=np.int64)
        if facts.copying:
            of_encoder, memory, sizes, columns = _pointer_inputs(
                layout, [source.columns for source in sources], views
            )
            feed.update(of_encoder)
        found = dict(zip(self.outputs, self.graph.run(self.outputs, feed)))
        codes = found.pop(OUTPUT, None)
        attention = found.pop(ATTENTION, None)
        if attention is not None:
            attention = [rows[last, : last + 1] for rows, last in zip(attention, layout.last)]
        visible = layout.exists
        if facts.decoder_context == "query":
            visible = layout.query == layout.last[:, None]
        source_bias = for_heads(bias_of(visible)[:, None], facts.decoder_heads)
        return Encoded(
            sources,
            {**memory, **found},
            sizes,
            source_bias,
            _copyable(columns, facts.words),
            None if codes is None else TokenCodes(tokens, codes),
            attention,
        )

    def _tokens(
        self, layout: SessionLayout, tokens: np.ndarray, known: Optional[TokenCodes]
    ) -> Feed:
        """Inputs of level 1: all tokens, or only those after the known ones."""
        feed, first = {}, 0
        if self.keeps_codes:
            if known is None:
                known = TokenCodes.none_of(tokens, self.facts.channels)
            else:
                known = known.at_start_of(tokens, self.separators[0])
            feed[INPUT], first = known.codes, known.codes.shape[1]
        vectors = self.tables["words"].take(tokens[:, first:], 0)
        vectors += self.tables["source_positions"].take(layout.position[:, first:], 0)
        query = layout.query[:, first:]
        together = query[:, :, None] == query[:, None, :]  # padding sees padding
        feed["tokens"] = vectors
        feed["token_bias"] = for_heads(bias_of(together), self.facts.encoder_heads)
        return feed

    def _levels(self, layout: SessionLayout, views: Sequence[LevelView]) -> Feed:
        """Inputs of levels 2 and up: parts of each unit, their positions and attention masks."""
        facts = self.facts
        slots = np.arange(layout.queries)
        below = layout.query[:, None, :] == slots[:, None]  # (B, Q, T) parts of each unit
        position = layout.position
        feed: Feed = {"query_of_token": np.float32(below.transpose(0, 2, 1))}
        for level, view in enumerate(views, 2):
            feed[f"parts_{level}"] = self._parts(level, below, position)
            feed[f"positions_{level}"] = self.tables[f"positions_{level}"][view.position]
            feed[f"bias_{level}"] = for_heads(bias_of(view.visible), facts.encoder_heads)
            below, position = view.visible, view.position
        return feed

    def _parts(self, level: int, below: np.ndarray, position: np.ndarray) -> np.ndarray:
        """A matrix that selects or mixes vectors of the level below (B, S) for each of Q units.

        Args:
            below: (B, Q, S) whether a vector is part of the unit
        Returns:
            (B, Q, S) weights of a vector projection, or (B, Q·P, S) one row per part
        """
        if self.facts.projections[level - 2] == "vector":
            return below * self.tables[f"weights_{level}"][position][:, None, :]
        parts = self.facts.level_sizes[level - 2]
        sessions, queries, vectors = below.shape
        found = np.zeros((sessions, queries, parts, vectors), dtype=np.float32)
        session, query, vector = below.nonzero()
        found[session, query, position[session, vector], vector] = 1
        return found.reshape(sessions, queries * parts, vectors)


def _copyable(columns: np.ndarray, words: int) -> Copyable:
    """Args: columns: (B, W), NO_COLUMN for padding"""
    known = (columns != NO_COLUMN) & (columns < words)
    return Copyable(
        np.where(columns == NO_COLUMN, -1, columns), np.where(known, columns, UNKNOWN), known
    )


def bias_of(visible: np.ndarray) -> np.ndarray:
    """The attention bias: 0 if visible, far below 0 if masked."""
    return np.where(visible, np.float32(0), NEVER)


def for_heads(bias: np.ndarray, heads: int) -> np.ndarray:
    """(B, N, S) -> (B, H, N, S)"""
    return np.repeat(bias[:, None], heads, 1)


def _pointer_inputs(
    layout: SessionLayout, columns: Sequence[List[int]], views: Sequence[LevelView]
) -> Tuple[Feed, Feed, Feed, np.ndarray]:
    """The inputs of the pointer for the words that can be copied.

    Args:
        views: of the levels; empty for a flat model
    Returns:
        inputs of the encoder, of the decoder per session, of the decoder, and the columns (B, W)
    """
    sessions, queries, length = len(columns), layout.queries, int(layout.position.max()) + 1
    session, place = layout.exists.nonzero()
    at = layout.query[session, place] * length + layout.position[session, place]
    column = np.array([each for row in columns for each in row])
    words = [[*dict.fromkeys(each for each in row if each != NO_COLUMN)] for row in columns]
    count = max(1, *map(len, words))
    places = np.zeros((sessions, queries * length, layout.tokens.shape[1]), dtype=np.float32)
    places[session, at, place] = 1
    table = np.array([[*row, *[NO_COLUMN] * (count - len(row))] for row in words])  # (B, W)
    is_word = column != NO_COLUMN
    to_word = np.zeros((sessions, queries * length, count), dtype=np.float32)
    to_word[session, at] = is_word[:, None] & (table[session] == column[:, None])
    has_word = to_word.max(2) > 0  # (B, Q·L)
    gate = np.where(has_word.any(1), np.float32(0), _GENERATE)[:, None, None]
    memory = {"pointer_to_word": to_word, "pointer_gate": gate}
    if not views:
        mask = bias_of(has_word)[:, None]
        return {"pointer_places": places, "pointer_mask": mask}, memory, {}, table
    units = _units_with_words(
        has_word.reshape(sessions, queries, length).max(2), views, layout.last
    )
    for level, view in enumerate(views[:-1], 1):
        bias = bias_of(view.visible)[:, None]
        memory[f"pointer_parts_{level}"] = bias
    mask = bias_of(np.concatenate([has_word, *units], 1))[:, None]
    ends = (layout.query[:, None, :] == np.arange(queries)[:, None]) & layout.is_last_of_query[
        :, None
    ]
    feed = {"pointer_places": places, "pointer_ends": np.float32(ends), "pointer_mask": mask}
    sizes = {
        "pointer_sizes": np.array([queries * length, *[queries] * len(views)]),
        "pointer_by_query": np.array([0, 0, queries, length]),
    }
    return feed, memory, sizes, table


def _units_with_words(
    has_word: np.ndarray, views: Sequence[LevelView], last: np.ndarray
) -> List[np.ndarray]:
    """(B, Q) per level, from queries up: units with a word to copy; at the top, only units visible
    from the last query."""
    units = [has_word]
    for view in views[:-1]:
        units.append((view.visible & units[-1][:, None, :]).any(2))
    units[-1] = units[-1] & views[-1].visible[np.arange(len(last)), last]
    return units
