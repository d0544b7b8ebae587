"""Between words and the columns that a model which copies has for them (see `words`)."""

from typing import Any, Dict, List

import torch
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from .words import Columns


def columns_of(
    models: List[FairseqEncoderDecoderModel], src_tokens: Tensor, target: Tensor
) -> Tensor:
    """(B, T), (B, T') -> (B, T'): an unknown word is in its slot if any of the models can copy it.

    Slots stand behind the dictionary, and `<unk>` within it.
    """
    return torch.stack([model.columns_of(src_tokens, target) for model in models]).amax(0)


def put_words(found: List[List[Dict[str, Any]]], src_tokens: Tensor, columns: Columns) -> None:
    """In the place of columns, in the hypotheses of each of the sources (B, T)."""
    hypotheses = [hypothesis for each in found for hypothesis in each]
    if not hypotheses:
        return
    tokens = [hypothesis["tokens"] for hypothesis in hypotheses]
    counts = [sum(len(hypothesis["tokens"]) for hypothesis in each) for each in found]
    words = columns.words_of(src_tokens, torch.cat(tokens), counts)
    for hypothesis, its_words in zip(hypotheses, words.split([len(each) for each in tokens])):
        hypothesis["tokens"] = its_words
