"""The plugin's architectures and their sizes, for `mtn-architectures`."""

from contextlib import nullcontext
from typing import ContextManager, List, Sequence, Tuple

import torch
from fairseq import options
from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_MODEL_REGISTRY, FairseqEncoderDecoderModel
from fairseq.tasks import TASK_REGISTRY
from torch import nn

import mtn_fairseq
from mtn_preprocess.text.session_text import QUERY_SEPARATOR, SESSION_SEPARATOR

PACKAGE = mtn_fairseq.__name__


def registered_architectures() -> List[str]:
    """The names for `--arch` from this package."""
    return [
        name
        for name, model in ARCH_MODEL_REGISTRY.items()
        if model.__module__.startswith(PACKAGE + ".")
    ]


def without_allocating() -> ContextManager:
    """Build tensors as shapes without memory, if torch supports it (2.0 and later)."""
    return torch.device("meta") if torch.__version__ >= "2" else nullcontext()


def build(
    architecture: str, vocabulary: int, flags: Sequence[str] = ()
) -> FairseqEncoderDecoderModel:
    """A model as `fairseq-train` builds it, for a dictionary of this many symbols."""
    dictionary = Dictionary()
    words = (QUERY_SEPARATOR, SESSION_SEPARATOR, *map(str, range(vocabulary)))
    for word in words[: vocabulary - len(dictionary)]:
        dictionary.add_symbol(word)
    parser = options.get_training_parser(default_task="session_to_query")
    args = options.parse_args_and_arch(parser, ["", "--arch", architecture, *flags])
    cfg = convert_namespace_to_omegaconf(args)
    task = TASK_REGISTRY["session_to_query"](cfg.task, dictionary, dictionary)
    return task.build_model(cfg.model)


def parameters(model: nn.Module, vocabulary: int) -> Tuple[int, int]:
    """Number of parameters: in total, and outside the vocabulary-sized layers."""
    weights = list(model.parameters())  # shared weights count once
    body = [weight for weight in weights if weight.size(0) != vocabulary]
    return sum(w.numel() for w in weights), sum(w.numel() for w in body)
