"""Notes below the tables of an evaluation: results to read with care."""

from typing import Dict, List, Sequence

from .generate_log import GenerateLog, Suggestions
from .same_test_set import shows
from .unknown_words import UNKNOWN

MIN_UNITS = 100  # below this, differences are too uncertain to report


def log_notes(name: str, log: GenerateLog, at: Sequence[int]) -> List[str]:
    """Notes about the output of one system."""
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
    """Whether the first suggestion is the next query, also if copied words replace its <unk>."""
    return shows(pair.ranked[0].replace(UNKNOWN, f"<{UNKNOWN}>"), pair.next_query) or (
        pair.ranked[0] == pair.next_query.replace(f"<{UNKNOWN}>", UNKNOWN)
    )


def perplexity_notes(results: Sequence[dict]) -> List[str]:
    """Notes about perplexities that are not comparable."""
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
    unit: what `units` counts: people or pairs
    """
    few = f"Compared on {units} {unit}: too few to generalise."
    return [few] if units < MIN_UNITS else []
