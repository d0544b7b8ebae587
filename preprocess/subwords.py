"""Session text in word pieces, by sentencepiece: separators and the bounds of queries stay."""

import os
import re
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Callable, Dict, Iterator, Sequence

import sentencepiece

from mtn_fairseq.data.session_text import escape
from mtn_fairseq.errors import InputError
from mtn_preprocess.session_files import WHOLE
from mtn_preprocess.typed_queries import EMAIL, NUMBER

MODEL = "sentencepiece.model"

_SEPARATORS = re.compile(r"( <q> | <session> )")
_MOST_QUERIES = 5_000_000  # for training; the first, of users in alphabetic order
_CACHED = 1 << 18  # queries; a few are asked again and again


def encode_in_subwords(folder: Path, size: int, splits: Sequence[str]) -> Dict[str, int]:
    """Train a model on the training split alone, and rewrite the text of all splits in its pieces.

    Args:
        size: of the vocabulary
    """
    if "train" not in splits:
        raise InputError("nothing to train sentencepiece on", "give the train split a share")
    _train(folder, size)
    encode = _encoder(folder / MODEL)
    for name in [WHOLE, *(f"{split}.{end}" for split in splits for end in ("session", "next"))]:
        _rewrite(folder / name, encode)
    return {"pieces": sentencepiece.SentencePieceProcessor(str(folder / MODEL)).get_piece_size()}


def _train(folder: Path, size: int) -> None:
    try:
        with open(folder / MODEL, "wb") as model:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=islice(_queries(folder / WHOLE), _MOST_QUERIES),
                model_writer=model,
                vocab_size=size,
                character_coverage=1.0,  # rare characters are few: queries are normalised
                normalization_rule_name="identity",
                user_defined_symbols=[NUMBER, EMAIL],
                num_threads=1,  # the same model every time
                minloglevel=2,
            )
    except RuntimeError as error:
        # "Vocabulary size too high (5000). Please set it to a value <= 812."
        reason = str(error).splitlines()[0].split("] ")[-1]
        raise InputError(reason, "choose another --sentencepiece V") from None


def _queries(path: Path) -> Iterator[str]:
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield from _SEPARATORS.split(line.rstrip("\n"))[::2]


def _encoder(model: Path) -> Callable[[str], str]:
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))

    @lru_cache(_CACHED)
    def encode(query: str) -> str:
        # A piece may happen to be what fairseq reads as a symbol.
        return " ".join(map(escape, pieces.encode(query, out_type=str)))

    return encode


def _rewrite(path: Path, encode: Callable[[str], str]) -> None:
    aside = path.with_name(path.name + ".pieces")
    with open(path, encoding="utf-8", newline="\n") as words, open(
        aside, "w", encoding="utf-8", newline="\n"
    ) as pieces:
        for line in words:
            parts = _SEPARATORS.split(line.rstrip("\n"))
            parts[::2] = map(encode, parts[::2])
            pieces.write("".join(parts) + "\n")
    os.replace(aside, path)
