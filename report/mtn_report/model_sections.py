"""The sections made from the files of single runs: learning curves, samples, attention.

Each function yields one section. If its input is missing, the section says which.
"""

from typing import Iterator, List

from .attention import read_attention
from .document import Block, Cell, Heading, Paragraph, Picture, Table
from .pictures import attention_maps, learning_curves
from .samples import SHOWN, read_samples, suggestion_files
from .section_inputs import Inputs
from .training_log import Curve, read_curve, shared_updates


def curves(inputs: Inputs) -> Iterator[Block]:
    systems = [
        system for system in inputs.manifest.systems if any(run.training_log for run in system.runs)
    ]
    if not systems:
        yield Paragraph('Not shown: no run in report.json has a "training_log".')
        return
    yield Paragraph(
        "Cross entropy without label smoothing, in bits per token. Training losses above the "
        "highest validation loss are cut off. The paper has no such curves."
    )
    apart = [system.label for system in systems if system.data is not None]
    if apart:
        yield Paragraph(
            f'Not shown: {"; ".join(apart)}. A system with its own "data" has other tokens, so '
            "its bits per token are not comparable."
        )
    comparable = [system for system in systems if system.data is None]
    main = [system for system in comparable if "main" in system.groups]
    others = [system for system in comparable if system not in main]
    for name, shown in (("curves", main), ("curves-others", others)):
        of_label = {}
        for system in shown:
            read = [read_curve(run.training_log) for run in system.runs if run.training_log]
            drawn = [curve for curve in read if curve.validation]
            yield from _curve_notes(system.label, read, drawn)
            if drawn:
                of_label[system.label] = drawn
        if of_label:
            alt = "Line charts: validation and training loss by updates: " + "; ".join(of_label)
            yield Picture(name, learning_curves(of_label, inputs.looks), alt)


def _curve_notes(label: str, read: List[Curve], drawn: List[Curve]) -> Iterator[Block]:
    """Notes on runs that the picture omits or shows differently."""
    lost = len(read) - len(drawn)
    if lost:
        yield Paragraph(
            f"Not shown: {label}, {lost} of {len(read)} runs. No validation loss is a finite "
            "number: the training diverged."
        )
    for kind in Curve._fields:
        runs = [getattr(curve, kind) for curve in drawn if getattr(curve, kind)]
        if runs and not shared_updates(runs):
            yield Paragraph(
                f"{label}: one line per run, because no update has the {kind} loss of all runs."
            )


def samples(inputs: Inputs) -> Iterator[Block]:
    manifest = inputs.manifest
    if not inputs.text.sessions or not any(map(suggestion_files, manifest.systems)):
        yield Paragraph(
            'Not shown: samples need "test", "sample_lines" and the "suggestions" of a run in '
            'report.json. Only sessions listed in "sample_lines" are ever shown.'
        )
        return
    yield Paragraph(
        f"The first {SHOWN} suggestions of each system's first run. ✓ marks the next query. The "
        "paper's own samples are queries of real people and are not repeated here."
    )
    for session, suggestions in read_samples(manifest, inputs.text):
        yield Heading(f"Line {session.line}", 3)
        yield Paragraph(f"{'  ›  '.join(session.queries)}  ›  next query: {session.next_query}")
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


def attention(inputs: Inputs) -> Iterator[Block]:
    manifest = inputs.manifest
    system = next((s for s in manifest.systems if s.label == manifest.attention), None)
    checkpoint = system.checkpoint() if system else None
    if checkpoint is None or manifest.data is None or not inputs.text.sessions:
        yield Paragraph(
            'Not shown: attention needs "attention", "data", "test", "sample_lines" and a '
            '"checkpoint" of the system in report.json.'
        )
        return
    found = read_attention(checkpoint, manifest.data, inputs.text.sessions)
    if not found:
        yield Paragraph('Not shown: every session in "sample_lines" has one query only.')
        return
    yield Paragraph(
        f"{manifest.attention}: each row is a query, and each column a query that it attends to, "
        "by number. Weights are in percent, as the mean over heads. A query attends to itself and "
        "to earlier queries only. Sessions with one query are not drawn. The paper has no such "
        "picture."
    )
    alt = "Heat maps: attention among the queries of each sample session, one map per layer"
    yield Picture("attention", attention_maps(found), alt)
