"""A typed prefix, read in the same way as the training text.

The last word may be unfinished, so it must not be read as a whole word: `o'` may become `o'brien`,
`12` may become `12th`. So a letter is appended before reading and removed afterwards.
"""

from typing import List, NamedTuple

from mtn_preprocess.text.typed_sessions import SessionReader

MAX_TYPED = 500  # characters; a longer text is no query that somebody types
_LETTER = "x"


class Prefix(NamedTuple):
    text: str  # a space at the end means that the last word is finished; "" for nothing typed
    is_too_long: bool = False  # more than MAX_TYPED: it is not read, and has no completions

    @property
    def finished(self) -> List[str]:
        """The words before the open word."""
        return self.text.split(" ")[:-1]

    @property
    def open_word(self) -> str:
        """The word being typed; "" after a space."""
        return self.text.rpartition(" ")[2]


def read_prefix(typed: str, reader: SessionReader) -> Prefix:
    """`London ho` -> `london ho`, `London  ` -> `london `, `www.` -> `www ` (rule `aol`)."""
    if len(typed) > MAX_TYPED:
        return Prefix("", is_too_long=True)
    read = reader.query(typed + _LETTER)
    if read.endswith(_LETTER):
        return Prefix(read[: -len(_LETTER)])
    return Prefix(reader.query(typed))  # masked, such as an e-mail address
