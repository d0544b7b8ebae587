"""Convert between words and the columns of a model that copies (see `words`)."""

from typing import Any, Dict, List

import torch
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from .words import Columns


def columns_of(
    models: List[FairseqEncoderDecoderModel], src_tokens: Tensor, target: Tensor
) -> Tensor:
    """(B, T), (B, T') -> (B, T'): an unknown word gets its slot if any of the models can copy it.

    The maximum prefers slots to `<unk>`: slots come after the dictionary.
    """
    return torch.stack([model.columns_of(src_tokens, target) for model in models]).amax(0)


def put_words(found: List[List[Dict[str, Any]]], src_tokens: Tensor, columns: Columns) -> None:
    """Replace columns by words in the hypotheses of each source (B, T)."""
    hypotheses = [hypothesis for each in found for hypothesis in each]
    if not hypotheses:
        return
    tokens = [hypothesis["tokens"] for hypothesis in hypotheses]
    counts = [sum(len(hypothesis["tokens"]) for hypothesis in each) for each in found]
    words = columns.words_of(src_tokens, torch.cat(tokens), counts)
    for hypothesis, its_words in zip(hypotheses, words.split([len(each) for each in tokens])):
        hypothesis["tokens"] = its_words
