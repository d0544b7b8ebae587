"""Prefixes of next queries, one tree per session -> log-probabilities of next words."""

from typing import Dict, NamedTuple, Optional

import numpy as np
import onnxruntime

from .encoder import Encoded, for_heads
from .model_files import Facts, Feed
from .vocabulary import END, PAD, UNKNOWN


class Step(NamedTuple):
    """The output at N new nodes of each of B trees; scores are log-probabilities."""

    past: Feed  # keys and values of all nodes so far, for the next step
    columns: np.ndarray  # (B, N, K) the best words, and all words that can be copied
    scores: np.ndarray  # (B, N, K) of `columns`
    wanted: np.ndarray  # (B, N, M) scores of the wanted columns


class Decoder:
    """Runs the decoder's graph.

    Args:
        tables: of words and positions
        words: number of words that it can generate, the first of the dictionary; it can only copy
            others
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
        present = [name for name in self.outputs if name.startswith("present")]  # the first outputs
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
            position: (B, N) of that word, or (B, 1) if all have the same
            bias: (B, N, P + N) 0 for ancestors and the node itself, far below 0 for other nodes
            past: keys and values of the P earlier nodes; None if there are none
            best: minimum number of words per node; 0 if only `wanted` is needed
            wanted: (B, N, M) columns whose scores are needed in any case
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
        """Model input: copied words outside the dictionary become `<unk>`."""
        if self.facts.copying:
            return np.where(columns < self.facts.words, columns, UNKNOWN)
        return columns

    def _can_say(self, encoded: Encoded) -> np.ndarray:
        """-> (B, W): which words that can be copied can also be generated"""
        return encoded.copyable.known & (encoded.copyable.words < self.said)

    def _with_copied(
        self, step: Step, encoded: Encoded, wanted: np.ndarray, copied: np.ndarray
    ) -> Step:
        """Mix generating and copying. Copying changes only the columns of words that can be copied,
        so the best words of the mixture are among the best generated and all copied words.

        Args:
            step: for generated words; its `wanted` begins with the words that can be copied
            wanted: (B, N, M) columns
            copied: (B, N, W) log-probabilities of copying
        """
        places, columns = copied.shape[2], encoded.copyable.columns  # (B, W)
        generated = np.where(self._can_say(encoded)[:, None], step.wanted[:, :, :places], -np.inf)
        mixed = np.logaddexp(generated, copied)  # -inf if there is nothing to copy
        of_wanted = self._of_wanted(step.wanted[:, :, places:], wanted, columns, mixed)
        if not step.columns.size:
            return step._replace(wanted=of_wanted)
        twice = (step.columns[..., None] == columns[:, None, None]).any(3)
        return Step(
            step.past,
            np.concatenate([step.columns, columns[:, None].repeat(wanted.shape[1], 1)], 2),
            np.concatenate([np.where(twice, -np.inf, step.scores), mixed], 2),
            of_wanted,
        )

    def _of_wanted(
        self, generated: np.ndarray, wanted: np.ndarray, columns: np.ndarray, mixed: np.ndarray
    ) -> np.ndarray:
        """-> (B, N, M): scores of wanted columns, from generated and mixed scores"""
        found = np.where(wanted < self.facts.words, generated, -np.inf)
        asked = ((wanted != PAD) & (wanted != END)).nonzero()
        if not len(asked[0]):
            return found
        which, slot = (wanted[asked][:, None] == columns[asked[0]]).nonzero()
        session, node, place = (axis[which] for axis in asked)
        found[session, node, place] = mixed[session, node, slot]
        return found

    def _no_past(self, sessions: int) -> Feed:
        facts = self.facts
        shape = sessions, facts.decoder_heads, 0, facts.channels // facts.decoder_heads
        nothing = np.zeros(shape, dtype=np.float32)
        layers = range(facts.decoder_layers)
        return {f"past_{kind}_{layer}": nothing for kind in ("key", "value") for layer in layers}
