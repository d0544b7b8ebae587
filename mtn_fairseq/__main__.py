"""`python -m mtn_fairseq`: what the plugin registers with fairseq, and how to use it."""

import warnings
from importlib import metadata
from pathlib import Path
from typing import Dict, Iterable

from fairseq.criterions import CRITERION_REGISTRY
from fairseq.data.encoders import BPE_REGISTRY
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.scoring import SCORER_REGISTRY
from fairseq.tasks import TASK_REGISTRY

PACKAGE = __package__ or "mtn_fairseq"


def registered() -> Dict[str, Iterable[str]]:
    """The plugin's names by the fairseq flag that takes them."""
    registries = {
        "--task": TASK_REGISTRY,
        "--arch": ARCH_MODEL_REGISTRY,
        "--criterion": CRITERION_REGISTRY,
        "--optimizer": OPTIMIZER_REGISTRY,
        "--scoring": SCORER_REGISTRY,
        "--bpe": BPE_REGISTRY,
    }
    return {
        flag: sorted(
            name for name, known in registry.items() if known.__module__.startswith(PACKAGE)
        )
        for flag, registry in registries.items()
    }


def show() -> None:
    warnings.simplefilter("ignore")  # fairseq and hydra warn about each other
    print(f"mtn_fairseq {metadata.version('mtn_fairseq')}: a fairseq plugin for query suggestion")
    print(f"use it with fairseq's own commands: --user-dir {Path(__file__).absolute().parent}\n")
    for flag, names in registered().items():
        print(f"{flag:12} {', '.join(names)}")
    print("\nGetting started: README.md of the project. Parameters of each architecture: ", end="")
    print("mtn-architectures. Every command has --help.")


if __name__ == "__main__":
    show()
