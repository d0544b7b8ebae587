"""One error type for everything a user can put right: where, what, and the remedy."""

from typing import Optional, Tuple


class InputError(ValueError, SystemExit):
    """Bad input, said in one line: `file:line: reason; remedy`.

    It is a `ValueError` for callers from Python. It is also a `SystemExit`, so that a command that
    nobody wrapped (`fairseq-train`, `fairseq-generate`, …) prints the line alone, without a
    traceback, and ends with exit code 1.
    """

    def __init__(
        self,
        reason: str,
        remedy: str,
        file: Optional[object] = None,
        line: Optional[int] = None,
    ) -> None:
        place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        message = f"{place}{reason}; {remedy}"
        super().__init__(message)
        self.code = message  # what Python prints for a SystemExit that nobody catches
        self.reason, self.remedy, self.file, self.line = reason, remedy, file, line

    def __reduce__(self) -> Tuple:
        # Loader and binariser workers send their errors home pickled.
        return type(self), (self.reason, self.remedy, self.file, self.line)
