"""Build a report from its manifest: one function per section, which also explains an omission."""

from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json

from . import paper
from .attention import read_attention
from .document import Block, Cell, Document, Heading, Paragraph, Picture, Table
from .evaluation_file import TEXTS
from .manifest import Manifest, System
from .pictures import (
    Style,
    attention_maps,
    bleu_chart,
    learning_curves,
    position_chart,
    styles,
)
from .run_scores import Evaluations, Figure, read_evaluations, uncompared, unshown
from .samples import SHOWN, SampleText, read_sample_text, read_samples, suggestion_files
from .score_tables import (
    SCORED_ON,
    difference_table,
    group_table,
    perplexity_table,
    score_table,
)
from .trained_models import Size, size_of
from .training_log import Curve, read_curve, shared_updates

SPLITS = {"train": "Training", "valid": "Validation", "test": "Test"}
PANELS = {"bleu": "BLEU", "exact": "exact match, %", "mrr@10": "MRR@10, %"}
KINDS = {
    "seen": {"seen": "asked in training", "unseen": "never asked in training"},
    "shared_words": {"shared": "shares a word with its session", "none": "shares none"},
}
GROUPED_BY = {"seen": "seen and unseen next queries", "shared_words": "shared words"}
NO_SCORES = "Left out: no run has both scores and one of the evaluations they stand in."


class Inputs(NamedTuple):
    """Data that several sections need."""

    manifest: Manifest
    evaluations: Optional[Evaluations]
    sizes: Dict[str, Size]  # by label, for systems with a checkpoint
    looks: Dict[str, Style]
    text: SampleText

    def scored(self, *groups: str) -> List[System]:
        """Systems with scores: first yardsticks, then these groups in the manifest's order."""
        if self.evaluations is None:
            return []
        found = [system for system in self.manifest.systems if self.evaluations.results(system)]
        yardsticks = [system for system in found if "yardstick" in system.groups]
        others = [s for s in found if s not in yardsticks and set(groups) & set(s.groups)]
        return yardsticks + others


def build_document(manifest: Manifest) -> Document:
    inputs = read_inputs(manifest)
    blocks: List[Block] = [Paragraph(text) for text in manifest.about]
    blocks += _how_to_read(inputs)
    sections = {
        "Data (the paper's Table 1)": _data(inputs),
        "Models (the paper's Table 2)": _scores(inputs, "main", paper.MAIN),
        "BLEU (the paper's bar chart)": _bleu(inputs),
        "Layers (the paper's ablation)": _scores(inputs, "ablation", paper.ABLATION),
        "Variants": _scores(inputs, "variant", {}),
        "Beyond the paper": _scores(inputs, "beyond", {}),
        "Perplexity on the test": _perplexity(inputs),
        "Differences": _differences(inputs),
        "By kind of next query": _kinds(inputs),
        "By place in the session": _positions(inputs),
        "Learning curves": _curves(inputs),
        "Sample suggestions": _samples(inputs),
        "What the session level attends to": _attention(inputs),
        "Notes": _notes(inputs),
    }
    for title, section in sections.items():
        content = list(section)
        if content:
            blocks += [Heading(title), *content]
    return Document(manifest.title, blocks)


def read_inputs(manifest: Manifest) -> Inputs:
    yardsticks = [system.label for system in manifest.of_group("yardstick")]
    models = [system.label for system in manifest.systems if system.label not in yardsticks]
    sizes = {}
    for system in manifest.systems:
        checkpoint, data = system.checkpoint(), system.data or manifest.data
        if checkpoint is not None and data is not None:
            sizes[system.label] = size_of(checkpoint, data)
    evaluations = read_evaluations(manifest)
    text = read_sample_text(manifest, evaluations)
    return Inputs(manifest, evaluations, sizes, styles(models, yardsticks), text)


