"""Which sessions the challenger gets: the same in every process and after every restart."""

import hashlib

_BITS = 64


def is_for_challenger(session_id: str, share: float) -> bool:
    """Decide by a hash of the id, so that consecutive or similar ids are spread evenly.

    Args:
        share: share of sessions, from 0 to 1; if it grows, sessions of the challenger stay there
    """
    digest = hashlib.sha256(session_id.encode("utf-8")).digest()
    return int.from_bytes(digest[: _BITS // 8], "big") < share * 2**_BITS
