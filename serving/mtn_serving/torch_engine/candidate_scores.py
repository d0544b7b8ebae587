"""The model's log-probability of each candidate, for many sessions in one pass.

Each session is encoded once if the model accepts the rows of targets (`target_rows`). Other models
encode a session once per candidate.
"""

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Sequence

import numpy as np
import torch
from fairseq.data import Dictionary, data_utils
from torch import Tensor

from mtn_fairseq.models.session_model import SessionModel
from mtn_fairseq.modules.session_layout import SessionLayout

from ..engine import Scores

if TYPE_CHECKING:
    from .trained_model import TrainedModel

# Numbers in one matrix of tokens x words: a gigabyte in single precision.
_MAX_NUMBERS = 1 << 28


def score_candidates(
    trained: "TrainedModel", sources: Dict[str, Any], candidates: Sequence[Sequence[str]]
) -> List[Scores]:
    """Scores as of `fairseq-generate --score-reference`, but for all candidates at once.

    Args:
        sources: a batch of `trained.sources`
        candidates: of each session of the batch
    """
    owners = torch.tensor([i for i, texts in enumerate(candidates) for _ in texts])
    if not len(owners):
        return [Scores(*(np.empty(0) for _ in Scores._fields)) for _ in candidates]
    texts = [text for texts in candidates for text in texts]
    targets = trained.targets(texts, sources["unknown_words"])
    lengths = np.array([len(target) for target in targets])
    sums = np.concatenate(
        [
            _log_probabilities(
                trained,
                trained.placed(
                    _batch(trained, dict(sources["net_input"]), targets[part], owners[part])
                ),
            )
            .cpu()
            .numpy()
            for part in _parts(lengths, max(1, _MAX_NUMBERS // len(trained.dictionary)))
        ]
    )
    unknown = np.array([_unknown_words(target, trained.dictionary) for target in targets])
    bounds = np.cumsum([len(texts) for texts in candidates])[:-1]
    parts = (np.split(each, bounds) for each in (sums, lengths, unknown))
    return [Scores(*of_session) for of_session in zip(*parts)]


def _parts(lengths: np.ndarray, max_tokens: int) -> Iterator[slice]:
    """Slices of consecutive targets with at most `max_tokens` tokens, at least one target each."""
    start, tokens = 0, 0
    for place, length in enumerate(lengths.tolist()):
        if tokens and tokens + length > max_tokens:
            yield slice(start, place)
            start, tokens = place, 0
        tokens += length
    yield slice(start, len(lengths))


def _unknown_words(target: Tensor, dictionary: Dictionary) -> int:
    return int((target.eq(dictionary.unk()) | target.ge(len(dictionary))).sum())


def _log_probabilities(trained: "TrainedModel", batch: Dict[str, Any]) -> Tensor:
    """-> (P,): the sum over the tokens of each target, without padding"""
    real = batch["target"].ne(trained.dictionary.pad())  # (P, T')
    packed = {"packed": True} if isinstance(trained.model, SessionModel) else {}
    with torch.inference_mode():
        output = trained.model(**batch["net_input"], **packed)
        scores = trained.model.get_normalized_probs(output, log_probs=True, sample=batch)
        wanted = trained.model.get_targets(batch, output)
        found = scores.gather(-1, wanted.unsqueeze(-1)).squeeze(-1).float()
        # (R,) from our models, (P, T') from other models
        of_tokens = torch.zeros(real.shape, device=real.device)
        of_tokens[real] = found if found.dim() == 1 else found[real]
    return of_tokens.sum(1)


def _batch(
    trained: "TrainedModel", inputs: Dict[str, Tensor], targets: List[Tensor], owners: Tensor
) -> Dict[str, Any]:
    """All targets (P, T'), and sources (B, T) with the row of each target, or (P, T)."""
    dictionary, model = trained.dictionary, trained.model
    if getattr(model.encoder, "reads_whole_sessions", False):
        source = inputs["src_tokens"]
        layout = SessionLayout(source, model.encoder.separators, dictionary.pad())
        inputs["target_rows"] = layout.last_row[owners.to(source.device)]
    else:
        inputs = {key: each[owners.to(each.device)] for key, each in inputs.items()}
    pad, end = dictionary.pad(), dictionary.eos()
    inputs["prev_output_tokens"] = data_utils.collate_tokens(
        targets, pad, end, left_pad=False, move_eos_to_beginning=True
    )
    target = data_utils.collate_tokens(targets, pad, end, left_pad=False)
    return {
        "net_input": inputs,
        "target": target,
        "nsentences": len(targets),
        "ntokens": sum(map(len, targets)),
    }
