"""What a model was built for."""

_COUNTED = ("tokens per query", "queries per session", "sessions per history")


def counted_at(level: int) -> str:
    """What the size of a unit of this level is a number of, for messages."""
    named = level <= len(_COUNTED)
    return _COUNTED[level - 1] if named else f"units of level {level - 1} per unit of level {level}"


def check_fits(what: str, found: int, limit: int) -> None:
    """Say which flag to raise, where an index error would only say a number."""
    if found > limit:
        raise ValueError(f"{found} {what}, but the model was built for {limit} (--level-sizes)")
