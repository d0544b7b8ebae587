"""64-bit hashes of texts that a table must recognise but not contain."""

from hashlib import blake2b
from typing import Iterable

import numpy as np

from .sorted_values import place_of


def fingerprints(texts: Iterable[str]) -> np.ndarray:
    """-> (texts,), sorted"""
    digests = b"".join(_digest(text) for text in texts)
    return np.sort(np.frombuffer(digests, "<u8"))


def is_among(text: str, prints: np.ndarray) -> bool:
    """Args:
    prints: from `fingerprints`
    """
    return len(prints) > 0 and place_of(prints, int.from_bytes(_digest(text), "little")) is not None


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8"), digest_size=8).digest()
