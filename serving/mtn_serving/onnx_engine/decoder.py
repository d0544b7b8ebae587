"""Prefixes of next queries, a tree per session -> how likely each next word is."""

from typing import Dict, NamedTuple, Optional

import numpy as np
import onnxruntime

from .encoder import Encoded, for_heads
from .model_files import Facts, Feed
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
        words: how many of the dictionary it can say, the first ones; others it can only copy
    """

    def __init__(
        self,
        graph: onnxruntime.InferenceSession,
        tables: Dict[str, np.ndarray],
        facts: Facts,
        words: int,
    ) -> None:
        self.graph, self.facts, self.said = graph, facts, words
        self.words, self.positions = tables["words"], tables["target_positions"]
        self.outputs = [output.name for output in graph.get_outputs()]
        present = [name for name in self.outputs if name.startswith("present")]  # they come first
        self.pasts = [name.replace("present", "past") for name in present]

    def step(
        self,
        encoded: Encoded,
        nodes: np.ndarray,
        position: np.ndarray,
        bias: np.ndarray,
        past: Optional[Feed],
        best: int,
        wanted: np.ndarray,
    ) -> Step:
        """One pass through the graph.

        Args:
            nodes: (B, N) the column of the last word of each prefix
            position: (B, N) of that word, or (B, 1) if it is that of all
            bias: (B, N, P + N) 0 for its ancestors and itself, far below for other nodes
            past: of the P nodes before; None where there are none
            best: how many words per node, at least
            wanted: (B, N, M) columns whose scores are wanted too
        """
        facts, asked_for = self.facts, self._read(wanted)
        if facts.copying:
            words = np.where(self._can_say(encoded), encoded.copyable.words, UNKNOWN)
            asked_for = np.concatenate([words[:, None].repeat(nodes.shape[1], 1), asked_for], 2)
        feed = {
            "nodes": self.words.take(self._read(nodes), 0) + self.positions.take(position, 0),
            "bias": for_heads(bias, facts.decoder_heads),
            "source_bias": encoded.source_bias.repeat(nodes.shape[1], 2),
            "best": np.array([min(best, self.said)]),
            "wanted": asked_for,
            **(self._no_past(len(nodes)) if past is None else past),
            **encoded.memory,
            **encoded.sizes,
        }
        found = self.graph.run(self.outputs, feed)
        *copied, scores, columns, of_wanted = found[len(self.pasts) :]
        step = Step(dict(zip(self.pasts, found)), columns, scores, of_wanted)
        return self._with_copied(step, encoded, wanted, copied[0]) if copied else step

    def _read(self, columns: np.ndarray) -> np.ndarray:
        """Words that were copied are `<unk>` to the model where the dictionary lacks them."""
        if self.facts.copying:
            return np.where(columns < self.facts.words, columns, UNKNOWN)
        return columns

    def _can_say(self, encoded: Encoded) -> np.ndarray:
        """(B, W): which of the words that can be copied are words that it can say, too"""
        return encoded.copyable.known & (encoded.copyable.words < self.said)

    def _with_copied(
        self, step: Step, encoded: Encoded, wanted: np.ndarray, copied: np.ndarray
    ) -> Step:
        """Only the columns of words that can be copied differ from those of generated ones. So the
        best of the vocabulary and all that can be copied include the best of the mixture.

        Args:
            step: of generated words; `wanted` has those that can be copied, too, in front
            wanted: (B, N, M) columns
            copied: (B, N, W) log probabilities of copying
        """
        places, columns = copied.shape[2], encoded.copyable.columns[:, None]  # (B, 1, W)
        generated = np.where(self._can_say(encoded)[:, None], step.wanted[:, :, :places], -np.inf)
        mixed = np.logaddexp(generated, copied)  # -inf where there is nothing to copy
        twice = (step.columns[..., None] == columns[:, :, None]).any(3)
        return Step(
            step.past,
            np.concatenate([step.columns, columns.repeat(wanted.shape[1], 1)], 2),
            np.concatenate([np.where(twice, -np.inf, step.scores), mixed], 2),
            self._of_wanted(step.wanted[:, :, places:], wanted, columns, mixed),
        )

    def _of_wanted(
        self, generated: np.ndarray, wanted: np.ndarray, columns: np.ndarray, mixed: np.ndarray
    ) -> np.ndarray:
        """(B, N, M) of wanted columns, by what they are as generated and as copied ones"""
        same = wanted[..., None] == columns[:, :, None]  # (B, N, M, W)
        if not same.any():
            return np.where(wanted < self.facts.words, generated, -np.inf)
        of_copied = np.where(same, mixed[:, :, None], -np.inf).max(3)
        of_generated = np.where(wanted < self.facts.words, generated, -np.inf)
        return np.where(same.any(3), of_copied, of_generated)

    def _no_past(self, sessions: int) -> Feed:
        facts = self.facts
        shape = sessions, facts.decoder_heads, 0, facts.channels // facts.decoder_heads
        nothing = np.zeros(shape, dtype=np.float32)
        layers = range(facts.decoder_layers)
        return {f"past_{kind}_{layer}": nothing for kind in ("key", "value") for layer in layers}
