"""Read the output of `fairseq-generate`, `mtn-yardstick` and `mtn-suggest`.

    S-12    session            T-12    next query
    H-12    score   tokens     D-12    score   plain text     P-12    scores of the tokens

Pairs may be in any order. The suggestions of a pair are best first, each as H, D, P. All other
lines that fairseq logs are skipped. A log without its last line is truncated.
"""

import math
import os
import re
from itertools import islice
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, TextIO, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.standard_streams import standard_input
from mtn_preprocess.text.session_pairs import Pair
from mtn_preprocess.text.text_checks import numbered_lines
from mtn_preprocess.text.word_pieces import decode_pieces

_CLOSING = re.compile(
    r"Generate .+ with beam=\d+: |(Yardstick|Suggest) \S+ with nbest=(?P<nbest>\d{1,9}): "
)
_REMEDY = "generate again, into a fresh file"
_MAX_SHOWN = 5  # pair numbers shown in a message
_MAX_DIGITS = 18  # of a pair number; enough for any test set
_GZIP = b"\x1f\x8b"


class Suggestions(NamedTuple):
    """One test pair and its suggestions, best first, in words."""

    session: str
    next_query: str  # fairseq writes `<<unk>>` for words outside the dictionary
    ranked: List[str]
    token_scores: str = ""  # the P line of the first suggestion
    tokens: int = 0  # in the first suggestion before joining word pieces, without end of sentence


class GenerateLog(NamedTuple):
    """All pairs in the order of the test file."""

    pairs: List[Suggestions]
    nbest: int  # maximum number of suggestions per pair; count-based lists may be shorter
    stated: bool = True  # whether each file states nbest, as count-based lists do


class _PartialPair:
    """A pair whose lines are still being read."""

    __slots__ = (
        "expected", "next_query", "ranked", "rises", "score", "session", "token_scores", "tokens",
        "written",
    )  # fmt: skip

    def __init__(self) -> None:
        self.session: Optional[str] = None
        self.next_query: Optional[str] = None
        self.ranked: List[str] = []
        self.expected = "H"  # the kind of the next line
        self.written = ""  # the text after `H-12`
        self.score = math.inf
        self.rises = 0  # number of the first line whose score is higher than the previous one
        self.token_scores = ""
        self.tokens = 0


def read_generate_log(path: str) -> List[Suggestions]:
    """All pairs of one file in the order of the test file."""
    return read_system(path).pairs


def read_system(*paths: str, pairs: Optional[int] = None) -> GenerateLog:
    """Read the files of one system: several if generated in shards; `-` is standard input.

    Raises if a pair is missing or duplicated; `pairs` is the total number, if known.
    """
    found: Dict[int, _PartialPair] = {}
    parts = [_read_part(_log_file(path), found) for path in paths]
    _check_complete(" + ".join(paths), found, pairs)
    nbest, stated = zip(*filter(None, parts))
    ordered = [found[number] for number in range(len(found))]
    return GenerateLog(
        [
            Suggestions(
                str(pair.session), str(pair.next_query), pair.ranked, pair.token_scores, pair.tokens
            )
            for pair in ordered
        ],
        min(nbest),
        all(stated),
    )


def _read_part(path: Path, found: Dict[int, _PartialPair]) -> Optional[Tuple[int, bool]]:
    """Add the pairs to `found`; return the maximum length of lists, and whether the file states it.

    fairseq-generate fills every list and sorts it by score. A count-based log states the length in
    its last line. Returns None for a part without pairs, as in shards of a small test set.
    """
    before = set(found)
    stated = _read_file(path, found)
    of_part = [found[index] for index in found.keys() - before]
    if not of_part:
        return None
    if stated is not None:
        return stated, True
    for pair in of_part:
        if pair.rises:
            raise InputError(
                "a suggestion with a higher score than the one before it",
                "lines are lost or out of order; " + _REMEDY,
                path,
                pair.rises,
            )
    return max(len(pair.ranked) for pair in of_part), False


def _log_file(path: str) -> Path:
    """The file, or the file that `fairseq-generate --results-path` wrote into this folder."""
    if not os.path.isdir(path):
        return Path(path)
    files = sorted(Path(path).glob("generate-*.txt"))
    if len(files) != 1:
        reason = f"{len(files)} files generate-*.txt in this folder"
        raise InputError(reason, "name the one to score", path)
    return files[0]


def _log_lines(path: Path) -> Iterator[Tuple[int, str, int, str]]:
    """(line number, kind, pair, text) of each S, T, H, D and P line; finally `!` for the end."""
    closing = None
    for number, line in enumerate(_lines(path), 1):
        if line[1:2] == "-" and line[0] in "STHDP":
            pair, tab, text = line[2:].partition("\t")
            if pair.isascii() and pair.isdecimal():
                if len(pair) > _MAX_DIGITS:
                    raise InputError(
                        f"a pair number of {len(pair):,} digits", _REMEDY, path, number
                    )
                if not tab:
                    raise InputError("a line without its text", _REMEDY, path, number)
                closing = None  # it closed an earlier part; this one may be truncated
                yield number, line[0], int(pair), text
                continue
        closing = _CLOSING.match(line) or closing
    if closing is None:
        raise InputError(
            "its last line (`Generate … with beam=…`) is missing: it was cut off",
            "keep all that the command prints; if need be, " + _REMEDY,
            path,
        )
    yield 0, "!", -1, closing["nbest"] or ""


