"""One scorer for models and yardsticks; `mtn-evaluate` is made of these functions."""

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
