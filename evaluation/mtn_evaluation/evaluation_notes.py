"""What to read with care in an evaluation: notes below its tables."""

from typing import Dict, List, Sequence

from .generate_log import GenerateLog, Suggestions
from .same_test_set import shows
from .unknown_words import UNKNOWN

MIN_UNITS = 100  # below, the interval of a difference is no news


def log_notes(name: str, log: GenerateLog, at: Sequence[int]) -> List[str]:
    """What is to be said of one output."""
    notes = []
    short = [str(k) for k in at if k > log.nbest]
    if short:
        notes.append(
            f"{name}: no MRR and hit at {', '.join(short)}, it has at most {log.nbest} suggestions "
            f"per pair; generate with --nbest {short[-1]}."
        )
    fewer = sum(len(pair.ranked) < log.nbest for pair in log.pairs)
    if fewer and not log.stated:
        notes.append(
            f"{name}: {fewer:,} pairs have fewer than {log.nbest} suggestions, though "
            "fairseq-generate fills every list: lines may be lost."
        )
    if all(len(pair.ranked) == 1 and _is_next_query(pair) for pair in log.pairs):
        notes.append(
            f"{name}: every suggestion is the next query itself. If it was made with "
            "--score-reference, it is for --perplexity, and no system."
        )
    return notes


def _is_next_query(pair: Suggestions) -> bool:
    """Also where a model that copies shows a word of one as it was typed."""
    return shows(pair.ranked[0].replace(UNKNOWN, f"<{UNKNOWN}>"), pair.next_query) or (
        pair.ranked[0] == pair.next_query.replace(f"<{UNKNOWN}>", UNKNOWN)
    )


def perplexity_notes(results: Sequence[dict]) -> List[str]:
    """Which perplexities do not compare."""
    tokens: Dict[int, List[str]] = {}
    for result in results:
        if result["perplexity"] is not None:
            tokens.setdefault(result["perplexity"]["tokens"], []).append(result["name"])
    most = max(tokens, key=lambda count: len(tokens[count]), default=0)
    return [
        f"Perplexities of {', '.join(names)} do not compare with the others': they count other "
        f"tokens ({count:,} for {most:,})."
        for count, names in tokens.items()
        if count != most
    ]


def comparison_notes(units: int, unit: str) -> List[str]:
    """Args:
    unit: of which there are so many: people or pairs
    """
    few = f"Compared on {units} {unit}: too few to generalise."
    return [few] if units < MIN_UNITS else []
