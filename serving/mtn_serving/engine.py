"""The door to a trained model: what suggesting needs of it, whoever runs it.

`torch_engine` is the plugin itself: any checkpoint of any architecture. `onnx_engine` runs what
`export` makes of `mtn` and `transformer_session`, without torch and fairseq; it also completes what
is being typed.
"""

from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Optional, Protocol, Sequence

import numpy as np

from mtn_preprocess.text.text_settings import TextSettings

Sources = Any  # sessions as an engine reads them; made once for the beam and the scores


class HistorySize(NamedTuple):
    """How much of a history a model reads."""

    sessions: int  # 0 for a model that reads the session in progress only
    queries: int  # of each session


class Hypotheses(NamedTuple):
    """What a beam search found for one session."""

    texts: List[str]  # best first
    known: Any = None  # how likely they are, as the engine has it; None for one that forgets it


class Scores(NamedTuple):
    """Of the candidates of one session."""

    log_probability: np.ndarray  # of the whole text, its end counted
    tokens: np.ndarray  # as many, its end counted
    unknown: np.ndarray  # of these, how many the model does not know


class Engine(Protocol):
    text_settings: Optional[TextSettings]  # of the text that it was trained on, if known
    settings_file: Path  # that has them, for messages
    history_size: HistorySize  # what it reads of earlier sessions
    """Several threads may ask it at once."""

    def sources(self, sessions: Sequence[str]) -> Sources:
        """A batch of sessions as prepared text has them, with the history it reads in front."""

    def longer(self, session: str, shorter: Sources) -> Sources:
        """As `sources` of one session, which grew from the only one of `shorter`: what was encoded
        then may be taken over."""

    def beam_search(self, beam: int) -> Callable[[Sources], List[Hypotheses]]:
        """A function: the hypotheses of each session of a batch."""

    def scores(
        self,
        sources: Sources,
        candidates: Sequence[Sequence[str]],
        beams: Sequence[Hypotheses] = (),
    ) -> List[Scores]:
        """How likely the model finds each candidate of each session.

        Args:
            beams: what this engine's own search found for the same sessions, which need not be
                computed again; none where it did not search
        """
