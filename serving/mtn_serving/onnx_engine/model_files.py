"""The files of an exported model; none of them contains code."""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple

import numpy as np
import onnxruntime

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json
from mtn_preprocess.text.dictionary_file import SYMBOLS

SCHEMA = 1
FACTS = "model.json"
ENCODER, DECODER = "encoder.onnx", "decoder.onnx"  # each with a file of weights
SHORT_DECODER = "short_decoder.onnx"  # its output layer has the words of the shortlist only
ATTENTION = "query_attention"  # an output of the encoder, if the model has a session level
DICTIONARY = "dictionary.txt"
PIECES_MODEL = "pieces.model"

_AGAIN = "export the model again"


class Facts(NamedTuple):
    """The fields of `model.json` that are needed to run the model."""

    words: int  # V, the size of the dictionary
    pieces: bool  # whether the dictionary has word pieces
    channels: int
    encoder_heads: int
    decoder_heads: int
    decoder_layers: int
    levels: int  # of the encoder; 1 for a flat one
    history_levels: int  # 3 or more: the model reads earlier sessions
    level_sizes: List[int]  # maximum size of the units of each level, bottom up
    projections: List[str]  # `vector` or `linear`, for levels 2 and up
    max_source_tokens: int
    architecture: str
    source_context: str  # `session`, or `last`: the last query only
    decoder_context: str  # `session`, or `query`: the codes of the last query only
    copying: bool
    max_copied_unknown_words: int
    max_bytes_of_copied_word: int
    shortlist: int = 0  # number of words that a beam search can generate; 0 for all

    @property
    def tables(self) -> List[str]:
        """Names of the lookup tables."""
        upper = range(2, self.levels + 1)
        mixing = [level for level in upper if self.projections[level - 2] == "vector"]
        return [
            "words",
            "source_positions",
            "target_positions",
            *(f"positions_{level}" for level in upper),
            *(f"weights_{level}" for level in mixing),
        ]


def table_file(name: str) -> str:
    return f"{name}.npy"


def read_facts(folder: Path) -> Facts:
    path = Path(folder) / FACTS
    if not path.is_file():
        raise InputError(f"no exported model: it has no {FACTS}", "give an exported one", folder)
    fields = read_json(path, _AGAIN)
    if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
        raise InputError(f"not of schema {SCHEMA}", _AGAIN, path)
    fields = {**Facts._field_defaults, **fields}
    missing = set(Facts._fields) - set(fields)
    if missing:
        raise InputError(f"damaged: no {sorted(missing)[0]}", _AGAIN, path)
    return Facts(**{name: fields[name] for name in Facts._fields})


def words_said(shortlist: int) -> int:
    """Number of rows of the output layer: fairseq's symbols, then the first words of the
    dictionary, which are the most frequent."""
    return len(SYMBOLS) + shortlist


def _open_table(folder: Path, name: str) -> np.ndarray:
    """Open a table by memory map: only the rows that are looked up are read."""
    path = Path(folder) / table_file(name)
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", _AGAIN, path) from None


def open_tables(folder: Path, names: List[str]) -> Dict[str, np.ndarray]:
    return {name: _open_table(folder, name) for name in names}


def open_graph(folder: Path, name: str, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads would take two thirds of the CPU time of a short request.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    # The next optimization level fuses sums and norms into nodes that are slower than both.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    path = Path(folder) / name
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions share no base class
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"onnxruntime cannot open it ({reason})", _AGAIN, path) from error


Feed = Dict[str, Any]  # arrays by name of a graph's inputs
