"""Train sentencepiece on the training split and rewrite all text in word pieces."""

import os
import re
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Callable, Dict, Sequence

import sentencepiece

from mtn_preprocess.errors import InputError
from mtn_preprocess.session_files import WHOLE
from mtn_preprocess.text.session_text import is_separator, split_units
from mtn_preprocess.text.typed_queries import EMAIL, NUMBER
from mtn_preprocess.text.word_pieces import MODEL, WORD_START, PieceEncoder

_MAX_WORDS = 500_000  # the most frequent words; enough to train within minutes and 1 GB


def encode_in_subwords(folder: Path, size: int, names: Sequence[str]) -> Dict[str, int]:
    """Train a model on the training split alone, and rewrite the text of all splits in its pieces.

    Args:
        size: number of pieces, including the one for unknown characters
        names: the files of text

    Returns:
        how many pieces the training queries have, for the choice of --level-sizes
    """
    if WHOLE not in names:
        raise InputError("nothing to train sentencepiece on", "give the train split a share")
    model = folder / MODEL
    model.write_bytes(train_model(count_words(folder / WHOLE), size))
    encode = PieceEncoder(model)
    for name in names:
        _rewrite(folder / name, encode)
    return {"pieces": size, **_pieces_in_a_query(folder / WHOLE)}


def count_words(path: Path) -> Counter:
    """How often each word occurs in text of whole sessions."""
    words: Counter = Counter()
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            words.update(line.split())
    return Counter({word: n for word, n in words.items() if not is_separator(word)})


def train_model(words: Counter, size: int) -> bytes:
    """A sentencepiece model that depends only on word counts: no piece crosses a space."""
    masks = {NUMBER, EMAIL} & words.keys()
    common = sorted(words.keys() - masks, key=lambda word: (-words[word], word))[:_MAX_WORDS]
    model = BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(f"{word}\t{words[word]}" for word in common),
            input_format="tsv",
            model_writer=model,
            vocab_size=size,
            character_coverage=1.0,  # rare characters are few: queries are normalised
            normalization_rule_name="identity",
            user_defined_symbols=[WORD_START + mask for mask in sorted(masks)],  # never split
            bos_id=-1,  # fairseq has its own
            eos_id=-1,
            num_threads=1,  # deterministic order of sums, so the model is always the same
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _input_error(str(error), size) from None
    return model.getvalue()


def _input_error(message: str, size: int) -> InputError:
    """A sentencepiece error in our words; the original names source files and internal flags."""
    too_few = re.search(r"smaller than required_chars\. \d+ vs (\d+)", message)
    if too_few:
        reason = f"{size} word pieces are too few for the characters of the training split"
        return InputError(reason, f"choose --sentencepiece {too_few[1]} or more")
    too_many = re.search(r"too high .* value <= (\d+)", message)
    if too_many:
        reason = f"{size} word pieces are more than the training split can fill"
        return InputError(reason, f"choose --sentencepiece {too_many[1]} or less")
    reason = f"sentencepiece cannot be trained ({message.splitlines()[0]})"
    return InputError(reason, "choose another --sentencepiece, or prepare without it")


def _rewrite(path: Path, encode: Callable[[str], str]) -> None:
    aside = path.with_name(path.name + ".pieces")
    with open(path, encoding="utf-8", newline="\n") as words, open(
        aside, "w", encoding="utf-8", newline="\n"
    ) as pieces:
        for line in words:
            pieces.write(encode(line) + "\n")
    os.replace(aside, path)


def _pieces_in_a_query(path: Path) -> Dict[str, int]:
    lengths: Counter = Counter()
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            lengths.update(len(query.split()) for query in split_units(line, 1))
    most, covered = 0, 0
    for most in sorted(lengths):
        covered += lengths[most]
        if covered >= 0.99 * sum(lengths.values()):
            break
    return {"most in 99 % of the queries": most, "most in a query": max(lengths)}
