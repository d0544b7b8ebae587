"""Reads a JSON file of ours, whatever became of it since it was written."""

import json
from pathlib import Path
from typing import Any, Union

from mtn_preprocess.errors import InputError

# Every count, seed and size that we write has fewer. A longer one is damage; and Python refuses
# those of more than 4,300 digits (3.11), and cannot make a float of one of more than 308.
MAX_DIGITS = 30


def read_json(path: Union[str, Path], remedy: str = "write it again") -> Any:
    """What the file holds; the caller checks the types.

    Args:
        remedy: for a damaged file

    Raises:
        InputError: it cannot be read, or is no JSON
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        return json.loads(text, parse_int=_whole_number)
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
        raise InputError(reason, "name a file that can be read", path) from None
    except RecursionError:
        raise InputError("lists or objects nested too deeply", remedy, path) from None
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"not JSON ({error})", remedy, path, line) from None


def _whole_number(text: str) -> int:
    digits = len(text.lstrip("-"))
    if digits > MAX_DIGITS:
        raise ValueError(f"a number of {digits:,} digits")
    return int(text)
