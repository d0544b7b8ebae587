"""One scorer for models, baselines and lists of suggestions.

    generate_log        reads and writes suggestions in fairseq-generate's format
    evaluation          computes all scores of several systems on one test set
    suggestion_scores   n-gram precisions, BLEU, exact match, hit@k, MRR@k
    unknown_words       two ways to score words outside the dictionary
    pair_groups         groups pairs: new and returning queries, position in the session, …
    paired_bootstrap    confidence intervals of differences, by resampling people or pairs
    completion          scores completions by number of characters typed
    completion_log      reads and writes completions of a test text in mtn-complete's format
    people              reads the person of each test pair
    evaluation_notes    warns of results to read with care
    perplexity          computes perplexity from the scores of the next queries
    same_test_set       refuses systems of different test sets
    judging             lists judged by a reader, and automatic counts over all lists
    commands            mtn-evaluate, mtn-judge

No torch, no fairseq.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .evaluation import System, evaluate
    from .generate_log import GenerateLog, Suggestions, read_generate_log, read_system
    from .pair_groups import group_pairs
    from .paired_bootstrap import Difference, compare
    from .perplexity import Perplexity, read_perplexity
    from .suggestion_scores import figures, pair_rows, score, signature
    from .unknown_words import RawText, UnknownAsToken, known_words

__all__ = [
    "Difference",
    "GenerateLog",
    "Perplexity",
    "RawText",
    "Suggestions",
    "System",
    "UnknownAsToken",
    "compare",
    "evaluate",
    "figures",
    "group_pairs",
    "known_words",
    "pair_rows",
    "read_generate_log",
    "read_perplexity",
    "read_system",
    "score",
    "signature",
]

# Lazy imports: code that only reads or writes a log does not need sacrebleu.
_MODULES = {
    "Difference": "paired_bootstrap",
    "GenerateLog": "generate_log",
    "Perplexity": "perplexity",
    "RawText": "unknown_words",
    "Suggestions": "generate_log",
    "System": "evaluation",
    "UnknownAsToken": "unknown_words",
    "compare": "paired_bootstrap",
    "evaluate": "evaluation",
    "figures": "suggestion_scores",
    "group_pairs": "pair_groups",
    "known_words": "unknown_words",
    "pair_rows": "suggestion_scores",
    "read_generate_log": "generate_log",
    "read_perplexity": "perplexity",
    "read_system": "generate_log",
    "score": "suggestion_scores",
    "signature": "suggestion_scores",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
