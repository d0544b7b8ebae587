#!/usr/bin/env python3
"""Draws the picture of the README: levels-light.svg and levels-dark.svg, beside this script.

python docs/pictures/levels.py
"""

from pathlib import Path
from typing import Dict, List, Tuple

from svg_drawing import MONOSPACE, Drawing

WIDTH, HEIGHT = 880, 400

# Level 1 blue, level 2 orange, decoder green: Okabe and Ito's hues, lighter on dark.
THEMES: Dict[str, Dict[str, str]] = {
    "light": {
        "text": "#1f2328",
        "quiet": "#59636e",
        "line": "#818b98",
        "word": "#ffffff",
        "tokens": "#0072b2",
        "tokens-room": "#e8f2f9",
        "queries": "#c25100",
        "queries-room": "#fcefe4",
        "decoder": "#00795a",
        "decoder-room": "#e3f4ee",
    },
    "dark": {
        "text": "#f0f6fc",
        "quiet": "#9198a1",
        "line": "#7d8590",
        "word": "#161b22",
        "tokens": "#5db7ee",
        "tokens-room": "#10283a",
        "queries": "#f59a52",
        "queries-room": "#36210f",
        "decoder": "#43c9a0",
        "decoder-room": "#0c2e25",
    },
}

# Each query with the places of its tokens, from left to right; <q> ends a query.
QUERIES: List[Tuple[Tuple[str, int], ...]] = [
    (("paris", 246), ("hotels", 336), ("<q>", 412)),
    (("london", 526), ("<q>", 602)),
]
WORDS, CODES, VECTORS = 360, 250, 88  # heights of the three rows
DECODER = 784  # its middle


def draw(colours: Dict[str, str]) -> str:
    drawing = Drawing(WIDTH, HEIGHT, colours)
    draw_words(drawing)
    draw_level_1(drawing)
    draw_level_2(drawing)
    draw_decoder(drawing)
    return drawing.svg(
        "A session goes up the levels: the tokens of each query, then the queries. "
        "The decoder reads the codes of all tokens and suggests the next query."
    )


def margin(drawing: Drawing, y: int, heading: str, colour: str, *lines: str) -> None:
    drawing.text(16, y, heading, colour, 16, anchor="start", weight="600")
    for row, line in enumerate(lines, 1):
        drawing.text(16, y + 20 * row, line, "quiet", 13, anchor="start")


def draw_words(drawing: Drawing) -> None:
    margin(drawing, WORDS - 4, "a session", "text", "two queries so far")
    for tokens in QUERIES:
        for word, x in tokens:
            width = 46 if word == "<q>" else 74
            drawing.box(x - width // 2, WORDS - 20, width, 36, "word", "line")
            colour = "quiet" if word == "<q>" else "text"
            drawing.text(x, WORDS + 4, word, colour, family=MONOSPACE)
            drawing.arrow(f"M{x} {WORDS - 22} V{CODES + 44}", "line")


def edges(tokens: Tuple[Tuple[str, int], ...]) -> Tuple[int, int]:
    return tokens[0][1] - 48, tokens[-1][1] + 34


def draw_level_1(drawing: Drawing) -> None:
    reads = "a Transformer reads each", "query by itself"
    margin(drawing, CODES - 16, "level 1: tokens", "tokens", *reads)
    for tokens in QUERIES:
        left, right = edges(tokens)
        drawing.box(left, CODES - 36, right - left, 72, "tokens-room", "tokens")
        for (_, one), (_, other) in zip(tokens, tokens[1:]):  # attention both ways
            drawing.arrow(f"M{one + 14} {CODES - 5} H{other - 16}", "tokens")
            drawing.arrow(f"M{other - 14} {CODES + 5} H{one + 16}", "tokens")
        for _, x in tokens:  # a code of level 1, with what came down from level 2 around it
            drawing.circle(x, CODES, 9, "tokens", "queries")


def draw_level_2(drawing: Drawing) -> None:
    reads = "a masked Transformer:", "no query sees a later one"
    margin(drawing, VECTORS - 16, "level 2: queries", "queries", *reads)
    first, last = edges(QUERIES[0])[0], edges(QUERIES[-1])[1]
    drawing.box(first, VECTORS - 36, last - first, 72, "queries-room", "queries")
    middles = [sum(edges(tokens)) // 2 for tokens in QUERIES]
    for one, other in zip(middles, middles[1:]):  # attention one way
        drawing.arrow(f"M{one + 20} {VECTORS} H{other - 22}", "queries")
    for middle in middles:
        drawing.circle(middle, VECTORS, 13, "queries", "queries")
        drawing.arrow(f"M{middle - 26} {CODES - 38} V{VECTORS + 40}", "tokens")
        drawing.arrow(f"M{middle + 26} {VECTORS + 38} V{CODES - 40}", "queries", dashed=True)
    between = (VECTORS + CODES) // 2
    for row, up, down in ((-4, "one vector", "added to"), (14, "per query", "each token")):
        drawing.text(middles[0] - 36, between + row, up, "tokens", 13, anchor="end")
        drawing.text(middles[0] + 36, between + row, down, "queries", 13, anchor="start")
    middle = (first + last) // 2
    drawing.arrow(f"M{middle} {VECTORS - 38} V{VECTORS - 64}", "line", dashed=True)
    above = "further levels, if you like: earlier sessions, …"
    drawing.text(middle, VECTORS - 70, above, "quiet", 13)


def draw_decoder(drawing: Drawing) -> None:
    right, left = edges(QUERIES[-1])[1], DECODER - 64
    drawing.box(left, CODES - 36, 128, 72, "decoder-room", "decoder")
    drawing.text(DECODER, CODES - 2, "decoder", "decoder", 16, weight="600")
    drawing.text(DECODER, CODES + 18, "word by word", "quiet", 13)
    # one line from all tokens: their codes are read together
    rail = CODES + 26
    for _, x in (token for tokens in QUERIES for token in tokens):
        drawing.line(f"M{x} {CODES + 11} V{rail}", "decoder")
    drawing.arrow(f"M{QUERIES[0][0][1] - 1} {rail} H{left - 2}", "decoder")
    drawing.text((right + left) // 2, rail - 26, "attends to", "decoder", 13)
    drawing.text((right + left) // 2, rail - 9, "all tokens", "decoder", 13)
    drawing.arrow(f"M{DECODER} {CODES - 38} V{VECTORS + 24}", "decoder")
    drawing.box(DECODER - 80, VECTORS - 20, 160, 40, "word", "decoder")
    drawing.text(DECODER, VECTORS + 5, "london hotels", weight="600", family=MONOSPACE)
    drawing.text(DECODER, VECTORS - 34, "suggestion", "decoder", 16, weight="600")


def main() -> None:
    for name, colours in THEMES.items():
        path = Path(__file__).parent / f"levels-{name}.svg"
        path.write_text(draw(colours), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
