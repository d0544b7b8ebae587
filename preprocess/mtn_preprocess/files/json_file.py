"""Read a JSON file of this project, which may have been damaged since."""

import json
from pathlib import Path
from typing import Any, Union

from mtn_preprocess.errors import InputError

# All our counts, seeds and sizes are shorter, so a longer number is damage. Python refuses numbers
# of more than 4,300 digits (3.11) and cannot convert more than 308 digits to float.
MAX_DIGITS = 30


def read_json(path: Union[str, Path], remedy: str = "write it again") -> Any:
    """The content of the file; the caller checks the types.

    Args:
        remedy: shown if the file is damaged

    Raises:
        InputError: the file cannot be read or is not JSON
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
