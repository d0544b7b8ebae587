"""Prefixes of next queries, a tree per session -> how likely each next word is."""

from typing import Dict, NamedTuple, Optional

import numpy as np
import onnxruntime

from .encoder import Encoded, attention_bias
from .model_files import Facts, Feed
from .session_source import NO_COLUMN
from .vocabulary import UNKNOWN


class Step(NamedTuple):
    """What the decoder knows at N new nodes of each of B trees; log probabilities."""

    past: Feed  # keys and values of all nodes so far, for the next step
    columns: np.ndarray  # (B, N, K) the best words, and all that can be copied
    scores: np.ndarray  # (B, N, K)
    wanted: np.ndarray  # (B, N, M) of the wanted columns


class Decoder:
    """The decoder's graph.

    Args:
        tables: of words and of positions
    """

    def __init__(
        self, graph: onnxruntime.InferenceSession, tables: Dict[str, np.ndarray], facts: Facts
    ) -> None:
        self.graph, self.facts = graph, facts
        self.words, self.positions = tables["words"], tables["target_positions"]
        self.outputs = [output.name for output in graph.get_outputs()]

    def step(
        self,
        encoded: Encoded,
        nodes: np.ndarray,
        position: np.ndarray,
        visible: np.ndarray,
        past: Optional[Feed],
        best: int,
        wanted: np.ndarray,
    ) -> Step:
        """One pass through the graph.

        Args:
            nodes: (B, N) the column of the last word of each prefix
            position: (B, N) of that word
            visible: (B, N, P + N) which nodes are its ancestors, and itself
            past: of the P nodes before; None where there are none
            best: how many words per node, at least
            wanted: (B, N, M) columns whose scores are wanted too
        """
        facts = self.facts
        known = encoded.columns
        generated = np.concatenate(
            [np.broadcast_to(known[:, None], (*nodes.shape, known.shape[1])), wanted], 2
        )
        feed = {
            "nodes": self.words[np.where(nodes < facts.words, nodes, UNKNOWN)]
            + self.positions[position],
            "bias": attention_bias(visible, facts.decoder_heads),
            "source_bias": attention_bias(
                np.repeat(encoded.visible[:, None], nodes.shape[1], 1), facts.decoder_heads
            ),
            "best": np.array([min(best, facts.words)]),
            "wanted": np.where(generated < facts.words, generated, 0),
            **(self._no_past(len(nodes)) if past is None else past),
            **encoded.memory,
            **encoded.sizes,
        }
        found = dict(zip(self.outputs, self.graph.run(self.outputs, feed)))
        present = {
            name.replace("present", "past"): found[name]
            for name in self.outputs
            if name.startswith("present")
        }
        columns, scores = found["best_words"], found["best_scores"]
        of_wanted = found["wanted_scores"]
        if facts.copying:
            return self._with_copied(
                present, encoded, columns, scores, generated, of_wanted, found["copied"]
            )
        return Step(present, columns, scores, of_wanted)

    def _with_copied(
        self,
        past: Feed,
        encoded: Encoded,
        columns: np.ndarray,
        scores: np.ndarray,
        generated: np.ndarray,
        of_generated: np.ndarray,
        copied: np.ndarray,
    ) -> Step:
        """Only the columns of words that can be copied differ from those of generated ones. So the
        best of the vocabulary and all that can be copied include the best of the mixture."""
        copyable = np.where(encoded.columns == NO_COLUMN, -1, encoded.columns)[:, None]  # (B, 1, W)
        places = copyable.shape[2]
        of_generated = np.where(generated < self.facts.words, of_generated, -np.inf)
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(of_generated[:, :, :places], copied)
        mixed = np.where(copyable < 0, -np.inf, mixed)
        twice = (columns[..., None] == copyable[:, :, None]).any(3)
        same = generated[:, :, places:, None] == copyable[:, :, None]  # (B, N, M, W)
        of_wanted = np.where(same, mixed[:, :, None], -np.inf).max(3)
        of_wanted = np.where(same.any(3), of_wanted, of_generated[:, :, places:])
        return Step(
            past,
            np.concatenate([columns, generated[:, :, :places]], 2),
            np.concatenate([np.where(twice, -np.inf, scores), mixed], 2),
            of_wanted,
        )

    def _no_past(self, sessions: int) -> Feed:
        facts = self.facts
        shape = sessions, facts.decoder_heads, 0, facts.channels // facts.decoder_heads
        nothing = np.zeros(shape, dtype=np.float32)
        layers = range(facts.decoder_layers)
        return {f"past_{kind}_{layer}": nothing for kind in ("key", "value") for layer in layers}
