"""`mtn-architectures`: what this package registers, and how large it is."""

import argparse
import logging
import warnings
from contextlib import nullcontext
from typing import ContextManager, List, Optional, Sequence, Tuple

import torch
from fairseq import options
from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_MODEL_REGISTRY, FairseqEncoderDecoderModel
from fairseq.tasks import TASK_REGISTRY
from torch import nn

from ..data.session_text import QUERY_SEPARATOR, SESSION_SEPARATOR
from ..files.standard_streams import standard_output

PACKAGE = str(__package__).split(".", maxsplit=1)[0]
PAPER_VOCABULARY = 76604


def registered_architectures() -> List[str]:
    """Names for `--arch` that come from this package."""
    return [
        name
        for name, model in ARCH_MODEL_REGISTRY.items()
        if model.__module__.startswith(PACKAGE + ".")
    ]


def without_allocating() -> ContextManager:
    """Shapes without weights, where torch can (2.0 and later)."""
    return torch.device("meta") if torch.__version__ >= "2" else nullcontext()


def build(
    architecture: str, vocabulary: int, flags: Sequence[str] = ()
) -> FairseqEncoderDecoderModel:
    """A model as `fairseq-train` would build it, for a dictionary of so many symbols."""
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
    """How many numbers are learned: in all, and outside the layers as wide as the vocabulary."""
    weights = list(model.parameters())  # shared ones once
    body = [weight for weight in weights if weight.size(0) != vocabulary]
    return sum(w.numel() for w in weights), sum(w.numel() for w in body)


def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = argparse.ArgumentParser(
        prog="mtn-architectures",
        description="Print the architectures of this package and their numbers of parameters.",
    )
    parser.add_argument(
        "--vocabulary",
        type=int,
        default=PAPER_VOCABULARY,
        metavar="V",
        help="symbols in the dictionary (default: %(default)s, the paper's for AOL)",
    )
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")  # fairseq and hydra, about each other
    logging.disable(logging.WARNING)
    with standard_output() as out:
        out.write(f"| architecture | parameters (V = {args.vocabulary:,}) ")
        out.write("| outside embedding and output |\n|---|---|---|\n")
        for name in sorted(registered_architectures()):
            with without_allocating():
                count, body = parameters(build(name, args.vocabulary), args.vocabulary)
            out.write(f"| `{name}` | {count:,} | {body:,} |\n")
            out.flush()  # each takes a while


if __name__ == "__main__":
    main()
