"""The one type for errors that users can fix: place, reason, remedy."""

from typing import Optional, Tuple


class InputError(ValueError, SystemExit):
    """Bad input, reported in one line: `file:line: reason; remedy`.

    It is a `ValueError` for Python callers. It is also a `SystemExit`, so that commands outside
    this project (`fairseq-train`, `fairseq-generate`, …) print only this line, without a traceback,
    and exit with code 1.
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
        self.code = message  # Python prints this for an uncaught SystemExit
        self.reason, self.remedy, self.file, self.line = reason, remedy, file, line

    def __reduce__(self) -> Tuple:
        # Worker processes pickle their errors to send them to the parent.
        return type(self), (self.reason, self.remedy, self.file, self.line)
