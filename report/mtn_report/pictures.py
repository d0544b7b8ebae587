"""The pictures of a report, as PNG, readable by colour-blind people and in greyscale."""

import io
import math
import textwrap
from functools import wraps
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np

from mtn_preprocess.errors import InputError

from .attention import Attention
from .run_scores import Figure
from .training_log import Curve, Points, shared_updates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

WIDTH = 9.0  # inches
_LETTER_WIDTH = 0.085  # average width of a letter, in inches
_LEGEND_ROW_HEIGHT = 0.24  # height of a legend row, in inches
_CELL_SIZE = 0.5  # of an attention map, in inches
_MAX_QUERY = 34  # maximum letters of a query beside an attention map
_MAX_LABEL = 78  # maximum letters of a system's label
DPI = 160
# The colours of Okabe and Ito without yellow, which is too pale for lines.
BLUE = "#0072B2"
_COLOURS = (BLUE, "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_GREYS = (("#000000", ":"), ("#555555", "--"), ("#888888", "-."))  # for baselines
_THIN_MARKERS = ("x", "+", "1", "2", "|", "_", "3", "4")
_SETTINGS = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "hatch.linewidth": 0.7,
    "text.parse_math": False,  # dollar signs in queries are literal
}


class Style(NamedTuple):
    colour: str
    marker: str
    line: Any


def styles(models: Sequence[str], baselines: Sequence[str]) -> Dict[str, Style]:
    """One style per label, the same in every picture. Colour and marker together are unique for
    up to 24 models and 24 baselines."""
    found = {}
    for i, label in enumerate(models):
        line = "-" if i < len(_COLOURS) else (0, (5, 1))
        found[label] = Style(_COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)], line)
    for i, label in enumerate(baselines):
        grey, line = _GREYS[i % len(_GREYS)]
        found[label] = Style(grey, _THIN_MARKERS[i % len(_THIN_MARKERS)], line)
    return found


def check_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "the pictures of a report need matplotlib", "pip install 'matplotlib>=3.7'"
        ) from None


def _with_settings(draw: Callable[..., bytes]) -> Callable[..., bytes]:
    """Apply the settings to this picture only: the caller's matplotlib stays unchanged."""

    @wraps(draw)
    def drawn(*args: Any) -> bytes:
        import matplotlib

        with matplotlib.rc_context(_SETTINGS):
            return draw(*args)

    return drawn


@_with_settings
def bleu_chart(bars: Sequence[Tuple[str, Mapping[str, Optional[Figure]]]]) -> bytes:
    """One group of bars per system: one bar per text variant, and one for the paper."""
    series = [name for name in _BARS if any(heights.get(name) for _, heights in bars)]
    drawing = _drawing(0.9 + 0.23 * sum(len(_present(heights)) + 0.7 for _, heights in bars))
    axes = drawing.subplots()
    middles, place = [], 0.0
    for _, heights in bars:
        present = _present(heights)
        middles.append(place + (len(present) - 1) / 2)
        for name in present:
            _bar(axes, place, heights[name], name)
            place += 1
        place += 0.7
    axes.set_yticks(middles, [textwrap.fill(_shortened(label), 26) for label, _ in bars])
    axes.tick_params(axis="y", length=0)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("BLEU")
    highest = max((f.high for _, h in bars for f in h.values() if f is not None), default=1)
    axes.set_xlim(0, 1.14 * max(highest, 1))
    from matplotlib.patches import Patch

    handles = [Patch(label=_BARS[name][0], **_BARS[name][1]) for name in series]
    drawing.legend(handles=handles, loc="outside upper center", ncols=len(series))
    return _png(drawing)


_BARS: Dict[str, Tuple[str, Dict[str, Any]]] = {
    "raw": ("raw text", {"facecolor": BLUE, "edgecolor": BLUE}),
    "unk": (
        "with <unk>",
        {"facecolor": "white", "edgecolor": BLUE, "hatch": "////"},
    ),
    "paper": (
        "the paper's, on AOL",
        {"facecolor": "#f3d9b0", "edgecolor": "#8a5a00", "hatch": "..."},
    ),
}


