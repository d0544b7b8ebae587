"""The setup that a ranker was fitted with: with any other setup, its order would mean little."""

from typing import NamedTuple, Optional, Sequence, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import TextSettings

from .argument_checks import MAX_BEAM, check_whole
from .candidates import BEAM, COUNTS, EDITS, SOURCES

BEAM_SIZE = 30  # a wide beam helps strangers, since the ranker finds the good hypotheses


class Conditions(NamedTuple):
    """How candidates are collected and scored."""

    sources: Tuple[str, ...]
    model: bool  # whether a model scores the candidates
    counts: bool  # whether a table has their frequencies
    beam: int  # hypotheses of the model
    text: Optional[TextSettings] = None  # how sessions are read; compared by `Suggester`
    # Whether anybody had a history. If not, the ranker cannot weigh one: everybody is a stranger.
    history: bool = True


def conditions_of(
    model: bool,
    counts: bool,
    without: Optional[Sequence[str]] = None,
    beam: Optional[int] = None,
    fitted: Optional[Conditions] = None,
    text: Optional[TextSettings] = None,
) -> Conditions:
    """The conditions to use; missing options are those of the ranker, if there is one.

    Args:
        model, counts: whether they are available
        without, beam: as requested; None if not given
        fitted: the conditions of the ranker
        text: settings of the available parts
    """
    unknown = [source for source in without or () if source not in SOURCES]
    if unknown:
        raise InputError(f"no source {unknown[0]!r}", f"name some of {', '.join(SOURCES)}")
    if fitted is not None:
        beam = fitted.beam if beam is None else beam
        if without is None:
            without = [source for source in SOURCES if source not in fitted.sources]
    if beam is not None:
        check_whole("beam", beam, 1, MAX_BEAM)
    missing = [*(without or ()), *([] if model else [BEAM]), *([] if counts else [COUNTS, EDITS])]
    sources = tuple(source for source in SOURCES if source not in missing)
    asked = Conditions(sources, model, counts, BEAM_SIZE if beam is None else beam, text)
    if fitted is not None:
        _compare(fitted, asked)
    return asked


def _compare(fitted: Conditions, asked: Conditions) -> None:
    """The beam size may differ: a smaller beam is faster."""
    parts = {
        "a model": (fitted.model, asked.model, "--model or --checkpoint, with --data"),
        "counts": (fitted.counts, asked.counts, "--counts"),
    }
    for part, (had, has, flags) in parts.items():
        if had != has:
            raise InputError(
                f"the ranker was fitted {'with' if had else 'without'} {part}",
                f"{'give' if had else 'leave out'} {flags}, or fit another ranker",
            )
    if fitted.sources != asked.sources:
        raise InputError(
            f"the ranker was fitted for {_listed(fitted)}, not for {_listed(asked)}",
            "leave out --without, or fit another ranker with it",
        )


def _listed(conditions: Conditions) -> str:
    return "+".join(conditions.sources) or "nothing"
