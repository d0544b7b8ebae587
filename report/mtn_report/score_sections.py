"""The sections made from evaluations: tables of scores, charts, differences, notes.

Each function yields one section. If its input is missing, the section says which.
"""

from typing import Dict, Iterator, Mapping

from . import paper
from .document import Block, Paragraph, Picture
from .evaluation_file import TEXTS
from .pictures import bleu_chart, position_chart
from .run_scores import Figure, uncompared, unshown
from .score_tables import (
    SCORED_ON,
    difference_table,
    group_table,
    perplexity_table,
    score_table,
)
from .section_inputs import Inputs

PANELS = {"bleu": "BLEU", "exact": "exact match, %", "mrr@10": "MRR@10, %"}
KINDS = {
    "seen": {"seen": "asked in training", "unseen": "not asked in training"},
    "shared_words": {"shared": "shares a word with its session", "none": "shares no word"},
}
NO_GROUPS = {
    "seen": "no groups by seen and unseen next queries; run mtn-evaluate with --train",
    "shared_words": "no groups by shared words; run mtn-evaluate again",
}
NO_SCORES = (
    "Not shown: no system of this section has scores. List the files of mtn-evaluate --json as "
    '"evaluations" in report.json, and name the "scores" of each run.'
)


def how_to_read(inputs: Inputs) -> Iterator[Block]:
    evaluations = inputs.evaluations
    if evaluations is None:
        return
    test = evaluations.test
    yield Paragraph(
        f"{test['pairs']:,} test pairs. Every system is scored on every pair. Precisions, exact "
        f"match and MRR@10 are in percent. BLEU: {evaluations.signature}."
    )
    with_unk = ""
    if test["unknown_words"] is not None:
        share = 100 * test["unknown_words"] / test["words"]
        with_unk = (
            'Rows "with <unk>" are scored as in the paper: all unknown words become the token '
            "<unk>, which matches itself. Of the words of the next queries, "
            f"{share:.1f} % are unknown. "
        )
    yield Paragraph(
        'Rows "raw text" compare suggestions with the next query as it was asked; <unk> never '
        f'matches. {with_unk}Rows "the paper\'s" are results of the paper, on the whole AOL log '
        "and with its model sizes. Bold: our best result per column, baselines included."
    )
    yield Paragraph(
        "Layers: Q over the tokens of a query, S over the queries of a session, D in the decoder. "
        "MB: size in single precision, with the number of parameters."
    )
    scored = [system for system in inputs.manifest.systems if evaluations.results(system)]
    without = [s.label for s in scored if evaluations.figure(s, "raw", "mrr@10") is None]
    if without:
        yield Paragraph(
            f"Without MRR@10: {'; '.join(without)}. It needs mtn-evaluate --at 10, and 10 "
            "suggestions per pair in every run."
        )
    if any(len(evaluations.results(system)) > 1 for system in inputs.manifest.systems):
        yield Paragraph(
            "A system with several runs, one per seed, has the mean over seeds, with the lowest "
            "and the highest value."
        )


def scores(inputs: Inputs, group: str, printed: Mapping[str, paper.PaperRow]) -> Iterator[Block]:
    if not inputs.manifest.of_group(group):
        if printed:
            yield Paragraph(f'Not shown: no system in report.json has the group "{group}".')
        return
    systems = inputs.scored(group)
    if inputs.evaluations is None or not systems:
        yield Paragraph(NO_SCORES)
        return
    yield score_table(systems, inputs.evaluations, inputs.sizes, printed)
    unscored = [s.label for s in inputs.manifest.of_group(group) if s not in systems]
    if unscored:
        yield Paragraph(f'Not shown: {"; ".join(unscored)}: no "scores" in report.json.')
    unsized = [s.label for s in systems if s.label not in inputs.sizes and group in s.groups]
    if unsized:
        yield Paragraph(
            f'Without size and layers: {"; ".join(unsized)}. They need a "checkpoint" and '
            '"data" in report.json.'
        )


def bleu(inputs: Inputs) -> Iterator[Block]:
    systems = inputs.scored("main")
    if inputs.evaluations is None or not systems:
        yield Paragraph(NO_SCORES)
        return
    bars = []
    for system in systems:
        heights = {text: inputs.evaluations.figure(system, text, "bleu") for text in TEXTS}
        if system.paper in paper.MAIN:
            printed = paper.MAIN[str(system.paper)].scores["bleu"]
            heights["paper"] = Figure.of([printed])
        bars.append((system.label, heights))
    alt = "Bar chart: BLEU of each system, on raw text, with <unk>, and in the paper"
    yield Picture("bleu", bleu_chart(bars), alt)


