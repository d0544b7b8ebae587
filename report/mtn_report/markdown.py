"""A report in Markdown, with its pictures as separate files."""

import html
import re
from typing import Iterator, List

from .document import Block, Cell, Document, Heading, Paragraph, Picture, Table

# ASCII characters with a meaning in Markdown. They are escaped, so that queries appear as typed.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
_LIKE_A_LIST = re.compile(r"^(\s*\d*)([-+=.)])", re.MULTILINE)


def to_markdown(document: Document) -> str:
    blocks = [f"# {escape(document.title)}", *map(_block, document.blocks)]
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text).replace("&", "&amp;")


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {escape(block.text)}"
    if isinstance(block, Paragraph):
        return _LIKE_A_LIST.sub(r"\1\\\2", escape(block.text))
    if isinstance(block, Picture):
        return f"![{escape(block.alt)}]({block.name}.png)"
    table = "\n".join(_table(block))
    if not block.folded:
        return table
    # Markdown has no collapsible sections, but most renderers accept this HTML.
    title = html.escape(block.folded)
    return f"<details><summary>{title}</summary>\n\n{table}\n\n</details>"


def _table(table: Table) -> Iterator[str]:
    yield _row(list(map(escape, table.head)))
    numbers = len(table.head) - table.words
    yield _row(["---"] * table.words + ["---:"] * numbers)
    for row in table.rows:
        yield _row(list(map(_cell, row)))


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    text = f"**{text}**" if cell.strong else text
    return f"{text} ({escape(cell.small)})" if cell.small else text


def _row(cells: List[str]) -> str:
    return f"| {' | '.join(cells)} |"
