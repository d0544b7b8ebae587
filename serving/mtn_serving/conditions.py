"""With what a ranker was fitted, and is to be used: elsewhere its order would mean little."""

from typing import NamedTuple, Optional, Sequence, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import TextSettings

from .candidates import BEAM, COUNTS, EDITS, SOURCES

BEAM_SIZE = 30  # what a wide beam adds for strangers, the ranker finds


class Conditions(NamedTuple):
    """How candidates are made."""

    sources: Tuple[str, ...]
    model: bool  # whether one scores them
    counts: bool  # whether a table tells how often they were asked
    beam: int  # hypotheses of the model
    text: Optional[TextSettings] = None  # by which sessions are read; compared by `Suggester`
    # Whether anybody had a past. Else a ranker knows nothing of its worth: all are strangers to it.
    history: bool = True


def conditions_of(
    model: bool,
    counts: bool,
    without: Optional[Sequence[str]] = None,
    beam: Optional[int] = None,
    fitted: Optional[Conditions] = None,
    text: Optional[TextSettings] = None,
) -> Conditions:
    """What is left open is as it was when the ranker was fitted, if there is one.

    Args:
        model, counts: whether they are at hand
        without, beam: as asked, None for left open
        fitted: the conditions of the ranker
        text: of the parts that are at hand
    """
    unknown = [source for source in without or () if source not in SOURCES]
    if unknown:
        raise InputError(f"no source {unknown[0]!r}", f"name some of {', '.join(SOURCES)}")
    if fitted is not None:
        beam = fitted.beam if beam is None else beam
        if without is None:
            without = [source for source in SOURCES if source not in fitted.sources]
    missing = [*(without or ()), *([] if model else [BEAM]), *([] if counts else [COUNTS, EDITS])]
    sources = tuple(source for source in SOURCES if source not in missing)
    asked = Conditions(sources, model, counts, beam or BEAM_SIZE, text)
    if fitted is not None:
        _compare(fitted, asked)
    return asked


def _compare(fitted: Conditions, asked: Conditions) -> None:
    """The beam may be of another size: somebody may want a narrower one, which is faster."""
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
