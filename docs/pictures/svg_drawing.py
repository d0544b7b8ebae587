"""What the pictures have in common: SVG elements in the colours of one theme."""

from html import escape
from typing import Dict, List

FONT = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, 'DejaVu Sans', sans-serif"
MONOSPACE = "ui-monospace, Menlo, monospace"


class Drawing:
    def __init__(self, width: int, height: int, colours: Dict[str, str]) -> None:
        """Args:
        colours: name -> colour; elements name their colours
        """
        self.width, self.height = width, height
        self.colours = colours
        self.elements: List[str] = []

    def box(self, x: int, y: int, width: int, height: int, room: str, edge: str) -> None:
        self.elements.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="10"'
            f' fill="{self.colours[room]}" stroke="{self.colours[edge]}" stroke-width="1.5"/>'
        )

    def bar(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self.elements.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}"'
            f' fill="{self.colours[fill]}"/>'
        )

    def text(
        self, x: float, y: float, words: str, colour: str = "text", size: int = 15, **style: str
    ) -> None:
        """style: anchor, weight, family."""
        anchor, weight = style.get("anchor", "middle"), style.get("weight", "400")
        family = f' font-family="{style["family"]}"' if "family" in style else ""
        self.elements.append(
            f'<text x="{x:g}" y="{y:g}" fill="{self.colours[colour]}" font-size="{size}"'
            f' font-weight="{weight}" text-anchor="{anchor}"{family}>{escape(words)}</text>'
        )

    def arrow(self, path: str, colour: str, dashed: bool = False) -> None:
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self.elements.append(
            f'<path d="{path}" fill="none" stroke="{self.colours[colour]}" stroke-width="2"'
            f'{dashes} marker-end="url(#{colour})"/>'
        )

    def line(self, path: str, colour: str) -> None:
        self.elements.append(
            f'<path d="{path}" fill="none" stroke="{self.colours[colour]}" stroke-width="2"/>'
        )

    def circle(self, x: int, y: int, radius: int, fill: str, edge: str) -> None:
        self.elements.append(
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{self.colours[fill]}"'
            f' stroke="{self.colours[edge]}" stroke-width="3"/>'
        )

    def svg(self, title: str) -> str:
        """The picture, with an arrow head per colour that an arrow uses."""
        heads = "".join(
            f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="5"'
            f' markerHeight="5" orient="auto"><path d="M0 0 L10 5 L0 10 z"'
            f' fill="{colour}"/></marker>'
            for name, colour in self.colours.items()
            if any(f"url(#{name})" in element for element in self.elements)
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
                f' font-family="{FONT}" role="img">',
                f"<title>{escape(title)}</title>",
                *([f"<defs>{heads}</defs>"] if heads else []),
                *self.elements,
                "</svg>\n",
            ]
        )
