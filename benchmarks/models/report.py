"""The measurements as tables and pictures."""

from pathlib import Path
from typing import Any, Dict, List, Sequence

from systems import (
    HLSTM,
    MTN,
    MTN_ADAPTIVE,
    MTN_FAIRSEQ_SEARCH,
    MTN_FROZEN,
    MTN_QUERY,
    PADDED,
    PADDED_ALIKE,
    PADDED_LOGITS,
    PLAINER_THAN,
    STOCK,
    STOCK_LSTM,
    UNROLLED,
    UNROLLED_ADAPTIVE,
)

Rows = List[Dict[str, Any]]

# The colour-blind-safe palette of Okabe and Ito, with different markers for print.
STYLES = {
    MTN: ("#0072B2", "o"),
    MTN_FAIRSEQ_SEARCH: ("#000000", "h"),
    MTN_FROZEN: ("#44546A", "8"),
    PADDED: ("#7F4F24", "p"),
    PADDED_ALIKE: ("#B08968", "<"),
    PADDED_LOGITS: ("#DDB892", ">"),
    MTN_QUERY: ("#56B4E9", "v"),
    MTN_ADAPTIVE: ("#009E73", "s"),
    UNROLLED: ("#CC79A7", "D"),
    UNROLLED_ADAPTIVE: ("#F0E442", "d"),
    STOCK: ("#D55E00", "^"),
    STOCK_LSTM: ("#999999", "x"),
    HLSTM: ("#E69F00", "P"),
}
SPEED_HEADS = ("pairs/s", "× stock transformer", "× gained by the optimised version")


def write_report(results: Dict[str, Any], folder: Path) -> None:
    """Write tables.md, speed.png and growth.png, from the parts that were measured."""
    text = []
    if "training" in results:
        text += ["## Training: pairs per second", "", training_table(results["training"]), ""]
    if "decoding" in results:
        text += [
            "## Decoding, beam 5: pairs per second",
            "",
            decoding_table(results["decoding"]),
            "",
        ]
    if "copying" in results:
        text += ["## Time with --copy-attention", "", copying_table(results["copying"]), ""]
    if "growth" in results:
        text += ["## Training as sessions, vocabulary and levels grow", ""]
        for what, rows in results["growth"].items():
            text += [growth_table(what, rows), ""]
    if "memory" in results:
        text += ["## Peak memory of the process, GiB", "", memory_table(results["memory"]), ""]
    if "peak" in results:
        text += ["## Share of the machine's matrix-multiply peak", "", peak_table(results["peak"])]
    if "shares" in results:
        text += ["", "## Where mtn's time goes", "", shares_table(results["shares"])]
    (folder / "tables.md").write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")
    if "training" in results and "decoding" in results:
        draw_speed(results, folder / "speed.png")
    if "growth" in results:
        draw_growth(results["growth"], folder / "growth.png")


def training_table(rows: Rows) -> str:
    body = [
        [f"{row['at']:,}", row["system"], _parameters(row), *_speed(row), _gain(row, rows)]
        for row in sorted(rows, key=lambda row: row["at"])
    ]
    return _table(["words", "system", "parameters", *SPEED_HEADS], body)


def decoding_table(rows: Rows) -> str:
    body = [
        [
            *(f"{row['words']:,}", row["batch"], row["system"], _parameters(row)),
            *_speed(row),
            _gain(row, rows),
        ]
        for row in rows
    ]
    return _table(["words", "sessions per batch", "system", "parameters", *SPEED_HEADS], body)


def _gain(row: Dict[str, Any], rows: Rows) -> str:
    """The speed-up of the optimised version of the same model."""
    if row["system"] not in PLAINER_THAN:
        return ""
    same = {**row, "system": PLAINER_THAN[row["system"]]}
    places = [key for key in ("at", "words", "batch", "system") if key in row]
    optimised = next(other for other in rows if all(other[key] == same[key] for key in places))
    return f"{optimised['ratio'] / row['ratio']:.2f}"


def copying_table(rows: Rows) -> str:
    body = [
        [
            f"{row['words']:,}",
            row["system"],
            row["work"],
            _parameters(row),
            f"{row['pairs_per_second']:.0f}",
            f"{1 / row['ratio']:.2f}",
        ]
        for row in rows
    ]
    return _table(["words", "system", "work", "parameters", "pairs/s", "time, × without"], body)


