"""The result of an evaluation as Markdown tables, aligned for the terminal."""

from typing import Iterator, List, Optional, Sequence

from .markdown_tables import MISSING, Row, titled

TEXTS = {
    "raw": "Raw text: an <unk> never matches",
    "unk": "With <unk> as a token that matches itself, the paper's way",
}
KINDS = {
    "return": "By whether the next query is new to its session, or a return to one asked in it",
    "position": "By place of the next query in its session",
    "earlier_queries": "By number of earlier queries, those of earlier sessions included",
    "seen": "By whether somebody asked the next query in the training text",
    "shared_words": "By whether the next query has a word of its session so far",
}


def evaluation_tables(result: dict) -> Iterator[str]:
    """Yield the output line by line."""
    test, systems = result["test"], result["systems"]
    ways = [way for way in TEXTS if way in systems[0]]
    yield f"{test['pairs']:,} pairs of {test['text']}, every one scored; figures in percent."
    yield f"BLEU: {result['signature']}. Next queries have {test['length']:.2f} words."
    if test["unknown_words"] is not None:
        share = 100 * test["unknown_words"] / test["words"]
        yield f"Of their words, {share:.1f} % are not in {result['dictionary']}."
    for way in ways:
        yield from titled(TEXTS[way], _overall(systems, way, result["at"]))
    groups = systems[0]["groups"]
    same = _same_pairs(groups["position"], groups["earlier_queries"])
    for kind, title in KINDS.items():
        if kind == "earlier_queries" and same:
            yield f"\n{title}: one less than the place; there are no earlier sessions."
        elif kind in groups:
            yield from titled(f"{title} (raw text)", _grouped(systems, kind, result["at"]))
    if result["comparisons"]:
        bootstrap = result["bootstrap"]
        title = (
            f"Differences (raw text) by paired bootstrap, {bootstrap['samples']:,} resamples of "
            f"{bootstrap['units']:,} {bootstrap['unit']}, seed {bootstrap['seed']}"
        )
        names = _main_figures(result["at"])
        found = [d for d in result["comparisons"] if d["text"] == "raw" and d["figure"] in names]
        yield from titled(title, _compared(found, bootstrap["confidence"]))
    if "unk" in ways:
        yield "\nGroups and differences with <unk> as a token: see --json."
    for note in result["notes"]:
        yield f"\nNote: {note}"


def _overall(systems: Sequence[dict], way: str, at: Sequence[int]) -> List[Row]:
    with_perplexity = any(system["perplexity"] for system in systems)
    names = [*_main_figures(at), "distinct-1", "distinct-2", "length"]
    rows = [["", *map(_heading, names), *(["perplexity"] if with_perplexity else [])]]
    for system in systems:
        row = [system["name"], *(_figure(name, system[way][name]) for name in names)]
        if with_perplexity:
            found = system["perplexity"]
            row.append(_figure("perplexity", found and found["value"]))
        rows.append(row)
    return rows


def _grouped(systems: Sequence[dict], kind: str, at: Sequence[int]) -> List[Row]:
    names = _main_figures(at)
    rows = [["", "pairs", "", *map(_heading, names)]]
    for i, group in enumerate(systems[0]["groups"][kind]):
        for system in systems:
            found = system["groups"][kind][i]
            label = [group["group"], f"{group['pairs']:,}"] if system is systems[0] else ["", ""]
            row = [*label, system["name"], *(_figure(name, found["raw"][name]) for name in names)]
            rows.append(row)
    return rows


def _compared(comparisons: Sequence[dict], confidence: int) -> List[Row]:
    rows = [["", "figure", "difference", f"{confidence} % interval", "p"]]
    for found in comparisons:
        low, high = (f"{found[end]:+.2f}" for end in ("low", "high"))
        rows.append(
            [
                f"{found['system']} − {found['baseline']}",
                _heading(found["figure"]),
                f"{found['difference']:+.2f}",
                f"{low} … {high}",
                f"{found['p']:.3f}",
            ]
        )
    return rows


def _main_figures(at: Sequence[int]) -> List[str]:
    """The figures to print: hit@1 is exact match, and MRR@k for the largest k is enough."""
    beyond = [k for k in at if k > 1]
    mrr = [f"mrr@{max(beyond)}"] if beyond else []
    precisions = ["1-gram", "2-gram", "3-gram", "4-gram"]
    return ["exact", *(f"hit@{k}" for k in beyond), *mrr, "bleu", *precisions]


def _heading(name: str) -> str:
    return name.replace("bleu", "BLEU").replace("mrr", "MRR")


def _figure(name: str, value: Optional[float]) -> str:
    if value is None:
        return MISSING
    return f"{value:.2f}" if name in ("bleu", "length", "perplexity") else f"{value:.1f}"


def _same_pairs(position: Sequence[dict], earlier: Sequence[dict]) -> bool:
    """Whether the two groupings have the same pairs, as they do without histories."""
    numbered = [(group["group"], group["pairs"]) for group in position]
    return numbered == [(_one_more(group["group"]), group["pairs"]) for group in earlier]


def _one_more(label: str) -> str:
    return str(int(label) + 1) if label.isdecimal() else label