def perplexity(inputs: Inputs) -> Iterator[Block]:
    """Only for systems that have perplexities."""
    evaluations = inputs.evaluations
    if evaluations is None:
        return
    whole, partly = [], []
    for system in inputs.manifest.systems:
        if evaluations.perplexities(system):
            whole.append(system)
        elif any(result.get("perplexity") for result in evaluations.results(system)):
            partly.append(system.label)
    if whole:
        yield Paragraph(
            "Per token of the model's own dictionary, including the end of the query. Compare "
            "only models with the same dictionary, and copying models only with each other."
        )
        yield perplexity_table(whole, evaluations)
    tokens = {run["tokens"] for system in whole for run in evaluations.perplexities(system)}
    if len(tokens) > 1:
        yield Paragraph("Perplexities over different numbers of tokens are not comparable.")
    if partly:
        yield Paragraph(f"Not shown: {'; '.join(partly)}. Some runs have no perplexity.")


def differences(inputs: Inputs) -> Iterator[Block]:
    """One table per baseline, only for systems with comparisons and a `compared` name."""
    evaluations = inputs.evaluations
    if evaluations is None or not _is_any_compared(inputs):
        return
    if not evaluations.comparisons:
        yield Paragraph(
            "Not shown: the evaluations have no comparisons. Run mtn-evaluate with --baseline."
        )
        return
    resampled = f" of {evaluations.resampled}" if evaluations.resampled else ""
    for baseline in inputs.manifest.systems:
        for text in TEXTS:
            table = difference_table(inputs.manifest.systems, evaluations, baseline, text)
            if table.rows:
                yield Paragraph(
                    f"Each system minus {baseline.label}, {SCORED_ON[text]}; with several runs, "
                    f"the mean over seeds. Intervals: 95 %, by paired bootstrap{resampled}. Bold: "
                    "the interval excludes 0."
                )
                yield table
    yield from _uncompared(inputs)


def _is_any_compared(inputs: Inputs) -> bool:
    return any(system.compared is not None for system in inputs.manifest.systems)


def _uncompared(inputs: Inputs) -> Iterator[Block]:
    assert inputs.evaluations is not None
    names = uncompared(inputs.manifest, inputs.evaluations)
    if names:
        yield Paragraph(
            f"Not shown: comparisons with {', '.join(names)}. No system in report.json names them "
            'in "compared".'
        )


def kinds(inputs: Inputs) -> Iterator[Block]:
    systems = inputs.scored("main", "beyond")
    if inputs.evaluations is None or not systems:
        yield Paragraph(NO_SCORES)
        return
    for kind, labels in KINDS.items():
        if all(inputs.evaluations.groups(system, kind) for system in systems):
            yield group_table(systems, inputs.evaluations, kind, "raw", labels)
        else:
            yield Paragraph(f"Not shown: the evaluations have {NO_GROUPS[kind]}.")


def positions(inputs: Inputs) -> Iterator[Block]:
    systems = inputs.scored("main")
    if inputs.evaluations is None or not systems:
        yield Paragraph(NO_SCORES)
        return
    if not all(inputs.evaluations.groups(system, "position") for system in systems):
        yield Paragraph(
            "Not shown: the evaluations have no groups by position; run mtn-evaluate again."
        )
        return
    panels: Dict[str, Dict[str, Dict[str, Figure]]] = {title: {} for title in PANELS.values()}
    for system in systems:
        groups = inputs.evaluations.groups(system, "position")
        for name, title in PANELS.items():
            found = {
                position: Figure.of([run["raw"].get(name) for run in runs])
                for position, runs in groups.items()
            }
            known = {position: figure for position, figure in found.items() if figure is not None}
            if known:
                panels[title][system.label] = known
    panels = {title: lines for title, lines in panels.items() if lines}
    yield Paragraph(
        "The chart is on raw text. Position 2 is the second query of a session. BLEU is 0 if no "
        "4-gram matches, which happens with few pairs. The paper has no such results."
    )
    alt = "Line charts: scores of each system by position of the next query in its session"
    yield Picture("positions", position_chart(panels, inputs.looks), alt)
    for text in TEXTS:
        if all(result.get(text) for s in systems for result in inputs.evaluations.results(s)):
            yield group_table(systems, inputs.evaluations, "position", text)


def notes(inputs: Inputs) -> Iterator[Block]:
    if inputs.evaluations is None:
        return
    names = unshown(inputs.manifest, inputs.evaluations)
    if names:
        yield Paragraph(
            f"Not shown: {', '.join(names)}. They are evaluated, but no run in report.json names "
            "their scores."
        )
    if not _is_any_compared(inputs):  # otherwise the section of differences lists them
        yield from _uncompared(inputs)
    for note in dict.fromkeys(inputs.evaluations.notes):
        yield Paragraph(note)
