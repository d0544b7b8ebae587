"""Opens the parts of a suggester, from a bundle or from separate folders."""

from pathlib import Path
from typing import Callable, NamedTuple, Optional, Union

from mtn_preprocess.errors import InputError

from .bundle.folder import Bundle
from .completion.ranker import CompletionRanker
from .display_rules import DisplayRules
from .engine import Engine
from .next_queries import NextQueries
from .optional_imports import WHOLE_PROJECT, needed_for
from .pipeline import Pipeline
from .ranker import Ranker

AnyPath = Union[str, Path]


class Loaded(NamedTuple):
    """What a suggester uses to answer, replaced as a whole."""

    pipeline: Pipeline
    bundle: Optional[Bundle] = None  # the bundle it was loaded from


class PartPaths(NamedTuple):
    """Folders and files of parts outside a bundle; None for missing parts."""

    model: Optional[AnyPath] = None
    data: Optional[AnyPath] = None
    counts: Optional[AnyPath] = None
    ranker: Optional[AnyPath] = None
    completion_ranker: Optional[AnyPath] = None


def load_bundle(
    folder: Path,
    verify: bool,
    threads: int,
    rules: Callable[..., DisplayRules],
    build: Callable[..., Pipeline],
) -> Loaded:
    """Args:
    rules: makes the display rules from the bundle's own, `base`
    build: makes a pipeline from the parts
    """
    bundle = Bundle.open(folder, verify)
    pipeline = build(
        bundle.table(),
        bundle.engine(threads),
        bundle.ranker(),
        rules=rules(base=bundle.rules()),
        completion_ranker=bundle.completion_ranker(),
    )
    if not bundle.is_current():
        raise InputError("was replaced while it was read", "load it again", folder)
    return Loaded(pipeline, bundle)


def load_parts(
    paths: PartPaths,
    verify: bool,
    cpu: bool,
    rules: Callable[[], DisplayRules],
    build: Callable[..., Pipeline],
) -> Loaded:
    may_be_shown = rules()  # bad rules are refused before a model is loaded, which takes seconds
    model, data, counts, ranker, completion_ranker = paths
    if (model is None) != (data is None):
        raise InputError(
            "a model is its checkpoint and the folder of its dictionary",
            "give --model and --data together",
        )
    pipeline = build(
        None if counts is None else NextQueries.open(Path(counts), verify),
        None if model is None else _trained(Path(model), Path(str(data)), cpu),
        None if ranker is None else Ranker.load(Path(ranker)),
        rules=may_be_shown,
        completion_ranker=(
            None if completion_ranker is None else CompletionRanker.load(Path(completion_ranker))
        ),
    )
    return Loaded(pipeline)


def _trained(model: Path, data: Path, cpu: bool) -> Engine:
    """Lazy import: torch and fairseq take seconds, and counts alone do not need them."""
    with needed_for("a checkpoint", f"{WHOLE_PROJECT}, or give a bundle of mtn-export"):
        from .torch_engine.trained_model import TrainedModel

    return TrainedModel.load(model, data, cpu)
