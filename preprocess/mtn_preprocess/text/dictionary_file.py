"""Read a dictionary file as written by `fairseq-preprocess`: one word and its count per line."""

import re
from pathlib import Path
from typing import Iterable, List

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_checks import numbered_lines

SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>")  # fairseq's own symbols, not in the file
_COUNT = re.compile(r"-?\d{1,18}")
_OVERWRITE = "#fairseq:overwrite"  # fairseq's flag for a word that replaces an earlier one
_REBUILD = "give a dictionary that fairseq-preprocess wrote, or run it again"


def read_words(path: Path, known: Iterable[str] = SYMBOLS) -> List[str]:
    """The words of the file, in order; raises for malformed lines and repeated words.

    Args:
        path: the file
        known: words in the dictionary before it is read
    """
    seen, words = set(known), []
    try:
        for number, line in numbered_lines(path):
            word, *others = line.rstrip().split(" ")
            count, *flags = others or [""]
            if not word or not _COUNT.fullmatch(count) or flags not in ([], [_OVERWRITE]):
                raise InputError("not a word and its count", _REBUILD, path, number)
            if word in seen and not flags:
                raise InputError(f"{word!r} a second time", _REBUILD, path, number)
            seen.add(word)
            words.append(word)
    except InputError as error:
        raise InputError(error.reason, _REBUILD, path, error.line) from None
    return words