def _how_to_read(inputs: Inputs) -> Iterator[Block]:
    evaluations = inputs.evaluations
    if evaluations is None:
        return
    test = evaluations.test
    yield Paragraph(
        f"{test['pairs']:,} test pairs, every one scored by every system. Precisions, exact match "
        f"and MRR@10 are in percent. BLEU: {evaluations.signature}."
    )
    with_unk = ""
    if test["unknown_words"] is not None:
        share = 100 * test["unknown_words"] / test["words"]
        with_unk = (
            f"Below it, with <unk>, the paper's way: every unknown word ({share:.1f} % of the "
            "words of the next queries) is one token, <unk>, and matches. "
        )
    yield Paragraph(
        "Raw text is the headline: suggestions are held against what was really asked, and an "
        f"<unk> never matches. {with_unk}The paper's figures are those of the whole AOL log, at "
        "its sizes. The best of ours in each column, yardsticks counted, is bold. Layers: Q over "
        "tokens of a query, S over queries, D of the decoder. MB are those of single precision, "
        "with the number of parameters."
    )
    scored = [system for system in inputs.manifest.systems if evaluations.results(system)]
    without = [s.label for s in scored if evaluations.figure(s, "raw", "mrr@10") is None]
    if without:
        yield Paragraph(
            f"No MRR@10 of {'; '.join(without)}: it needs mtn-evaluate --at 10, and 10 suggestions "
            "a pair, of every run."
        )
    if any(len(evaluations.results(system)) > 1 for system in inputs.manifest.systems):
        yield Paragraph(
            "Figures of several runs, which differ in their seeds, are means; the lowest and the "
            "highest stand with them."
        )


def _data(inputs: Inputs) -> Iterator[Block]:
    if inputs.manifest.stats is None:
        yield Paragraph("Left out: no stats.")
        return
    stats = read_json(inputs.manifest.stats)
    try:
        splits = {name: stats["splits"][name] for name in SPLITS}
        counts = [split[what] for split in splits.values() for what in ("sessions", "pairs")]
        counts.append(stats["vocabulary"])
    except (KeyError, TypeError):
        counts = []
    if not counts or not all(type(count) is int for count in counts):
        raise InputError(
            "no counts of train, valid and test",
            "give the stats.json of mtn-log-to-sessions",
            inputs.manifest.stats,
        )
    ours = sum(split["sessions"] for split in splits.values())
    if ours == 0:
        yield Paragraph("Left out: the stats count no session.")
        return
    is_aols = "paper" in stats  # those figures are for that log only
    columns = range(7) if is_aols else (0, 1, 3, 5)
    theirs = sum(split.sessions for split in paper.SPLITS.values())
    rows = []
    for name, title in SPLITS.items():
        split, printed = splits[name], paper.SPLITS[name]
        cells = [
            title,
            f"{split['sessions']:,}",
            f"{printed.sessions:,}",
            f"{100 * split['sessions'] / ours:.1f} %",
            f"{100 * printed.sessions / theirs:.1f} %",
            f"{split['pairs']:,}",
            f"{printed.pairs:,}",
        ]
        rows.append([Cell(cells[column]) for column in columns])
    head = ["", "sessions", "the paper's", "share", "the paper's", "pairs", "the paper's"]
    yield Table([head[column] for column in columns], rows)
    words = f"Words seen at least 8 times in training: {stats['vocabulary']:,}"
    if is_aols:
        words += (
            f"; the paper's vocabulary: {paper.VOCABULARY:,}. The paper says it split by 95 / 2.5 "
            "/ 2.5; its figures are 90 / 5 / 5"
        )
    yield Paragraph(f"{words}.")


def _scores(inputs: Inputs, group: str, printed: Mapping[str, paper.PaperRow]) -> Iterator[Block]:
    if not inputs.manifest.of_group(group):
        if printed:
            yield Paragraph(f"Left out: no system of the group {group}.")
        return
    systems = inputs.scored(group)
    if inputs.evaluations is None or not systems:
        yield Paragraph(NO_SCORES)
        return
    yield score_table(systems, inputs.evaluations, inputs.sizes, printed)
    unscored = [s.label for s in inputs.manifest.of_group(group) if s not in systems]
    if unscored:
        yield Paragraph(f"Left out: {'; '.join(unscored)}: without scores.")
    unsized = [s.label for s in systems if s.label not in inputs.sizes and group in s.groups]
    if unsized:
        yield Paragraph(
            f"No size and layers of {'; '.join(unsized)}: they need a checkpoint, and data."
        )


