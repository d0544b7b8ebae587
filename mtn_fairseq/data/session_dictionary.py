"""One dictionary for sessions and next queries, which always has the separators."""

import copy
import hashlib
import logging
from itertools import count, takewhile
from pathlib import Path
from typing import Any, Callable, Iterable, List, Optional, Sequence, Set, TextIO, Union

import torch
from fairseq import tokenizer
from fairseq.data import Dictionary
from torch import Tensor

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.dictionary_file import read_words
from mtn_preprocess.text.session_text import (
    QUERY_SEPARATOR,
    SESSION_SEPARATOR,
    escape_symbols,
    is_separator,
    separator,
    without_unseen,
)
from mtn_preprocess.text.text_checks import check_pairs, numbered_lines, session_lines
from mtn_preprocess.text.text_settings import NAME as SETTINGS
from mtn_preprocess.text.text_settings import agreed_settings, read_settings
from mtn_preprocess.text.word_pieces import MODEL, PieceEncoder, has_pieces

from .spelled_words import UNKNOWN_WORDS, UnknownWords, spell

logger = logging.getLogger(__name__)


class SessionDictionary(Dictionary):
    """Any fairseq command reads its file; text settings and word-piece model are saved beside it.

    Encoding spells out words that are not in the dictionary. Decoding shows those that
    `unknown_words` has learned.
    """

    beside: Sequence[Path] = ()  # files of the text to save beside the dictionary

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.unknown_words = UnknownWords()

    def encode_line(
        self,
        line: str,
        line_tokenizer: Callable[[str], List[str]] = tokenizer.tokenize_line,
        add_if_not_exist: bool = True,
        consumer: Optional[Callable[[str, int], None]] = None,
        append_eos: bool = True,
        reverse_order: bool = False,
    ) -> Tensor:
        """Encode as fairseq does, and spell out the unknown word after each `<unk>`.

        Without `append_eos` nothing is spelled out: fairseq-interactive encodes constraints this
        way, and an unknown word cannot be generated. Words that equal a symbol of fairseq are
        escaped, except with `add_if_not_exist`, with which fairseq encodes its own output.
        """
        if not add_if_not_exist:
            line = readable(line, self)
        indices = super().encode_line(
            line, line_tokenizer, add_if_not_exist, consumer, append_eos, reverse_order
        )
        if not append_eos or self.unk_index not in indices:
            return indices
        words = line_tokenizer(line)
        spelled: List[int] = []
        for index, word in zip(indices.tolist(), words[::-1] if reverse_order else words):
            spelled.append(index)
            if index == self.unk_index and word != self.unk_word:
                spelled += spell(word, len(self))
        return torch.tensor([*spelled, self.eos_index], dtype=indices.dtype)

    def __getitem__(self, index: int) -> str:
        if index < UNKNOWN_WORDS:
            return super().__getitem__(index)
        return self.unknown_words[int(index)]

    def showing(self, unknown_words: UnknownWords) -> "SessionDictionary":
        """A copy of the dictionary that shows these unknown words."""
        shown = copy.copy(self)
        shown.unknown_words = unknown_words
        return shown

    def add_from_file(self, f: Union[str, TextIO]) -> None:
        if isinstance(f, str):
            read_words(Path(f), self.symbols)  # raises an error if the file is damaged
        super().add_from_file(f)

    def save(self, f: Union[str, TextIO]) -> None:
        super().save(f)
        if isinstance(f, str):
            for path in self.beside:
                Path(f).with_name(path.name).write_bytes(path.read_bytes())


def readable(line: str, dictionary: Dictionary) -> str:
    """Escape the words of a typed line that equal a symbol of fairseq, or a separator that the
    dictionary does not have."""
    return escape_symbols(without_unseen(line), separators_of(dictionary))


def fingerprint(dictionary: Dictionary) -> str:
    """A hash of the words in their order: equal for equal dictionaries only."""
    return hashlib.sha256("\n".join(dictionary.symbols).encode("utf-8")).hexdigest()


