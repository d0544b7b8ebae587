"""Checkpoint -> the model's part of a bundle: graphs, tables, vocabulary and facts."""

import json
from pathlib import Path
from typing import Any, Dict

import numpy as np
from fairseq.tasks import FairseqTask

from mtn_fairseq.checkpoints.loading import load_model
from mtn_fairseq.copying.words import SLOTS
from mtn_fairseq.data.spelled_words import MAX_LENGTH
from mtn_fairseq.modules.mtn_encoder import MTNEncoder
from mtn_fairseq.modules.packed_layers import PackedDecoder
from mtn_fairseq.modules.unit_projection import LinearProjection
from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import NAME as SETTINGS
from mtn_preprocess.text.word_pieces import MODEL as PIECES

from ..onnx_engine.model_files import (
    DECODER,
    DICTIONARY,
    ENCODER,
    FACTS,
    PIECES_MODEL,
    SCHEMA,
    SHORT_DECODER,
    table_file,
    words_said,
)
from .decoder_graph import decoder_graph
from .encoder_graph import encoder_graph
from .tables import tables_of


def export_model(
    checkpoint: Path, data: Path, folder: Path, int8: bool = False, shortlist: int = 0
) -> Dict[str, Any]:
    """Write the model into an existing folder; return the facts of its `model.json`.

    Args:
        checkpoint: of fairseq-train, an `mtn` or `transformer_session` model
        data: folder of the binarised data it was trained on, for its dictionary
        int8: store weights of matrices in one byte each: smaller and faster, slightly less exact
        shortlist: number of words, the most frequent, that a beam search can generate; it can copy
            others: faster with a large dictionary; 0 for all words
    """
    model, task = load_model(Path(checkpoint), Path(data))
    _refuse_what_has_no_graph(model, Path(checkpoint))
    return write_model(model, task, Path(folder), int8, shortlist)


def write_model(
    model: Any, task: FairseqTask, folder: Path, int8: bool, shortlist: int = 0
) -> Dict[str, Any]:
    """The same as `export_model`, for a loaded model."""
    _refuse_shortlist(task, shortlist)
    encoder_graph(model, int8).save(folder / ENCODER)
    decoder_graph(model, int8).save(folder / DECODER)
    if shortlist:
        decoder_graph(model, int8, words_said(shortlist)).save(folder / SHORT_DECODER)
    for name, table in tables_of(model).items():
        np.save(folder / table_file(name), table, allow_pickle=False)
    _copy_text_files(task, folder)
    facts = {**_facts_of(model, task, int8), "shortlist": shortlist}
    (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return facts


def _facts_of(model: Any, task: FairseqTask, int8: bool) -> Dict[str, Any]:
    encoder, decoder = model.encoder, model.decoder
    hierarchical = isinstance(encoder, MTNEncoder)
    token_encoder = encoder.query_encoder if hierarchical else encoder
    return {
        "schema": SCHEMA,
        "architecture": "mtn" if hierarchical else "transformer_session",
        "number_type": "int8" if int8 else "float32",
        "parameters": sum(each.numel() for each in model.parameters()),
        "words": len(task.source_dictionary),
        "pieces": task.in_pieces,
        "channels": decoder.embed_tokens.embedding_dim,
        "encoder_heads": token_encoder.layers[0].self_attn.num_heads,
        "decoder_heads": decoder.layers[0].self_attn.num_heads,
        "decoder_layers": len(decoder.layers),
        "levels": model.levels if hierarchical else 1,
        "history_levels": model.description.levels,
        "level_sizes": task.level_sizes,
        "projections": [
            "linear" if isinstance(each, LinearProjection) else "vector"
            for each in (encoder.projections if hierarchical else ())
        ],
        "max_source_tokens": min(task.cfg.max_source_positions, model.max_positions()[0]),
        "source_context": model.description.source_context,
        "decoder_context": encoder.decoder_context if hierarchical else "session",
        "copying": model.copies,
        "max_copied_unknown_words": SLOTS,
        "max_bytes_of_copied_word": MAX_LENGTH,
    }


def _refuse_shortlist(task: FairseqTask, shortlist: int) -> None:
    if shortlist and task.in_pieces:
        raise InputError(
            "a shortlist of word pieces: words that need another piece could not be said",
            "leave out --shortlist; dictionaries of pieces are small",
        )
    if shortlist and words_said(shortlist) >= len(task.source_dictionary):
        raise InputError(
            f"a shortlist of {shortlist:,} words, and the dictionary has "
            f"{len(task.source_dictionary) - words_said(0):,}",
            "give --shortlist a smaller number, or leave it out",
        )


def _refuse_what_has_no_graph(model: Any, checkpoint: Path) -> None:
    decoder = getattr(model, "decoder", None)
    if not isinstance(decoder, PackedDecoder):
        raise InputError(
            f"{type(model).__name__} cannot be exported: only mtn and transformer_session can",
            "serve it by mtn-suggest --model and --data",
            checkpoint,
        )
    encoder = getattr(model.encoder, "query_encoder", model.encoder)
    if decoder.adaptive_softmax is not None or not (
        encoder.quant_noise is decoder.quant_noise is None
    ):
        raise InputError(
            "models with adaptive softmax or --quant-noise-pq cannot be exported",
            "train without these, or serve it by mtn-suggest --model and --data",
            checkpoint,
        )


def _copy_text_files(task: FairseqTask, folder: Path) -> None:
    """Copy the files needed to read text: dictionary, word pieces, settings of the text."""
    source = task.dictionary_file
    copies = {
        DICTIONARY: source,
        PIECES_MODEL: source.with_name(PIECES),
        SETTINGS: task.settings_file,
    }
    if not task.in_pieces:
        del copies[PIECES_MODEL]
    elif not copies[PIECES_MODEL].is_file():
        raise InputError(
            f"the data are in word pieces, and {PIECES} is missing",
            "copy it from the prepared text into the data folder",
            source.parent,
        )
    for name, path in copies.items():
        if path.is_file():
            (folder / name).write_bytes(path.read_bytes())
