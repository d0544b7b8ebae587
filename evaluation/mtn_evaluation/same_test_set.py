"""Check from its T lines that a log answers exactly the pairs of a test text."""

import hashlib
from typing import Sequence

from mtn_preprocess.errors import InputError

from .generate_log import GenerateLog, Suggestions, read_system

_UNKNOWN = "<<unk>>"  # fairseq's mark for a word outside the dictionary


def fingerprint(next_queries: Sequence[str]) -> str:
    """A checksum of the next queries, to keep figures of different test sets apart."""
    return hashlib.sha256("\n".join(next_queries).encode("utf-8")).hexdigest()


def read_answers(files: Sequence[str], test: str, next_queries: Sequence[str]) -> GenerateLog:
    """The output of one system, checked to answer every pair of the test text."""
    log = read_system(*files, pairs=len(next_queries))
    check_same_next_queries(" + ".join(files), log.pairs, test, next_queries)
    return log


def check_same_next_queries(
    log: str, pairs: Sequence[Suggestions], test: str, next_queries: Sequence[str]
) -> None:
    """Raise at the first pair whose next query differs, or is split into other words."""
    for number, (pair, next_query) in enumerate(zip(pairs, next_queries)):
        if shows(pair.next_query, next_query):
            continue
        # The message does not quote the queries: they may be real people's.
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
    """Whether both are the same, apart from unknown words and unknown pieces of words."""
    if shown == next_query:
        return True
    if _UNKNOWN not in shown:
        return False
    words, asked = shown.split(), next_query.split()
    if len(words) == len(asked):
        return all(map(_may_be_word, words, asked))
    # An unknown piece may include the space before it, so that words run together.
    together = any(_UNKNOWN in word and word != _UNKNOWN for word in words)
    return together and _may_be_word(shown, next_query)


def _may_be_word(shown: str, word: str) -> bool:
    """Whether the known pieces occur in order, with at least one letter per unknown piece."""
    if shown in (word, _UNKNOWN):
        return True
    if _UNKNOWN not in shown:
        return False
    first, *middle, last = shown.split(_UNKNOWN)
    if not word.startswith(first):
        return False
    # The leftmost match is always best, so no backtracking is needed, unlike in a regular
    # expression.
    end = len(first)
    for piece in middle:
        start = word.find(piece, end + 1)
        if start < 0:
            return False
        end = start + len(piece)
    return word.endswith(last) and len(word) - len(last) > end