def growth_table(what: str, rows: Rows) -> str:
    """Milliseconds per target."""
    systems = _values(rows, "system")
    body = []
    for value in _values(rows, "at"):
        cost = {row["system"]: _cost(row) for row in rows if row["at"] == value}
        label = f"{value:,}" if isinstance(value, int) else value
        body.append([label, *(f"{cost[system]:.2f}" for system in systems)])
    heads = {"queries": "queries per session", "words": "words", "levels": "layers per level"}
    return _table([heads[what], *(f"{system}, ms per target" for system in systems)], body)


def memory_table(rows: Rows) -> str:
    body = [
        [f"{row['words']:,}", row["system"], f"{row['training']:.2f}", f"{row['decoding']:.2f}"]
        for row in rows
    ]
    return _table(["words", "system", "training", "decoding"], body)


def peak_table(rows: Rows) -> str:
    body = [
        [
            f"{row['words']:,}",
            row["system"],
            f"{row['gigaflops']:.1f}",
            f"{row['machine']:.1f}",
            f"{row['share']:.0%}",
        ]
        for row in rows
    ]
    return _table(["words", "system", "GFLOP/s in training", "GFLOP/s peak", "share"], body)


def shares_table(rows: Rows) -> str:
    kinds = list(rows[0]["shares"])
    body = [
        [f"{row['words']:,}", row["work"], *(f"{row['shares'][kind]:.0%}" for kind in kinds)]
        for row in rows
    ]
    return _table(["words", "work", *kinds], body)


def draw_speed(results: Dict[str, Any], path: Path) -> None:
    """The speed (stock Transformer = 1), for each size."""
    plt = _pyplot()
    panels = [("training", "at", results["training"])]
    for batch, title in ((64, "decoding, 64 at once"), (1, "decoding, one at a time")):
        panels.append((title, "words", [r for r in results["decoding"] if r["batch"] == batch]))
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), sharey=True)
    for axis, (title, key, rows) in zip(axes, panels):
        sizes, systems = _values(rows, key), [s for s in _values(rows, "system") if s != STOCK]
        width = 0.8 / len(systems)
        for place, system in enumerate(systems):
            heights = [
                next(r["ratio"] for r in rows if r[key] == size and r["system"] == system)
                for size in sizes
            ]
            left = [i + (place - (len(systems) - 1) / 2) * width for i in range(len(sizes))]
            bars = axis.bar(left, heights, width, color=STYLES[system][0], label=system)
            axis.bar_label(bars, fmt="%.1f", fontsize=6, padding=1)
        axis.axhline(1, color=STYLES[STOCK][0], linewidth=1.2)
        axis.set_xticks(range(len(sizes)), [f"{size:,} words" for size in sizes], fontsize=8)
        axis.set_title(title, fontsize=10)
    axes[0].set_ylabel("speed (stock Transformer = 1)")
    handles = {
        label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels())
    }
    figure.legend(handles.values(), handles, loc="lower center", ncols=6, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_growth(growth: Dict[str, Rows], path: Path) -> None:
    plt = _pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8))
    labels = {"queries": "queries per session", "words": "words in the vocabulary"}
    for axis, (what, rows) in zip(axes, growth.items()):
        for system in _values(rows, "system"):
            mine = [row for row in rows if row["system"] == system]
            colour, marker = STYLES[system]
            places = [row["at"] for row in mine]
            costs = [_cost(row) for row in mine]
            axis.plot(places, costs, color=colour, marker=marker, label=system)
        if what == "levels":
            axis.set_xlabel("Transformer layers per level")
        else:
            axis.set_xscale("log", base=2 if what == "queries" else 10)
            axis.set_xticks(_values(rows, "at"), [f"{v:,}" for v in _values(rows, "at")])
            axis.minorticks_off()
            axis.set_xlabel(labels[what])
        axis.set_ylim(0, 1.08 * max(map(_cost, rows)))
        axis.legend(fontsize=8, frameon=False)
    axes[0].set_ylabel("training, milliseconds per target")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _values(rows: Rows, key: str) -> list:
    return list(dict.fromkeys(row[key] for row in rows))


def _cost(row: Dict[str, Any]) -> float:
    return 1000 / row["pairs_per_second"]


def _parameters(row: Dict[str, Any]) -> str:
    return f"{row['parameters'] / 1e6:.1f} M"


def _speed(row: Dict[str, Any]) -> List[str]:
    return [f"{row['pairs_per_second']:,.0f}", f"{row['ratio']:.2f}"]


def _table(head: Sequence[str], body: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