def build_session_dictionary(
    filenames: Iterable[str], workers: int, threshold: int, nwords: int, padding_factor: int
) -> Dictionary:
    """Count the words of training text; `<q>` and `<session>` get the first indices, 4 and 5.

    The separators are ordinary words in the saved file, so any fairseq command reads it with the
    same indices. The text is checked before anything is written. If the text is in word pieces, the
    dictionary has all pieces of the model, including those that the training text does not use.
    """
    dictionary = SessionDictionary()
    specials = dictionary.nspecial
    for word in (QUERY_SEPARATOR, SESSION_SEPARATOR):
        dictionary.add_symbol(word, n=0)
    dictionary.nspecial = len(dictionary)  # `finalize` neither sorts nor drops special words
    for path in _files_to_count(filenames):
        Dictionary.add_file_to_dictionary(str(path), dictionary, tokenizer.tokenize_line, workers)
    settings, model = (_file_beside(filenames, name) for name in (SETTINGS, MODEL))
    if not has_pieces(dictionary.symbols):
        model = None
    dictionary.beside = [path for path in (settings, model) if path is not None]
    dictionary.finalize(threshold=threshold, nwords=nwords, padding_factor=1)
    for word in _higher_separators(filenames):
        dictionary.add_symbol(word, n=0)
    if model is not None:
        for piece in PieceEncoder(model).pieces():
            dictionary.add_symbol(piece, n=0)
    dictionary.pad_to_multiple_(padding_factor)
    dictionary.nspecial = specials
    return dictionary


def _files_to_count(filenames: Iterable[str]) -> List[Path]:
    """`train.whole` instead of `train.session` and `train.next`, if it exists.

    Pairs repeat each query once per prefix, but a word should be counted once per query.
    """
    files = set()
    for path in sorted(map(Path, filenames)):
        if path.suffix == ".session":
            _check_all_pairs(path.parent)
        whole = path.with_suffix(".whole")
        if not whole.is_file():
            logger.warning(
                f"no {whole}: the words of {path} are counted once per prefix, not once per query"
            )
        counted = whole if whole.is_file() else path
        for _ in session_lines(counted):  # raises an error at the first invalid line
            continue
        files.add(counted)
    return sorted(files)


def _check_all_pairs(folder: Path) -> None:
    """Check validation and test text, too; fairseq passes the training text only."""
    for path in sorted(folder.glob("*.session")):
        if path.with_suffix(".next").is_file():
            check_pairs(str(path.with_suffix("")))


def _higher_separators(filenames: Iterable[str]) -> List[str]:
    """`<unit3>` and above, if the pairs have them; `.whole` files have no history."""
    found: Set[str] = set()
    for filename in filenames:
        for _, line in numbered_lines(Path(filename)):
            if "<unit" in line:
                found.update(filter(is_separator, line.split()))
    return sorted(found - {QUERY_SEPARATOR, SESSION_SEPARATOR})


def load_session_dictionary(filename: str) -> "SessionDictionary":
    """Load a dictionary and find the files beside it, which `save` copies (with --srcdict)."""
    dictionary = SessionDictionary.load(filename)
    found = (Path(filename).with_name(name) for name in (SETTINGS, MODEL))
    dictionary.beside = [path for path in found if path.is_file()]
    return dictionary


def check_settings_of(path: Path, dictionary: "SessionDictionary") -> None:
    """Refuse text that was prepared with other settings than the text of the dictionary."""
    folders = [path.parent, *(each.parent for each in dictionary.beside if each.name == SETTINGS)]
    agreed_settings((folder / SETTINGS, read_settings(folder)) for folder in folders[::-1])


def _file_beside(filenames: Iterable[str], name: str) -> Optional[Path]:
    paths = {Path(filename).with_name(name) for filename in filenames}
    return next((path for path in sorted(paths) if path.is_file()), None)


def separators_of(dictionary: Dictionary) -> List[str]:
    """Names of the separators, lowest level first, up to the first level without one."""
    names = takewhile(dictionary.indices.__contains__, map(separator, count(1)))
    return list(names)


def find_separators(dictionary: Dictionary, path: str) -> List[int]:
    """Indices of the separators, lowest level first."""
    found = [dictionary.index(name) for name in separators_of(dictionary)]
    if not found:
        raise InputError(
            f"no {QUERY_SEPARATOR} in the dictionary: it is not one of session data",
            'binarise with fairseq-preprocess --user-dir "$(mtn-user-dir)" --task session_to_query',
            path,
        )
    return found