def _present(heights: Mapping[str, Optional[Figure]]) -> List[str]:
    return [name for name in _BARS if heights.get(name) is not None]


def _bar(axes: "Axes", place: float, figure: Optional[Figure], name: str) -> None:
    assert figure is not None
    axes.barh(place, figure.mean, height=0.82, linewidth=0.8, **_BARS[name][1])
    if figure.runs > 1:
        errors = [[figure.mean - figure.low], [figure.high - figure.mean]]
        axes.errorbar(figure.mean, place, xerr=errors, color="black", capsize=2.5, linewidth=1)
    axes.annotate(
        f"{figure.mean:.2f}",
        (figure.high if figure.runs > 1 else figure.mean, place),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=8.5,
    )


@_with_settings
def position_chart(
    panels: Mapping[str, Mapping[str, Mapping[str, Figure]]], looks: Mapping[str, Style]
) -> bytes:
    """One panel per figure (`BLEU`, …): one line per label, by position in the session."""
    drawing = _drawing(3.6)
    (row,) = drawing.subplots(1, len(panels), squeeze=False)
    for axes, (title, systems) in zip(row, panels.items()):
        positions = list(dict.fromkeys(at for found in systems.values() for at in found))
        for label, found in systems.items():
            at = [positions.index(position) for position in found]
            look = looks[label]
            axes.plot(
                at,
                [figure.mean for figure in found.values()],
                color=look.colour,
                marker=look.marker,
                linestyle=look.line,
                markersize=5,
                label=label,
            )
            low, high = ([getattr(f, end) for f in found.values()] for end in ("low", "high"))
            axes.fill_between(at, low, high, color=look.colour, alpha=0.15, linewidth=0)
        axes.set_xticks(range(len(positions)), [_shortened(each, 12) for each in positions])
        axes.set_title(title, fontsize=10)
        axes.set_ylim(bottom=0)
    drawing.supxlabel("position of the next query in its session", fontsize=10)
    _legend(drawing, row[0])
    return _png(drawing)


@_with_settings
def learning_curves(curves: Mapping[str, Sequence[Curve]], looks: Mapping[str, Style]) -> bytes:
    """Validation and, if logged, training loss: the mean of a system's runs, with their range."""
    kinds = ["validation", "training"]
    if not any(curve.training for runs in curves.values() for curve in runs):
        kinds = ["validation"]
    drawing = _drawing(4.0)
    (panels,) = drawing.subplots(1, len(kinds), sharey=True, squeeze=False)
    for axes, kind in zip(panels, kinds):
        for label, runs in curves.items():
            _curve(axes, [getattr(run, kind) for run in runs], label, looks[label])
        axes.set_title(f"{kind} loss", fontsize=10)
        axes.set_xlabel("updates")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter("{x:,.0f}")
    panels[0].set_ylabel("bits per token")
    panels[0].set_ylim(*_shown_range([curve for runs in curves.values() for curve in runs]))
    _legend(drawing, panels[0])
    return _png(drawing)


def _shown_range(curves: Sequence[Curve]) -> Tuple[float, float]:
    """Up to the highest validation loss: the first training losses would flatten the curves."""
    validation = [loss for curve in curves for _, loss in curve.validation]
    training = [loss for curve in curves for _, loss in curve.training]
    low, high = min(validation + training), max(validation)
    room = 0.08 * (high - low or 1)
    return low - room, high + room


def _curve(axes: "Axes", runs: Sequence[Points], label: str, look: Style) -> None:
    logged = [dict(points) for points in runs if points]
    # Only updates that all runs have: the mean jumps where a run is missing.
    common = shared_updates([points for points in runs if points])
    if not common:  # no mean: one line per run, all under one label
        for points in logged:
            _loss_line(axes, list(points), list(points.values()), label, look)
            label = ""
        return
    losses = [[points[updates] for points in logged] for updates in common]
    _loss_line(axes, common, [sum(each) / len(each) for each in losses], label, look)
    low, high = (list(map(end, losses)) for end in (min, max))
    axes.fill_between(common, low, high, color=look.colour, alpha=0.18, linewidth=0)


