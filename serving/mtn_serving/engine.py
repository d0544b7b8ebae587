"""The interface of a trained model.

`torch_engine` runs the plugin: any checkpoint of any architecture. `onnx_engine` runs exported
models (`mtn`, `transformer_session`) without torch and fairseq; it can also complete a prefix.
"""

from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Optional, Protocol, Sequence

import numpy as np

from mtn_preprocess.text.text_settings import TextSettings

Sources = Any  # sessions in an engine's own form; made once for beam and scores


class HistorySize(NamedTuple):
    """How much of a history a model reads."""

    sessions: int  # 0 for a model that reads only the session in progress
    queries: int  # per session


class Hypotheses(NamedTuple):
    """The result of a beam search for one session."""

    texts: List[str]  # best first
    known: Any = None  # their scores in the engine's own form; None if not kept


class Scores(NamedTuple):
    """The scores of one session's candidates."""

    log_probability: np.ndarray  # of the whole text, including </s>
    tokens: np.ndarray  # number of tokens, including </s>
    unknown: np.ndarray  # number of unknown tokens


class Engine(Protocol):
    """A trained model. Thread-safe."""

    text_settings: Optional[TextSettings]  # of the training text, if known
    settings_file: Path  # the file of `text_settings`, for messages
    history_size: HistorySize  # how much of a history it reads

    def sources(self, sessions: Sequence[str]) -> Sources:
        """A batch of sessions, lines of prepared text with the history first."""

    def longer(self, session: str, shorter: Sources) -> Sources:
        """The same as `sources` of one session that grew from the only session of `shorter`; an
        engine may reuse its codes."""

    def attention(self, sources: Sources) -> Optional[List[np.ndarray]]:
        """What the last query of each session attends to at the session level: a weight for each
        query that the model reads, in order, averaged over heads and layers; they sum to one.

        None for a model without a session level, and for one exported before the weights were kept.
        """

    def beam_search(self, beam: int) -> Callable[[Sources], List[Hypotheses]]:
        """A function: batch -> the hypotheses of each session."""

    def scores(
        self,
        sources: Sources,
        candidates: Sequence[Sequence[str]],
        beams: Sequence[Hypotheses] = (),
    ) -> List[Scores]:
        """Log-probabilities of the candidates of each session.

        Args:
            beams: hypotheses of this engine for the same sessions, which need not be scored again;
                empty if there was no search
        """
