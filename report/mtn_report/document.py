"""What a report consists of, whatever it is written as."""

import struct
from typing import List, NamedTuple, Tuple, Union


class Heading(NamedTuple):
    text: str
    level: int = 2


class Paragraph(NamedTuple):
    text: str


class Cell(NamedTuple):
    text: str
    small: str = ""  # what is said beside it, as the range that `text` is the mean of
    strong: bool = False


class Table(NamedTuple):
    """Rows with a text in their first cell begin a group; those below with none belong to it."""

    head: List[str]
    rows: List[List[Cell]]
    words: int = 1  # columns of words, on the left; numbers follow
    folded: str = ""  # a title to fold it under, where the format can


# All that a report may have: those of an earlier one in the same folder go by these names too.
PICTURES = ("bleu", "positions", "curves", "curves-others", "attention")


class Picture(NamedTuple):
    name: str  # of its file, without the ending: one of PICTURES
    png: bytes
    alt: str

    def pixels(self) -> Tuple[int, int]:
        """Width and height, which a PNG begins with."""
        width, height = struct.unpack(">II", self.png[16:24])
        return width, height


Block = Union[Heading, Paragraph, Table, Picture]


class Document(NamedTuple):
    title: str
    blocks: List[Block]

    def pictures(self) -> List[Picture]:
        found = [block for block in self.blocks if isinstance(block, Picture)]
        assert all(picture.name in PICTURES for picture in found)
        return found