def _bleu(inputs: Inputs) -> Iterator[Block]:
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
    alt = "BLEU of each system on raw text, with unknown words as a token, and in the paper"
    yield Picture("bleu", bleu_chart(bars), alt)


def _perplexity(inputs: Inputs) -> Iterator[Block]:
    """The perplexity section, only for systems that have perplexities."""
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
            "Of a token of the model's own dictionary, the end of the query counted. It compares "
            "only between models of one dictionary, those that copy among themselves."
        )
        yield perplexity_table(whole, evaluations)
    tokens = {run["tokens"] for system in whole for run in evaluations.perplexities(system)}
    if len(tokens) > 1:
        yield Paragraph("Where the tokens differ, perplexities do not compare.")
    if partly:
        yield Paragraph(f"Left out: {'; '.join(partly)}: not every run has it.")


def _differences(inputs: Inputs) -> Iterator[Block]:
    """One table per baseline, only for systems with comparisons and a `compared` name."""
    evaluations = inputs.evaluations
    if evaluations is None or not _is_any_compared(inputs):
        return
    if not evaluations.comparisons:
        yield Paragraph("Left out: the evaluations compare nothing (mtn-evaluate --baseline).")
        return
    for baseline in inputs.manifest.systems:
        for text in TEXTS:
            table = difference_table(inputs.manifest.systems, evaluations, baseline, text)
            if table.rows:
                yield Paragraph(
                    f"Minus {baseline.label}, {SCORED_ON[text]}, with 95 % intervals by paired "
                    "bootstrap over the test pairs; of several runs, the means. Bold: 0 is outside."
                )
                yield table
    yield from _uncompared(inputs)


def _is_any_compared(inputs: Inputs) -> bool:
    return any(system.compared is not None for system in inputs.manifest.systems)


def _uncompared(inputs: Inputs) -> Iterator[Block]:
    assert inputs.evaluations is not None
    left = uncompared(inputs.manifest, inputs.evaluations)
    if left:
        yield Paragraph(
            f"Left out: the differences of, and to, {', '.join(left)}, which no system of the "
            "manifest has as compared."
        )


def _kinds(inputs: Inputs) -> Iterator[Block]:
    systems = inputs.scored("main", "beyond")
    if inputs.evaluations is None or not systems:
        yield Paragraph(NO_SCORES)
        return
    for kind, labels in KINDS.items():
        if all(inputs.evaluations.groups(system, kind) for system in systems):
            yield group_table(systems, inputs.evaluations, kind, "raw", labels)
        else:
            yield Paragraph(f"Left out: the evaluations have no groups by {GROUPED_BY[kind]}.")


def _positions(inputs: Inputs) -> Iterator[Block]:
    systems = inputs.scored("main")
    if inputs.evaluations is None or not systems:
        yield Paragraph(NO_SCORES)
        return
    if not all(inputs.evaluations.groups(system, "position") for system in systems):
        yield Paragraph("Left out: the evaluations have no groups by place.")
        return
    panels: Dict[str, Dict[str, Dict[str, Figure]]] = {title: {} for title in PANELS.values()}
    for system in systems:
        groups = inputs.evaluations.groups(system, "position")
        for name, title in PANELS.items():
            found = {
                place: Figure.of([run["raw"].get(name) for run in runs])
                for place, runs in groups.items()
            }
            known = {place: figure for place, figure in found.items() if figure is not None}
            if known:
                panels[title][system.label] = known
    panels = {title: lines for title, lines in panels.items() if lines}
    yield Paragraph(
        "On raw text; 2 is a session's second query. Where no 4-gram matches, as may be among few "
        "pairs, BLEU is 0. The paper has no such figures."
    )
    alt = "Scores of each system by the place of the next query in its session"
    yield Picture("positions", position_chart(panels, inputs.looks), alt)
    for text in TEXTS:
        if all(result.get(text) for s in systems for result in inputs.evaluations.results(s)):
            yield group_table(systems, inputs.evaluations, "position", text)


