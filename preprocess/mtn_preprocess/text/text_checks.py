"""Check text for invalid content before it is binarised."""

from pathlib import Path
from typing import Container, Iterator, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import (
    BYTE_ORDER_MARK,
    NUL,
    escape,
    find_separator,
    find_symbol,
    is_separator,
)

_NO_PAIRS = "check the filters of the preparation"
_UTF8 = "save it as UTF-8, for example with `iconv -f latin1 -t utf-8`"

# Characters that no line may contain: reason and remedy.
_REFUSED = {
    "\r": (
        "a carriage return within the line, where fairseq would start a new one",
        "take it out, for example with `tr -d '\\r'`",
    ),
    BYTE_ORDER_MARK: (
        "a byte order mark, which would be part of a word",
        r"save it as UTF-8 without one, for example with `sed 's/\xEF\xBB\xBF//g'`",
    ),
    NUL: ("a NUL character", "take it out, for example with `tr -d '\\0'`"),
}


def numbered_lines(path: Path) -> Iterator[Tuple[int, str]]:
    """Lines with their numbers; raises with file and line if one is not plain UTF-8."""
    if not path.is_file():
        raise InputError("no such file", "check the path, or run the preparation first", path)
    with open(path, "rb") as stream:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                reason = f"not UTF-8 at byte {error.start + 1} of the line"
                raise InputError(reason, _UTF8, path, number) from None
            for character, (reason, remedy) in _REFUSED.items():
                if character in line:
                    raise InputError(reason, remedy, path, number)
            yield number, line


def session_lines(path: Path) -> Iterator[Tuple[int, str]]:
    """`numbered_lines` of session text; raises if a word is a fairseq symbol."""
    for number, line in numbered_lines(path):
        _check_symbols(line, path, number)
        yield number, line


def check_text(path: Path, separators: Container[str]) -> None:
    """Refuse text, of sessions or next queries, that must not be binarised.

    Args:
        separators: the separators in the dictionary
    """
    number = 0
    for number, line in session_lines(path):
        unknown = find_separator(line, separators)
        if unknown is not None:
            raise InputError(
                f"{unknown} in the text, a separator of a level that the dictionary does not have",
                f"write typed ones escaped, as `{escape(unknown)}`, or make the dictionary from "
                "training text with all levels below",
                path,
                number,
            )
    if not number:
        raise InputError("no pairs", _NO_PAIRS, path)


def _check_symbols(line: str, path: Path, number: int) -> None:
    symbol = find_symbol(line)
    if symbol is not None:
        raise InputError(
            f"{symbol} in the text, which fairseq would read as a symbol of its own",
            f"write typed symbols escaped, as `{escape(symbol)}`",
            path,
            number,
        )


def check_session(line: str, path: Path, number: int) -> None:
    """Refuse a source line that has no query, an empty query, or a fairseq symbol."""
    _check_symbols(line, path, number)
    words = line.split()
    if not words:
        raise InputError("empty line", "a source line needs at least one query", path, number)
    if all(map(is_separator, words)):
        raise InputError("only separators", "remove the line from both files", path, number)
    # A query is empty where a separator is first, last, or after another separator.
    empty_before = [
        is_separator(word) and (i == 0 or is_separator(words[i - 1]))
        for i, word in enumerate(words)
    ]
    if any(empty_before) or is_separator(words[-1]):
        raise InputError(
            "empty query", "remove it together with one of the separators around it", path, number
        )


def check_next_query(line: str, path: Path, number: int) -> None:
    """Refuse a target line that is not exactly one query, or has a fairseq symbol."""
    _check_symbols(line, path, number)
    words = line.split()
    if not words:
        raise InputError("empty query", "remove the line from both files", path, number)
    if any(map(is_separator, words)):
        raise InputError(
            "a separator in the next query",
            "a target line is one query; write typed separators escaped, as `\\<q>`",
            path,
            number,
        )


def check_pairs(prefix: str, source: str = "session", target: str = "next") -> int:
    """Check `prefix.session` against `prefix.next`; return the number of pairs."""
    source_path, target_path = Path(f"{prefix}.{source}"), Path(f"{prefix}.{target}")
    source_count = target_count = 0
    for source_count, line in numbered_lines(source_path):
        check_session(line, source_path, source_count)
    for target_count, line in numbered_lines(target_path):
        check_next_query(line, target_path, target_count)
    if source_count != target_count:
        raise InputError(
            f"{source_count} lines, but {target_path} has {target_count}",
            "line n of one file must belong to line n of the other; prepare both again",
            source_path,
            min(source_count, target_count) + 1,
        )
    if not source_count:
        raise InputError("no pairs", _NO_PAIRS, source_path)
    return source_count
