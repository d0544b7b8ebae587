"""Suggestions without `<unk>`, the token of all words that a model does not know."""

from typing import Any, Dict, List

from fairseq.sequence_generator import SequenceGenerator

# Subtracted from the score of `<unk>`. Finite: where a dictionary has fewer words than a beam has
# hypotheses, fairseq's search needs something to fill it with.
NEVER = 1e4

Hypotheses = List[List[Dict[str, Any]]]  # for each source, best first


def forbid_unknown(generator: SequenceGenerator) -> None:
    """From now on it does not generate `<unk>`; `drop_unknown` leaves out what filled a beam."""
    generator.unk_penalty = NEVER


def forbids_unknown(generator: object) -> bool:
    """Whether `forbid_unknown` was called; not for what only scores given queries."""
    return getattr(generator, "unk_penalty", 0) >= NEVER


def drop_unknown(found: Hypotheses, unk: int) -> Hypotheses:
    """Hypotheses without `<unk>`; all of a source's where a given prefix puts it into each."""
    return [[each for each in beam if unk not in each["tokens"]] or beam for beam in found]
