"""Whether a log answers the pairs of a test text, and nothing else: its T lines tell."""

import hashlib
from typing import Sequence

from mtn_preprocess.errors import InputError

from .generate_log import GenerateLog, Suggestions, read_system

_UNKNOWN = "<<unk>>"  # fairseq's, for a word that the model does not know


def fingerprint(next_queries: Sequence[str]) -> str:
    """So that figures of different test sets are not put into one table."""
    return hashlib.sha256("\n".join(next_queries).encode("utf-8")).hexdigest()


def read_answers(files: Sequence[str], test: str, next_queries: Sequence[str]) -> GenerateLog:
    """The output of one system, which answers every pair of the test text."""
    log = read_system(*files, pairs=len(next_queries))
    check_same_next_queries(" + ".join(files), log.pairs, test, next_queries)
    return log


def check_same_next_queries(
    log: str, pairs: Sequence[Suggestions], test: str, next_queries: Sequence[str]
) -> None:
    """Refuse the first pair whose next query is another one, or is cut into other words."""
    for number, (pair, next_query) in enumerate(zip(pairs, next_queries)):
        if shows(pair.next_query, next_query):
            continue
        # The queries themselves are not shown: they may be real people's.
        if pair.next_query.replace(" ", "") == next_query.replace(" ", ""):
            raise InputError(
                f"T-{number} has the letters of {test}.next:{number + 1} but other words",
                "both must be tokenised alike: prepare them with the same flags, and generate "
                "without --tokenizer and --post-process",
                log,
            )
        raise InputError(
            f"T-{number} is not the next query of {test}.next:{number + 1}",
            "the log is of another test set, or of one prepared with other flags",
            log,
        )


def shows(shown: str, next_query: str) -> bool:
    """Whether the same, but for unknown words, and unknown pieces of words."""
    if shown == next_query:
        return True
    if _UNKNOWN not in shown:
        return False
    words, asked = shown.split(), next_query.split()
    if len(words) == len(asked):
        return all(map(_may_be_word, words, asked))
    # A piece may have lost the space before it together with its letters: words run together.
    together = any(_UNKNOWN in word and word != _UNKNOWN for word in words)
    return together and _may_be_word(shown, next_query)


def _may_be_word(shown: str, word: str) -> bool:
    """Whether the known pieces stand in it in this order, a letter or more for each unknown one."""
    if shown in (word, _UNKNOWN):
        return True
    if _UNKNOWN not in shown:
        return False
    first, *middle, last = shown.split(_UNKNOWN)
    if not word.startswith(first):
        return False
    # The leftmost place is the best one for each: no need to go back, as a regular expression does.
    end = len(first)
    for piece in middle:
        start = word.find(piece, end + 1)
        if start < 0:
            return False
        end = start + len(piece)
    return word.endswith(last) and len(word) - len(last) > end
