"""Candidates from the model: what beam search finds."""

from typing import List, Sequence

from fairseq.dataclass.configs import GenerationConfig

from ..data.session_text import is_separator
from ..flags import one_int_per_level
from .trained_model import TrainedModel

_NEVER = 1e4  # subtracted from the score of `<unk>`, which nobody wants to be suggested


class BeamCandidates:
    """Beam search that never says `<unk>`.

    Args:
        trained: the model
        beam: hypotheses a session; all of them are candidates
    """

    def __init__(self, trained: TrainedModel, beam: int) -> None:
        self.trained = trained
        longest = one_int_per_level(trained.task.level_sizes, "--level-sizes")[0]
        options = GenerationConfig(beam=beam, nbest=beam, unkpen=_NEVER, max_len_b=longest)
        self.generator = trained.task.build_generator([trained.model], options)

    def __call__(self, sessions: Sequence[str]) -> List[List[str]]:
        """For each session, texts, best first."""
        batch = self.trained.sources(sessions)
        found = self.trained.task.inference_step(self.generator, [self.trained.model], batch)
        unknown = self.trained.dictionary.unk()
        texts = [
            [
                self.trained.text(each["tokens"])
                for each in hypotheses
                if len(each["tokens"]) > 1 and unknown not in each["tokens"]
            ]
            for hypotheses in found
        ]
        return [[text for text in of_session if _is_query(text)] for of_session in texts]


def _is_query(text: str) -> bool:
    """One query: no separator in it, which a model has seen in the session and may say."""
    return not any(map(is_separator, text.split()))
