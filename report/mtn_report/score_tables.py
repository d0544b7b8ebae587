"""Tables of scores: each system on raw text, with `<unk>` as a token, and in the paper."""

from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence

from .document import Cell, Table
from .evaluation_file import TEXTS
from .manifest import System
from .paper import PaperRow
from .run_scores import FIGURES, Evaluations, Figure
from .trained_models import Size

MISSING = "–"
SCORED_ON = {"raw": "raw text", "unk": "with <unk>"}
PAPER = "the paper's"
_KINDS = {"position": "position", "seen": "next query", "shared_words": "next query"}
_HEADINGS = {"bleu": "BLEU", "mrr@10": "MRR@10"}


class _Facts(NamedTuple):
    """The columns of a system other than its scores."""

    layers: Cell = Cell("")
    runs: Cell = Cell("")
    size: Cell = Cell("")


def score_table(
    systems: Sequence[System],
    evaluations: Evaluations,
    sizes: Mapping[str, Size],
    paper: Mapping[str, PaperRow],
) -> Table:
    """The table of one section. Rows of the paper without a system of ours come last."""
    best = {text: _best(systems, evaluations, text) for text in TEXTS}
    rows = []
    for system in systems:
        rows += _own_rows(system, evaluations, sizes.get(system.label), best)
        if system.paper is not None and system.paper in paper:
            rows.append(_paper_row(Cell(""), paper[system.paper]))
    ours = {system.paper for system in systems}
    rows += [_paper_row(Cell(row.label), row) for key, row in paper.items() if key not in ours]
    return Table(["", "scored on", "layers", "runs", "MB", *headings()], rows, words=3)


def group_table(
    systems: Sequence[System],
    evaluations: Evaluations,
    kind: str,
    text: str,
    labels: Optional[Mapping[str, str]] = None,
) -> Table:
    """All scores by kind of pair, for example by position of the next query in its session."""
    rows = []
    of_system = {system.label: evaluations.groups(system, kind) for system in systems}
    for group, found_first in next(iter(of_system.values())).items():
        start = Cell((labels or {}).get(group, group))
        pairs = Cell(f"{found_first[0]['pairs']:,}")
        for label, found in of_system.items():
            figures = [
                Figure.of([(run.get(text) or {}).get(name) for run in found.get(group, [])])
                for name in FIGURES
            ]
            rows.append([start, Cell(label), pairs, *_cells(figures, {})])
            start = pairs = Cell("")
    title = f"The scores as a table ({SCORED_ON[text]})" if kind == "position" else ""
    return Table([_KINDS[kind], "", "pairs", *headings()], rows, words=2, folded=title)


def difference_table(
    systems: Sequence[System], evaluations: Evaluations, baseline: System, text: str
) -> Table:
    """Each system minus the baseline. A difference whose interval excludes 0 is bold."""
    rows = []
    for system in systems:
        found = evaluations.differences(system, baseline, text)
        if found:
            rows.append([Cell(system.label), *(_difference(found.get(n)) for n in FIGURES)])
    return Table(["", *headings()], rows)


def perplexity_table(systems: Sequence[System], evaluations: Evaluations) -> Table:
    """The perplexity of each system, with the number of tokens."""
    rows = []
    for system in systems:
        found = evaluations.perplexities(system)
        figure = Figure.of([run["value"] for run in found])
        assert figure is not None
        spread = f"{figure.low:,.2f}–{figure.high:,.2f}" if figure.runs > 1 else ""
        tokens = sorted({run["tokens"] for run in found})
        runs = _facts(system, evaluations, None).runs
        cells = [Cell(f"{figure.mean:,.2f}", spread), Cell(" / ".join(f"{n:,}" for n in tokens))]
        rows.append([Cell(system.label), runs, *cells])
    return Table(["", "runs", "perplexity", "tokens"], rows)


def _difference(found: Optional[dict]) -> Cell:
    if found is None:
        return Cell(MISSING)
    low, high = found["low"], found["high"]
    interval = f"{low:+.2f} … {high:+.2f}"
    return Cell(f"{found['difference']:+.2f}", interval, strong=low > 0 or high < 0)


def headings() -> List[str]:
    return [_HEADINGS.get(name, name) for name in FIGURES]


def show(name: str, value: float) -> str:
    return f"{value:.2f}" if name == "bleu" else f"{value:.1f}"


def _own_rows(
    system: System,
    evaluations: Evaluations,
    size: Optional[Size],
    best: Mapping[str, Mapping[str, float]],
) -> List[List[Cell]]:
    rows = []
    label = Cell(system.label, system.arch or "")
    facts = _facts(system, evaluations, size)
    for text in TEXTS:
        figures = [evaluations.figure(system, text, name) for name in FIGURES]
        if any(figures):
            rows.append(_row(label, SCORED_ON[text], facts, _cells(figures, best[text])))
            label, facts = Cell(""), _Facts()
    return rows


def _facts(system: System, evaluations: Evaluations, size: Optional[Size]) -> _Facts:
    if "yardstick" in system.groups:
        return _Facts()
    seeds = [str(run.seed) for run in system.runs if run.scores and run.seed is not None]
    named = f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}" if seeds else ""
    runs = Cell(str(len(evaluations.results(system))), named)
    if size is None:
        return _Facts(Cell(MISSING), runs, Cell(MISSING))
    return _Facts(_layers(size), runs, Cell(f"{size.megabytes:,.1f}", f"{size.parameters:,}"))


def _paper_row(label: Cell, row: PaperRow) -> List[Cell]:
    size = Cell(MISSING)
    if row.megabytes is not None:
        size = Cell(str(row.megabytes), f"{row.parameters:,}")
    scores = [
        Cell(show(name, row.scores[name]) if name in row.scores else MISSING) for name in FIGURES
    ]
    return _row(label, PAPER, _Facts(_layers(row), Cell(""), size), scores)


def _row(label: Cell, text: str, facts: _Facts, scores: List[Cell]) -> List[Cell]:
    return [label, Cell(text), *facts, *scores]


def _layers(found: "Size | PaperRow") -> Cell:  # quoted, for Python 3.8
    if found.encoder_layers is None or found.decoder_layers is None:
        return Cell(MISSING)
    return Cell(f"{found.encoder_layers}, {found.decoder_layers}D")


def _best(systems: Sequence[System], evaluations: Evaluations, text: str) -> Dict[str, float]:
    """The highest mean of each score, rounded as shown: equal numbers are both best."""
    found: Dict[str, float] = {}
    for name in FIGURES:
        figures = [evaluations.figure(system, text, name) for system in systems]
        shown = [float(show(name, figure.mean)) for figure in figures if figure is not None]
        if shown:
            found[name] = max(shown)
    return found


def _cells(figures: Sequence[Optional[Figure]], best: Mapping[str, float]) -> List[Cell]:
    cells = []
    for name, figure in zip(FIGURES, figures):
        if figure is None:
            cells.append(Cell(MISSING))
            continue
        mean = show(name, figure.mean)
        ends = (show(name, figure.low), show(name, figure.high))
        spread = "–".join(ends) if figure.runs > 1 else ""
        cells.append(Cell(mean, spread, strong=best.get(name) == float(mean)))
    return cells
