"""A report as one self-contained HTML file, with style and pictures inside."""

import base64
from html import escape
from itertools import count
from typing import Iterator, List, Tuple

from .document import Block, Cell, Document, Heading, Paragraph, Picture, Table
from .pictures import DPI

CSS_DPI = 96  # CSS pixels per inch
WIDE = 640  # pixels; on a phone, wider pictures scroll instead of shrinking
STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #fff; --line: #d5d5dc; --soft: #5c5c66;
  --band: #f4f5f8; --link: #0060a0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --paper: #17181c; --line: #3a3b42;
  --soft: #a3a4ad; --band: #202127; --link: #7cc0f0; } }
body { margin: 0 auto; max-width: 76rem; padding: 1rem 1.25rem 4rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-top: 1px solid var(--line);
  padding-top: 1.25rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p { max-width: 46rem; margin: .5rem 0; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 1rem 0; font-size: .9rem; }
a { color: var(--link); }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; vertical-align: top; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--ink); }
.word { text-align: left; }
td.word:first-child, .words td { white-space: normal; min-width: 6.5rem; max-width: 18rem; }
@media (min-width: 60rem) { td.word:first-child { min-width: 8.5rem; } }
th:first-child, td:first-child { padding-left: 0; position: sticky; left: 0;
  background: var(--paper); }
tr.start > td { border-top: 1px solid var(--line); }
tbody tr:first-child > td { border-top: 0; }
tr.start > td:first-child { font-weight: 600; }
td:first-child small { font-weight: 400; }
small { display: block; color: var(--soft); font-size: .72rem; line-height: 1.1; }
figure { margin: 1rem 0; overflow-x: auto; }
img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: .4rem; }
img.wide { max-width: max(100%, 40rem); }
summary { cursor: pointer; color: var(--link); }
"""


def to_html(document: Document) -> str:
    headings = _numbered(document.blocks)
    links = [
        f'<a href="#{anchor}">{escape(block.text)}</a>'
        for anchor, block in headings
        if block.level == 2
    ]
    anchors = iter([anchor for anchor, _ in headings])
    body = [
        f'<h{block.level} id="{next(anchors)}">{escape(block.text)}</h{block.level}>'
        if isinstance(block, Heading)
        else _block(block)
        for block in document.blocks
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8" />',
            '<meta name="viewport" content="width=device-width, initial-scale=1" />',
            f"<title>{escape(document.title)}</title>",
            f"<style>{STYLE}</style></head>",
            f"<body>\n<h1>{escape(document.title)}</h1>",
            f"<nav>{' '.join(links)}</nav>",
            *body,
            "</body>\n</html>\n",
        ]
    )


def _numbered(blocks: List[Block]) -> List[Tuple[str, Heading]]:
    numbers = count(1)
    return [(f"part{next(numbers)}", block) for block in blocks if isinstance(block, Heading)]


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Picture):
        data = base64.b64encode(block.png).decode("ascii")
        # The letters of a picture are as large as the text, and sharp on high-resolution screens.
        width, height = (round(pixels * CSS_DPI / DPI) for pixels in block.pixels())
        size = f'width="{width}" height="{height}"' + (' class="wide"' if width > WIDE else "")
        source = f"data:image/png;base64,{data}"
        return f'<figure><img {size} alt="{escape(block.alt)}" src="{source}" /></figure>'
    assert isinstance(block, Table)
    table = "\n".join(_table(block))
    if not block.folded:
        return table
    return f"<details><summary>{escape(block.folded)}</summary>\n{table}\n</details>"


def _table(table: Table) -> Iterator[str]:
    kinds = ["word"] * table.words + ["number"] * (len(table.head) - table.words)
    only_words = ' class="words"' if table.words == len(table.head) else ""
    yield f'<div class="scroll"><table{only_words}><thead><tr>'
    for kind, text in zip(kinds, table.head):
        yield f'<th class="{kind}">{escape(text)}</th>'
    yield "</tr></thead><tbody>"
    for row in table.rows:
        cells = "".join(f'<td class="{kind}">{_cell(cell)}</td>' for kind, cell in zip(kinds, row))
        start = ' class="start"' if row[0].text else ""
        yield f"<tr{start}>{cells}</tr>"
    yield "</tbody></table></div>"


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    text = f"<strong>{text}</strong>" if cell.strong else text
    return f"{text} <small>{escape(cell.small)}</small>" if cell.small else text