def _curves(inputs: Inputs) -> Iterator[Block]:
    systems = [
        system for system in inputs.manifest.systems if any(run.training_log for run in system.runs)
    ]
    if not systems:
        yield Paragraph("Left out: no run has a training_log.")
        return
    yield Paragraph(
        "Cross entropy without smoothing, in bits per token of the dictionary; the range is that "
        "of validation. The paper has no such figures."
    )
    apart = [system.label for system in systems if system.data is not None]
    if apart:
        yield Paragraph(
            f"Left out: {'; '.join(apart)}: of other tokens, whose bits do not compare."
        )
    alike = [system for system in systems if system.data is None]
    main = [system for system in alike if "main" in system.groups]
    others = [system for system in alike if system not in main]
    for name, shown in (("curves", main), ("curves-others", others)):
        curves = {}
        for system in shown:
            read = [read_curve(run.training_log) for run in system.runs if run.training_log]
            drawn = [curve for curve in read if curve.validation]
            yield from _curve_notes(system.label, read, drawn)
            if drawn:
                curves[system.label] = drawn
        if curves:
            alt = "Validation and training loss against updates: " + "; ".join(curves)
            yield Picture(name, learning_curves(curves, inputs.looks), alt)


def _curve_notes(label: str, read: List[Curve], drawn: List[Curve]) -> Iterator[Block]:
    """Notes on runs that the picture omits or shows differently."""
    lost = len(read) - len(drawn)
    if lost:
        yield Paragraph(
            f"Left out: {label}, {lost} of {len(read)} runs: no validation loss is a finite number."
        )
    for kind in Curve._fields:
        runs = [getattr(curve, kind) for curve in drawn if getattr(curve, kind)]
        if runs and not shared_updates(runs):
            yield Paragraph(f"{label}: no update has the {kind} loss of all runs: a line each.")


def _samples(inputs: Inputs) -> Iterator[Block]:
    manifest = inputs.manifest
    if not inputs.text.sessions or not any(map(suggestion_files, manifest.systems)):
        yield Paragraph(
            "Left out: they need test, sample_lines, and suggestions of a run. Only sessions "
            "that are named there are ever shown."
        )
        return
    yield Paragraph(
        f"The first {SHOWN} suggestions of each system's first run; ✓ is what was asked next. The "
        "paper's own samples are real people's queries, and are not repeated here."
    )
    for session, suggestions in read_samples(manifest, inputs.text):
        yield Heading(f"Line {session.line}", 3)
        yield Paragraph(f"{'  ›  '.join(session.queries)}  ›  asked next: {session.next_query}")
        rows = []
        for label, ranked in suggestions.items():
            cells = [
                Cell(f"✓ {text}" if is_next else text or "(empty)", strong=is_next)
                for text, is_next in ranked
            ]
            cells += [Cell("")] * (SHOWN - len(ranked))
            rows.append([Cell(label), *cells])
        head = ["", *map(str, range(1, SHOWN + 1))]
        yield Table(head, rows, words=len(head))


def _attention(inputs: Inputs) -> Iterator[Block]:
    manifest = inputs.manifest
    system = next((s for s in manifest.systems if s.label == manifest.attention), None)
    checkpoint = system.checkpoint() if system else None
    if checkpoint is None or manifest.data is None or not inputs.text.sessions:
        yield Paragraph(
            "Left out: it needs attention, a checkpoint of that system, data, test and "
            "sample_lines."
        )
        return
    found = read_attention(checkpoint, manifest.data, inputs.text.sessions)
    if not found:
        yield Paragraph("Left out: each of the sample_lines has one query only.")
        return
    yield Paragraph(
        f"{manifest.attention}: how much, in percent, each query (a row) takes from itself and "
        "from those before it (columns, by number); the mean of the heads. Later queries are "
        "hidden from it. Sessions of one query are not drawn. The paper has no such picture."
    )
    alt = "Attention among the queries of each sample session, a map a layer"
    yield Picture("attention", attention_maps(found), alt)


def _notes(inputs: Inputs) -> Iterator[Block]:
    if inputs.evaluations is None:
        return
    left = unshown(inputs.manifest, inputs.evaluations)
    if left:
        yield Paragraph(f"Evaluated, but in no run of the manifest: {', '.join(left)}.")
    if not _is_any_compared(inputs):  # otherwise the section of differences lists them
        yield from _uncompared(inputs)
    for note in dict.fromkeys(inputs.evaluations.notes):
        yield Paragraph(note)
