"""What somebody has typed so far, read as the training text was.

The last word may be unfinished, so it must not be read as a whole word: `o'` may become `o'brien`,
`12` may become `12th`. So a letter is put behind the typed text before it is read, and taken off
afterwards.
"""

from typing import List, NamedTuple

from mtn_preprocess.text.typed_sessions import SessionReader

_LETTER = "x"


class Prefix(NamedTuple):
    text: str  # a space at its end says that the last word is finished; "" for nothing typed

    @property
    def finished(self) -> List[str]:
        """Its words without the one that is being typed."""
        return self.text.split(" ")[:-1]

    @property
    def open_word(self) -> str:
        """The word that is being typed; "" behind a space."""
        return self.text.rpartition(" ")[2]


def read_prefix(typed: str, reader: SessionReader) -> Prefix:
    """`London ho` -> `london ho`, `London  ` -> `london `, `www.` -> `www ` by the rule `aol`."""
    read = reader.query(typed + _LETTER)
    if read.endswith(_LETTER):
        return Prefix(read[: -len(_LETTER)])
    return Prefix(reader.query(typed))  # a mask, such as that of an e-mail address
