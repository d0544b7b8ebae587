"""Read what `fairseq-generate`, `mtn-yardstick` and `mtn-suggest` print, all alike.

    S-12    session            T-12    next query
    H-12    score   tokens     D-12    score   plain text     P-12    scores of the tokens

Pairs may come in any order, a pair's suggestions come best first, each as H, D, P. All else that
fairseq logs in between is passed over. A log whose last line is missing was cut off.
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
_AGAIN = "generate again, into a fresh file"
_SHOWN = 5  # pair numbers in a message
_DIGITS = 18  # of the longest pair number; far more than pairs anywhere
_GZIP = b"\x1f\x8b"


class Suggestions(NamedTuple):
    """One test pair and what was suggested for it, best first, in words."""

    session: str
    next_query: str  # fairseq writes `<<unk>>` for words that the model does not know
    ranked: List[str]
    token_scores: str = ""  # the P line of the first suggestion
    tokens: int = 0  # of the first suggestion as the model has it, without its end


class GenerateLog(NamedTuple):
    """All pairs in the order of the test file."""

    pairs: List[Suggestions]
    nbest: int  # how many suggestions each pair could have: a counted list may end before
    stated: bool = True  # by each file itself, as those of counted lists do


class _Open:
    """A pair while its lines come in."""

    __slots__ = (
        "expected", "next_query", "ranked", "rises", "score", "session", "token_scores", "tokens",
        "written",
    )  # fmt: skip

    def __init__(self) -> None:
        self.session: Optional[str] = None
        self.next_query: Optional[str] = None
        self.ranked: List[str] = []
        self.expected = "H"  # the next kind of line
        self.written = ""  # behind `H-12`
        self.score = math.inf
        self.rises = 0  # the line of a score above the one before it
        self.token_scores = ""
        self.tokens = 0


def read_generate_log(path: str) -> List[Suggestions]:
    """All pairs of one file in the order of the test file."""
    return read_system(path).pairs


def read_system(*paths: str, pairs: Optional[int] = None) -> GenerateLog:
    """The files of one system (several where it was generated in shards; `-` is standard input).

    Refused when a pair is missing or doubled; of `pairs` pairs in all, if that is known.
    """
    found: Dict[int, _Open] = {}
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


def _read_part(path: Path, found: Dict[int, _Open]) -> Optional[Tuple[int, bool]]:
    """Adds to `found`; returns how many suggestions a pair of it could have, and if it says so.

    fairseq-generate fills every list, and sorts it by score; how long those of a yardstick may be,
    its last line says. None for a part without pairs, as the shards of a small test set may be.
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
                "lines are lost or out of order; " + _AGAIN,
                path,
                pair.rises,
            )
    return max(len(pair.ranked) for pair in of_part), False


def _log_file(path: str) -> Path:
    """The file itself, or the one that `fairseq-generate --results-path` wrote into a folder."""
    if not os.path.isdir(path):
        return Path(path)
    files = sorted(Path(path).glob("generate-*.txt"))
    if len(files) != 1:
        reason = f"{len(files)} files generate-*.txt in this folder"
        raise InputError(reason, "name the one to score", path)
    return files[0]


def _log_lines(path: Path) -> Iterator[Tuple[int, str, int, str]]:
    """(line number, kind, pair, text) of each S, T, H, D and P line; at last `!` for the end."""
    closing = None
    for number, line in enumerate(_lines(path), 1):
        if line[1:2] == "-" and line[0] in "STHDP":
            pair, tab, text = line[2:].partition("\t")
            if pair.isascii() and pair.isdecimal():
                if len(pair) > _DIGITS:
                    raise InputError(f"a pair number of {len(pair):,} digits", _AGAIN, path, number)
                if not tab:
                    raise InputError("a line without its text", _AGAIN, path, number)
                closing = None  # of a part before this one, which may be cut off
                yield number, line[0], int(pair), text
                continue
        closing = _CLOSING.match(line) or closing
    if closing is None:
        raise InputError(
            "its last line (`Generate … with beam=…`) is missing: it was cut off",
            "keep all that the command prints; if need be, " + _AGAIN,
            path,
        )
    yield 0, "!", -1, closing["nbest"] or ""


