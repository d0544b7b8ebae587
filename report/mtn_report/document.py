"""The parts of a report, independent of the output format."""

import struct
from typing import List, NamedTuple, Tuple, Union


class Heading(NamedTuple):
    text: str
    level: int = 2


class Paragraph(NamedTuple):
    text: str


class Cell(NamedTuple):
    text: str
    small: str = ""  # a note beside the text, such as the range around a mean
    strong: bool = False


class Table(NamedTuple):
    """A row with text in its first cell starts a group, which lasts until the next such row."""

    head: List[str]
    rows: List[List[Cell]]
    words: int = 1  # number of text columns on the left; numbers follow
    folded: str = ""  # if not empty: title of a collapsible section around the table


# All pictures that a report can have. Files of an earlier report are found by these names.
PICTURES = ("bleu", "positions", "curves", "curves-others", "attention")


class Picture(NamedTuple):
    name: str  # file name without ending, one of PICTURES
    png: bytes
    alt: str

    def pixels(self) -> Tuple[int, int]:
        """Width and height from the PNG header."""
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
