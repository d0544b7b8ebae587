"""Suggestions without `<unk>`, the token for out-of-vocabulary words."""

from typing import Any, Dict, List

from fairseq.sequence_generator import SequenceGenerator

# Subtracted from the score of `<unk>`. It is finite because fairseq's search must fill the beam,
# even if the dictionary has fewer words than the beam has hypotheses.
NEVER = 1e4

Hypotheses = List[List[Dict[str, Any]]]  # for each source, best first


def forbid_unknown(generator: SequenceGenerator) -> None:
    """Stop generating `<unk>`; `drop_unknown` removes the hypotheses that only filled a beam."""
    generator.unk_penalty = NEVER


def forbids_unknown(generator: object) -> bool:
    """Whether `forbid_unknown` was called; never for a scorer of given queries."""
    return getattr(generator, "unk_penalty", 0) >= NEVER


def drop_unknown(found: Hypotheses, unk: int) -> Hypotheses:
    """Hypotheses without `<unk>`; all of them where a given prefix puts `<unk>` into each."""
    return [[each for each in beam if unk not in each["tokens"]] or beam for beam in found]
