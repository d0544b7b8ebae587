"""The amount of training data of a model, from files beside its data: numbers only, no text."""

from pathlib import Path
from typing import Any, Dict, Optional

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json

_MAGIC = b"MMIDIDX\x00\x00"
_COUNT_AT = len(_MAGIC) + 8 + 1  # after the version (8 bytes) and the number type (1 byte)
_SIZES_AT = _COUNT_AT + 8


def training_pairs(data: Path) -> Dict[str, int]:
    """Numbers of pairs and tokens of binarised data; empty for other layouts, such as shards.

    Args:
        data: folder of fairseq-preprocess
    """
    found = {}
    for side, name in {"session": "session_tokens", "next": "next_query_tokens"}.items():
        lengths = _lengths(data / f"train.session-next.{side}.idx")
        if lengths is None:
            return {}
        found.update({"pairs": len(lengths), name: int(lengths.sum(dtype=np.int64))})
    return found


def prepared_text(folder: Path) -> Dict[str, Any]:
    """The preparation's statistics of its training split; empty for text from other tools."""
    try:
        stats = read_json(folder / "stats.json")
        return dict(stats["splits"]["train"])
    except (InputError, KeyError, TypeError):
        return {}


def _lengths(path: Path) -> Optional[np.ndarray]:
    """Tokens per line, from fairseq's index of a memory-mapped file."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if not content.startswith(_MAGIC) or len(content) < _SIZES_AT:
        return None
    count = int.from_bytes(content[_COUNT_AT:_SIZES_AT], "little")
    if len(content) < _SIZES_AT + 4 * count:
        return None
    return np.frombuffer(content, "<i4", count, _SIZES_AT)
