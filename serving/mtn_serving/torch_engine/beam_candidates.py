"""Candidates from the model, by beam search."""

from typing import TYPE_CHECKING, Any, Dict, List

from fairseq.dataclass.configs import GenerationConfig

from mtn_fairseq.generation.without_unknown import forbid_unknown
from mtn_preprocess.text.session_text import is_separator

from ..engine import Hypotheses

if TYPE_CHECKING:
    from .trained_model import TrainedModel


class BeamCandidates:
    """Beam search that never generates `<unk>`.

    Args:
        trained: the model
        beam: hypotheses per session; all of them are candidates
    """

    def __init__(self, trained: "TrainedModel", beam: int) -> None:
        self.trained = trained
        longest = trained.task.level_sizes[0]
        options = GenerationConfig(beam=beam, nbest=beam, max_len_b=longest)
        self.generator = trained.task.build_generator([trained.model], options)
        forbid_unknown(self.generator)  # regardless of the training settings

    def __call__(self, sources: Dict[str, Any]) -> List[Hypotheses]:
        """Texts for each session of a batch of `TrainedModel.sources`, best first."""
        found = self.trained.task.inference_step(self.generator, [self.trained.model], sources)
        words = sources["unknown_words"]
        texts = [
            [self.trained.text(each["tokens"], words) for each in beam if len(each["tokens"]) > 1]
            for beam in found
        ]
        return [Hypotheses([text for text in each if _is_query(text)]) for each in texts]


def _is_query(text: str) -> bool:
    """Whether a text is one query: a model sees separators in sessions and may generate them."""
    return not any(map(is_separator, text.split()))