def _lines(path: Path) -> Iterator[str]:
    """Without their ends. Logs are long: nothing is looked at twice unless it must be."""
    is_typed = str(path) == "-"
    try:
        with standard_input() if is_typed else open(path, encoding="utf-8", newline="\n") as stream:
            for line in stream:
                yield line.rstrip("\r\n")
    except FileNotFoundError:
        raise InputError("no such file", "give the output of fairseq-generate", path) from None
    except UnicodeDecodeError:
        if not is_typed and path.is_file():  # a pipe cannot be read again
            with open(path, "rb") as file:
                if file.read(len(_GZIP)) == _GZIP:
                    raise InputError("compressed", f"give <(zcat {path})", path) from None
            for _ in numbered_lines(path):  # it stops at the line
                continue
        raise InputError("not UTF-8", _AGAIN, path) from None
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise InputError(reason, "give the output of fairseq-generate", path) from None


def _read_file(path: Path, found: Dict[int, _Open]) -> Optional[int]:
    """Adds to `found`; returns the length of lists that the last line states, if it does."""
    stated = None
    for number, kind, index, text in _log_lines(path):
        if kind == "!":
            stated = int(text) if text else None
            continue
        pair = found.get(index)
        if pair is None:
            pair = found[index] = _Open()
        if kind == pair.expected:
            if kind == "H":
                score, words = _scored_words(text, path, number)
                if score > pair.score:
                    pair.rises = pair.rises or number
                if not pair.ranked:
                    pair.tokens = len(text.split()) - 1  # the score
                pair.ranked.append(words)
                pair.score, pair.written, pair.expected = score, text, "D"
            elif kind == "D":
                # The same text, as a rule; from word pieces, the same words.
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
            raise InputError(f"pair {index} a second time", _AGAIN, path, number)
        else:
            raise InputError(
                f"{kind}-{index} where {pair.expected}-{index} should follow",
                "lines are lost, or two outputs got mixed; " + _AGAIN,
                path,
                number,
            )
    return stated


def _scored_words(text: str, path: Path, number: int) -> Tuple[float, str]:
    """What stands behind `H-12` or `D-12`: the score, and words with single spaces."""
    score, tab, suggestion = text.partition("\t")
    try:
        value = float(score)
    except ValueError:
        tab = ""
    if not tab:
        raise InputError("no score and suggestion in it", _AGAIN, path, number)
    return value, " ".join(decode_pieces(suggestion).split())


def _check_complete(path: str, found: Dict[int, _Open], pairs: Optional[int]) -> None:
    """Every pair has its session, next query and whole suggestions; none is of somewhere else."""
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
    lacking = count - sum(map(_is_whole, found.values()))
    if lacking:
        # The first of them are soon found, however high a damaged number makes the count.
        first = (index for index in range(count) if not _is_whole(found.get(index)))
        raise InputError(
            f"{_numbered(first, lacking)} missing or incomplete, of {count} (numbered from 0)",
            "nothing is scored without them; generate again, and give all shards",
            path,
        )


def _is_whole(pair: Optional[_Open]) -> bool:
    return (
        pair is not None
        and pair.session is not None
        and pair.next_query is not None
        and bool(pair.ranked)
        and pair.expected == "H"
    )


def _numbered(indices: Iterable[int], count: int) -> str:
    shown = ", ".join(map(str, islice(indices, _SHOWN)))
    if count == 1:
        return f"pair {shown} is"
    return f"{count} pairs ({shown}{', …' if count > _SHOWN else ''}) are"


def write_suggestions(
    number: int, pair: Pair, ranked: Sequence[Tuple[str, float]], out: TextIO
) -> None:
    """As `fairseq-generate` prints them, but for the P line: a query is scored as a whole."""
    out.write(f"S-{number}\t{pair.source}\nT-{number}\t{pair.next_query}\n")
    # Nothing to suggest is an answer too, and takes a rank.
    for query, score in ranked or [("", 0.0)]:
        out.write(f"H-{number}\t{score:.6f}\t{query}\nD-{number}\t{score:.6f}\t{query}\n")
        out.write(f"P-{number}\t{score:.4f}\n")
