"""Imports of libraries that only some jobs need."""

from contextlib import contextmanager
from typing import Iterator

from mtn_preprocess.errors import InputError

WHOLE_PROJECT = "install the whole project"


@contextmanager
def needed_for(job: str, remedy: str) -> Iterator[None]:
    """Turn a missing library, imported inside the `with` block, into an `InputError`.

    Args:
        job: what needs the library, for the message
        remedy: how to install it
    """
    try:
        yield
    except ModuleNotFoundError as error:
        reason = f"{job} needs {error.name}, which is not installed"
        raise InputError(reason, remedy) from None
