"""What a model was built for."""


def check_fits(what: str, found: int, limit: int) -> None:
    """Say which flag to raise, where an index error would only say a number."""
    if found > limit:
        raise ValueError(f"{found} {what}, but the model was built for {limit} (--level-sizes)")
