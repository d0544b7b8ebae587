"""The manifest of a folder: flags, versions, and names, sizes and checksums of the input."""

import json
import unicodedata
from importlib.metadata import version
from pathlib import Path
from typing import Any, Dict, List, Optional

from mtn_preprocess.account import plain_rules
from mtn_preprocess.errors import InputError
from mtn_preprocess.flags import Settings
from mtn_preprocess.log_files import Log

NAME = "manifest.json"
# What the output depends on. It is the same for another engine or a moved file.
_COMPARED = ("mtn_fairseq", "unicode", "flags", "inputs")


def describe(settings: Settings, log: Log, checksums: List[str]) -> Dict[str, Any]:
    return {
        "mtn_fairseq": version("mtn_fairseq"),
        "unicode": unicodedata.unidata_version,
        "engine": settings.engine,
        "flags": {
            **plain_rules(settings.rules),
            "columns": list(log.layout.names),
            "format": log.layout.kind,
            "time_format": log.time_format,
            "sentencepiece": settings.sentencepiece,
            "sentencepiece_version": settings.sentencepiece and version("sentencepiece"),
            # Only where set, so that folders made before these flags still match.
            **({"users": True} if settings.users else {}),
            **({"user_keys": True} if settings.user_keys else {}),
            **({"delimiter": log.layout.delimiter} if log.layout.delimiter != "," else {}),
            **({"time_range": list(settings.time_range)} if settings.time_range else {}),
        },
        "inputs": [
            {"name": file.location.name, "bytes": file.size, "sha256": digest}
            for file, digest in zip(log.files, checksums)
        ],
    }


def write(folder: Path, manifest: Dict[str, Any]) -> None:
    (folder / NAME).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def read(folder: Path) -> Optional[Dict[str, Any]]:
    """The manifest of an earlier run in this folder; None if there is none."""
    try:
        manifest = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) else None


def refuse_other(before: Dict[str, Any], now: Dict[str, Any], folder: Path) -> None:
    """Refuse a folder that was made from something else."""
    for key in _COMPARED:
        if before.get(key) != now[key]:
            raise InputError(
                f"exists already, made from other {key}",
                "choose another --output or pass --overwrite",
                folder,
            )