def _loss_line(
    axes: "Axes", updates: Sequence[int], losses: Sequence[float], label: str, look: Style
) -> None:
    axes.plot(
        updates,
        losses,
        color=look.colour,
        marker=look.marker,
        linestyle=look.line,
        markersize=4,
        linewidth=1.4,
        markevery=max(1, len(updates) // 8),
        label=label,
    )


@_with_settings
def attention_maps(sessions: Sequence[Attention]) -> bytes:
    """One row per session, one column per layer. Weights are numbers on a pale to dark hue."""
    layers = max(len(session.layers) for session in sessions)
    sizes = [len(session.queries) for session in sessions]
    queries = [query for session in sessions for query in session.queries]
    longest = max(len(_shortened(query, _MAX_QUERY)) for query in queries)
    width = _LETTER_WIDTH * longest + layers * (_CELL_SIZE * max(sizes) + 0.3) + 1.2
    drawing = _drawing(sum(_CELL_SIZE * size + 0.75 for size in sizes), width)
    grid = drawing.subplots(len(sessions), layers, squeeze=False, height_ratios=sizes)
    for row, session in zip(grid, sessions):
        for layer, axes in enumerate(row):
            _map(axes, session, layer)
            axes.set_xlim(-0.5, max(sizes) - 0.5)  # squares of the same size in all maps
    return _png(drawing)


def _map(axes: "Axes", session: Attention, layer: int) -> None:
    from matplotlib.patches import Rectangle

    weights, count = session.layers[layer], len(session.queries)
    later = np.triu(np.ones_like(weights, dtype=bool), 1)
    shown = np.ma.masked_array(weights, later)
    axes.imshow(shown, cmap="Blues", vmin=0, vmax=1.1, aspect="auto")
    for i, j in zip(*np.nonzero(~later)):
        # The frame distinguishes weight 0 from a hidden cell.
        axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="#aaaaaa"))
        ink = "white" if weights[i, j] > 0.6 else "black"
        axes.text(j, i, f"{100 * weights[i, j]:.0f}", ha="center", va="center", color=ink, size=9)
    names = [f"{_shortened(query, _MAX_QUERY)}  {i}" for i, query in enumerate(session.queries, 1)]
    axes.set_yticks(range(count), names if layer == 0 else [""] * count)
    axes.set_xticks(range(count), [str(i) for i in range(1, count + 1)])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.set_title(f"line {session.line}, layer {layer + 1}", fontsize=9.5, loc="left")
    for side in axes.spines.values():
        side.set_visible(False)


# --- matplotlib -----------------------------------------------------------------------------------


def _drawing(height: float, width: float = WIDTH) -> "Drawing":
    """A figure made without pyplot, which would keep a reference to it."""
    from matplotlib.figure import Figure as Drawing

    return Drawing(figsize=(width, height), layout="constrained")


def _png(drawing: "Drawing") -> bytes:
    buffer = io.BytesIO()
    # No software version: the same report always has the same bytes.
    drawing.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()


def _legend(drawing: "Drawing", axes: "Axes") -> None:
    handles, names = axes.get_legend_handles_labels()
    labels = list(map(_shortened, names))
    if not labels:
        return
    fitting = int(WIDTH / (0.75 + _LETTER_WIDTH * max(map(len, labels))))
    columns = max(1, min(len(labels), fitting))
    # The figure grows with the legend, so that many rows of long names leave space for the plot.
    further = max(0, math.ceil(len(labels) / columns) - 2)
    drawing.set_figheight(drawing.get_figheight() + _LEGEND_ROW_HEIGHT * further)
    drawing.legend(handles, labels, loc="outside upper center", ncols=columns)


def _shortened(text: str, length: int = _MAX_LABEL) -> str:
    """Shorten labels: matplotlib's layout is slow for long texts, and the tables have the full
    labels."""
    return text if len(text) <= length else text[: length - 1] + "…"
