"""A session as the model reads it: truncated, with the words that can be copied."""

import logging
from typing import Dict, List, NamedTuple, Sequence

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.level_sizes import fit

from .model_files import Facts
from .vocabulary import END, UNKNOWN, Vocabulary

logger = logging.getLogger(__name__)

NO_COLUMN = 0  # for tokens that cannot be copied: the column of <s>, which no session has


class Source(NamedTuple):
    """One session.

    The output distribution has one column per word of the dictionary, then one per
    out-of-vocabulary word of the session that can be copied.
    """

    tokens: List[int]  # the input, with <unk> for unknown words and </s> at the end
    columns: List[int]  # of each token; NO_COLUMN if it cannot be copied
    unknown_words: List[str]  # unknown words that can be copied, in the order of their columns

    def words_of(self, columns: Sequence[int], vocabulary: Vocabulary) -> List[str]:
        known = len(vocabulary)
        return [
            vocabulary.words[each] if each < known else self.unknown_words[each - known]
            for each in columns
        ]

    def columns_of(self, words: Sequence[str], vocabulary: Vocabulary) -> List[int]:
        """The columns of words; UNKNOWN for words that are not in the dictionary and not copied."""
        if not self.unknown_words:
            return [vocabulary.index.get(word, UNKNOWN) for word in words]
        copied = {word: len(vocabulary) + slot for slot, word in enumerate(self.unknown_words)}
        found = [vocabulary.index.get(word, copied.get(word, UNKNOWN)) for word in words]
        # If only the last query is read, words of other queries have columns but are not copied.
        return [
            each if each < len(vocabulary) or each in self.columns else UNKNOWN for each in found
        ]


def read_sources(sessions: Sequence[str], vocabulary: Vocabulary, facts: Facts) -> List[Source]:
    """Read sessions; truncate sessions larger than the model, oldest queries first, and report."""
    read, cut = [], 0
    for number, session in enumerate(sessions, 1):
        words = vocabulary.cut(session)
        unknown = _unknown_words(words, vocabulary, facts)
        tokens = [vocabulary.index.get(word, unknown.get(word, UNKNOWN)) for word in words]
        tokens.append(END)
        separators = list(vocabulary.separators.values())
        _refuse_bad_shapes(tokens, separators, facts.level_sizes, number)
        fitted = fit(tokens, separators, facts.level_sizes, facts.max_source_tokens)
        cut += len(fitted) < len(tokens)
        read.append(_source(fitted, list(unknown), vocabulary, facts))
    if cut:
        logger.warning(
            f"{cut} of {len(sessions)} sessions are larger than the model and are cut to fit, "
            "oldest queries first"
        )
    return read


def _unknown_words(words: List[str], vocabulary: Vocabulary, facts: Facts) -> Dict[str, int]:
    """Unknown words that can be copied -> indices after the dictionary."""
    unknown: Dict[str, int] = {}
    if facts.copying:
        for word in dict.fromkeys(words):
            size = len(word.encode("utf-8"))
            if word not in vocabulary.index and size <= facts.max_bytes_of_copied_word:
                unknown[word] = len(vocabulary) + len(unknown)
    return unknown


def _source(tokens: List[int], unknown: List[str], vocabulary: Vocabulary, facts: Facts) -> Source:
    """The source of a truncated session; only its remaining words get columns."""
    known = len(vocabulary)
    slots: Dict[int, int] = {}
    for token in tokens:
        if token >= known:
            slots.setdefault(token, known + len(slots))
    most = known + facts.max_copied_unknown_words
    not_words = {END, UNKNOWN, *vocabulary.separators.values()}
    if facts.source_context == "last":
        tokens = _last_query(tokens, set(vocabulary.separators.values()))
    columns = [slots.get(token, NO_COLUMN if token in not_words else token) for token in tokens]
    columns = [NO_COLUMN if column >= most else column for column in columns]
    words = [unknown[token - known] for token in slots][: facts.max_copied_unknown_words]
    return Source([token if token < known else UNKNOWN for token in tokens], columns, words)


def _last_query(tokens: List[int], separators: set) -> List[int]:
    ends = [place for place, token in enumerate(tokens) if token in separators]
    return tokens[ends[-1] + 1 :] if ends else tokens


def _refuse_bad_shapes(
    tokens: List[int], separators: List[int], sizes: Sequence[int], number: int
) -> None:
    ends = {*separators, END}
    if any(token in ends and before in ends for before, token in zip([END, *tokens], tokens)):
        raise InputError("empty query", "remove it, or write a word there", "input", number)
    used = 1 + max((rank for rank, each in enumerate(separators, 1) if each in tokens), default=0)
    if used > len(sizes):
        raise InputError(
            f"data of {used} levels, but the model was built for {len(sizes)}",
            "leave out what the highest separators divide",
            "input",
            number,
        )
