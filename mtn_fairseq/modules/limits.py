"""The sizes that a model was built for."""

_SIZES = ("tokens per query", "queries per session", "sessions per history")


def counted_at(level: int) -> str:
    """What the size of a unit of this level counts, for messages."""
    named = level <= len(_SIZES)
    return _SIZES[level - 1] if named else f"units of level {level - 1} per unit of level {level}"


def check_fits(what: str, found: int, limit: int) -> None:
    """Raise an error that names the flag, instead of an index error later."""
    if found > limit:
        raise ValueError(f"{found} {what}, but the model was built for {limit} (--level-sizes)")
