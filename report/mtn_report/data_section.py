"""The section on the data: sessions and pairs per split, as in the paper's Table 1."""

from typing import Iterator

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json

from . import paper
from .document import Block, Cell, Paragraph, Table
from .section_inputs import Inputs

SPLITS = {"train": "Training", "valid": "Validation", "test": "Test"}


def data(inputs: Inputs) -> Iterator[Block]:
    if inputs.manifest.stats is None:
        yield Paragraph(
            'Not shown: report.json has no "stats", the stats.json of mtn-log-to-sessions.'
        )
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
        yield Paragraph("Not shown: stats.json counts no sessions.")
        return
    is_aol = "paper" in stats  # the paper's numbers are for the AOL log only
    columns = range(7) if is_aol else (0, 1, 3, 5)
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
    words = f"Words seen at least 8 times in training: {stats['vocabulary']:,}."
    if is_aol:
        words += (
            f" The paper's vocabulary: {paper.VOCABULARY:,}. The paper's text gives the split as "
            "95 / 2.5 / 2.5 percent, but its table has 90 / 5 / 5."
        )
    yield Paragraph(words)
