"""What `engines.py` measured, as Markdown."""

from pathlib import Path
from typing import Any, Dict, List, Optional

from model_engines import CTRANSLATE2, STOCK

BEGIN, END = "<!-- goals: begin -->\n", "<!-- goals: end -->\n"
Rows = List[Dict[str, Any]]
TORCH, FLOAT, INT8 = "torch", "ONNX Runtime, float32", "ONNX Runtime, int8"


def markdown(results: Dict[str, Any]) -> str:
    facts = results["machine"]
    text = [
        "# One request through each engine",
        "",
        _measured(facts),
        "",
        "CPU is the time of all threads of the process that answers; wall is what a clock shows,"
        " and suffers from what else runs. Start-up is the CPU time of a new process up to its"
        " first answer, memory its peak, with and without the size of the model's files. A bundle's"
        " tables are mapped and read row by row, so it can be smaller than its files.",
    ]
    if results.get("models"):
        copying = ", copying words" if facts["copying"] else ""
        text += ["", f"## Models: five hypotheses of a session of four queries{copying}", ""]
        text += [_converted(results["converted"]), *_models(results["models"])]
    if results.get("lists"):
        text += ["", "## Lists of what `make demo` wrote", "", *_lists(results["lists"])]
    text += ["", "## Goals, one thread, CPU time", "", goals(results).rstrip()]
    if results["left_out"]:
        text += ["", "Left out: " + "; ".join(results["left_out"]) + "."]
    return "\n".join(text) + "\n"


def _measured(facts: Dict[str, Any]) -> str:
    packages = [name for name in ("onnxruntime", "torch", "ctranslate2") if name in facts]
    versions = ", ".join(f"{name} {facts[name]}" for name in packages)
    return (
        f"Output of `engines.py`, {facts['date']}: {facts['processor']}, {facts['cores']} cores,"
        f" Python {facts['python']}, {versions}; {facts['requests']} requests per row. Load of the"
        f" machine before and after: {facts['load_before']:.1f} and {facts['load_after']:.1f}"
        f" (a quiet machine: 0 before, about 1 after)."
    )


def _converted(checks: Rows) -> str:
    found = [
        f"{each['words']:,} words: {each['same_hypotheses']} of {each['sessions']} sessions have"
        " fairseq's hypotheses, largest difference of a token's log probability"
        f" {each['largest_difference']:.0e}"
        for each in checks
    ]
    return f"CTranslate2 runs the stock model, converted. {'; '.join(found)}.\n" if found else ""


HEADS = "CPU, one request | p95 | wall | 64 at once, per CPU s | per s"
HEADS += " | start-up | memory, peak | beyond the model"
COLUMNS = HEADS.count("|") + 1


def _models(rows: Rows) -> List[str]:
    lines = [f"| words / channels | threads | engine | {HEADS} |", "|---" * (COLUMNS + 3) + "|"]
    for row in rows:
        size = f"{row['words']:,} / {row['width']}"
        lines.append(f"| {size} | {row['threads']} | {row['engine']} | {_figures(row)} |")
    return lines


def _lists(rows: Rows) -> List[str]:
    lines = [f"| threads | list | {HEADS} |", "|---" * (COLUMNS + 2) + "|"]
    lines += [f"| {row['threads']} | {row['engine']} | {_figures(row)} |" for row in rows]
    return [
        *lines,
        "",
        "fairseq-interactive prints the model's hypotheses only, as many as the ranker takes. PECOS"
        " reads the last query, knows no session, and is asked one by one.",
    ]


def _figures(row: Dict[str, Any]) -> str:
    started = ["", "", ""]
    if "start_s" in row:
        memory = row["peak_mb"], row["peak_mb"] - row["weights_mb"]
        started = [f"{row['start_s']:.2f} s", *(f"{each:,.0f} MB" for each in memory)]
    milliseconds = [f"{row[key]:.2f} ms" for key in ("median_ms", "p95_ms", "wall_ms")]
    rates = [f"{row[key]:,.0f}" for key in ("per_cpu_second", "per_second")]
    return " | ".join([*milliseconds, *rates, *started])


def goals(results: Dict[str, Any]) -> str:
    """One thread: how many times as fast as each rival, and whether that was the goal."""
    models = [row for row in results.get("models", []) if row["threads"] == 1]
    rows = []
    for words in dict.fromkeys(row["words"] for row in models):
        of = {row["engine"]: row for row in models if row["words"] == words}
        for name, key, ours, other, goal in COMPARED:
            rows.append((f"{words:,}", name, _times(of, key, ours, other), goal))
    of = {row["engine"]: row for row in results.get("lists", []) if row["threads"] == 1}
    times = _times(of, ONE, "suggest, float32", "suggest, torch")
    rows.append(("demo", "a whole list, float32, torch = 1", times, 3.0))
    lines = ["| words | | times as fast | goal | |", "|---|---|---|---|---|"]
    for words, name, times, goal in rows:
        if times is not None:
            lines.append(f"| {words} | {name} | {times:.2f} | {_verdict(times, goal)} |")
    return "\n".join(lines) + "\n"


def _verdict(times: float, goal: Optional[float]) -> str:
    if goal is None:
        return "|"
    return f"≥ {goal:g} | {'reached' if times >= goal else 'not reached'}"


ONE, MANY = "median_ms", "per_cpu_second"
COMPARED = [
    ("one request, float32, torch = 1", ONE, FLOAT, TORCH, None),
    ("one request, float32, stock fairseq = 1", ONE, FLOAT, STOCK, None),
    ("one request, float32, CTranslate2 = 1", ONE, FLOAT, f"{CTRANSLATE2}, float32", 1.0),
    ("one request, int8, CTranslate2 = 1", ONE, INT8, f"{CTRANSLATE2}, int8", 1.0),
    ("64 at once, float32, torch = 1", MANY, FLOAT, TORCH, 1.0),
    ("64 at once, float32, CTranslate2 = 1", MANY, FLOAT, f"{CTRANSLATE2}, float32", None),
    ("64 at once, int8, CTranslate2 = 1", MANY, INT8, f"{CTRANSLATE2}, int8", None),
]


def _times(of: Dict[str, Dict[str, Any]], key: str, ours: str, other: str) -> Optional[float]:
    if ours not in of or other not in of:
        return None
    ratio = of[other][key] / of[ours][key]
    return ratio if key == ONE else 1 / ratio


def show_in(page: Path, results: Dict[str, Any]) -> None:
    """The goals, between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, found, behind = rest.partition(END)
    if not found:
        raise SystemExit(f"{page} has no {BEGIN.strip()} and {END.strip()}")
    text = f"{before}{BEGIN}{_measured(results['machine'])}\n\n{goals(results)}{END}{behind}"
    page.write_text(text, encoding="utf-8")