def _lines(path: Path) -> Iterator[str]:
    """Lines without line ends. Logs are long: bytes are checked again only after an error."""
    is_typed = str(path) == "-"
    try:
        with standard_input() if is_typed else open(path, encoding="utf-8", newline="\n") as stream:
            for line in stream:
                yield line.rstrip("\r\n")
    except FileNotFoundError:
        raise InputError("no such file", "give the output of fairseq-generate", path) from None
    except UnicodeDecodeError:
        if not is_typed and path.is_file():  # a pipe cannot be read twice
            with open(path, "rb") as file:
                if file.read(len(_GZIP)) == _GZIP:
                    raise InputError("compressed", f"give <(zcat {path})", path) from None
            for _ in numbered_lines(path):  # raises at the bad line
                continue
        raise InputError("not UTF-8", _REMEDY, path) from None
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise InputError(reason, "give the output of fairseq-generate", path) from None


def _read_file(path: Path, found: Dict[int, _PartialPair]) -> Optional[int]:
    """Add the pairs to `found`; return the length of lists if the last line states it."""
    stated = None
    for number, kind, index, text in _log_lines(path):
        if kind == "!":
            stated = int(text) if text else None
            continue
        pair = found.get(index)
        if pair is None:
            pair = found[index] = _PartialPair()
        if kind == pair.expected:
            if kind == "H":
                score, words = _scored_words(text, path, number)
                if score > pair.score:
                    pair.rises = pair.rises or number
                if not pair.ranked:
                    pair.tokens = len(text.split()) - 1  # without the score
                pair.ranked.append(words)
                pair.score, pair.written, pair.expected = score, text, "D"
            elif kind == "D":
                # Usually the same text; with word pieces, the same words.
                if text != pair.written and _scored_words(text, path, number)[1] != pair.ranked[-1]:
                    raise InputError(
                        f"D-{index} has other words than H-{index}",
                        "the line is damaged, or the text was detokenised: generate without "
                        "--tokenizer and subword_nmt's --bpe, so that words are those of the test "
                        "text",
                        path,
                        number,
                    )
                pair.expected = "P"
            else:
                if len(pair.ranked) == 1:
                    pair.token_scores = text
                pair.expected = "H"
        elif kind == "S" and pair.session is None:
            pair.session = decode_pieces(text)
        elif kind == "T" and pair.next_query is None:
            pair.next_query = decode_pieces(text)
        elif kind in "ST":
            raise InputError(f"pair {index} a second time", _REMEDY, path, number)
        else:
            raise InputError(
                f"{kind}-{index} where {pair.expected}-{index} should follow",
                "lines are lost, or two outputs got mixed; " + _REMEDY,
                path,
                number,
            )
    return stated


def _scored_words(text: str, path: Path, number: int) -> Tuple[float, str]:
    """The score and the words after `H-12` or `D-12`."""
    score, tab, suggestion = text.partition("\t")
    try:
        value = float(score)
    except ValueError:
        tab = ""
    if not tab:
        raise InputError("no score and suggestion in it", _REMEDY, path, number)
    return value, " ".join(decode_pieces(suggestion).split())


def _check_complete(path: str, found: Dict[int, _PartialPair], pairs: Optional[int]) -> None:
    """Check that each pair is complete, and that no pair is outside the test set."""
    if not found:
        raise InputError("no suggestions in it", "give the output of fairseq-generate", path)
    count = max(found) + 1 if pairs is None else pairs
    beyond = sorted(index for index in found if index >= count)
    if beyond:
        raise InputError(
            f"{_numbered(beyond, len(beyond))} not in the test text, which has {count} pairs "
            "(numbered from 0)",
            "it is of another test set; generate from the data of this one",
            path,
        )
    lacking = count - sum(map(_is_complete, found.values()))
    if lacking:
        # Lazy, because a damaged pair number can make `count` huge.
        first = (index for index in range(count) if not _is_complete(found.get(index)))
        raise InputError(
            f"{_numbered(first, lacking)} missing or incomplete, of {count} (numbered from 0)",
            "nothing is scored without them; generate again, and give all shards",
            path,
        )


def _is_complete(pair: Optional[_PartialPair]) -> bool:
    return (
        pair is not None
        and pair.session is not None
        and pair.next_query is not None
        and bool(pair.ranked)
        and pair.expected == "H"
    )


def _numbered(indices: Iterable[int], count: int) -> str:
    shown = ", ".join(map(str, islice(indices, _MAX_SHOWN)))
    if count == 1:
        return f"pair {shown} is"
    return f"{count} pairs ({shown}{', …' if count > _MAX_SHOWN else ''}) are"


def write_suggestions(
    number: int, pair: Pair, ranked: Sequence[Tuple[str, float]], out: TextIO
) -> None:
    """Write in fairseq-generate's format, except that the P line has one score for the query."""
    out.write(f"S-{number}\t{pair.source}\nT-{number}\t{pair.next_query}\n")
    # An empty list is an answer too, and is written as an empty suggestion.
    for query, score in ranked or [("", 0.0)]:
        out.write(f"H-{number}\t{score:.6f}\t{query}\nD-{number}\t{score:.6f}\t{query}\n")
        out.write(f"P-{number}\t{score:.4f}\n")
