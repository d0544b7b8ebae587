"""Which sessions the challenger gets: the same ones in every process and after every restart."""

import hashlib

_BITS = 64


def is_for_challenger(session_id: str, share: float) -> bool:
    """By a hash of the id, so that ids that count up or share a beginning are spread evenly.

    Args:
        share: of the sessions, from 0 to 1; whoever has the challenger keeps it when this grows
    """
    digest = hashlib.sha256(session_id.encode("utf-8")).digest()
    return int.from_bytes(digest[: _BITS // 8], "big") < share * 2**_BITS
