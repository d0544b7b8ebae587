"""The sections of a report, in display order."""

from typing import List

from . import paper
from .data_section import data
from .document import Block, Document, Heading, Paragraph
from .manifest import Manifest
from .model_sections import attention, curves, samples
from .score_sections import (
    bleu,
    differences,
    how_to_read,
    kinds,
    notes,
    perplexity,
    positions,
    scores,
)
from .section_inputs import read_inputs


def build_document(manifest: Manifest) -> Document:
    """Build a report from its manifest. A section without content has no heading either."""
    inputs = read_inputs(manifest)
    blocks: List[Block] = [Paragraph(text) for text in manifest.about]
    blocks += how_to_read(inputs)
    sections = {
        "Data (the paper's Table 1)": data(inputs),
        "Models (the paper's Table 2)": scores(inputs, "main", paper.MAIN),
        "BLEU (the paper's bar chart)": bleu(inputs),
        "Layers (the paper's ablation)": scores(inputs, "ablation", paper.ABLATION),
        "Variants": scores(inputs, "variant", {}),
        "Beyond the paper": scores(inputs, "beyond", {}),
        "Perplexity of the next queries": perplexity(inputs),
        "Differences": differences(inputs),
        "By kind of next query": kinds(inputs),
        "By position in the session": positions(inputs),
        "Learning curves": curves(inputs),
        "Sample suggestions": samples(inputs),
        "Attention of the session level": attention(inputs),
        "Notes": notes(inputs),
    }
    for title, section in sections.items():
        content = list(section)
        if content:
            blocks += [Heading(title), *content]
    return Document(manifest.title, blocks)
