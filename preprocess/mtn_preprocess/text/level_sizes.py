"""Cut sessions of tokens that are too large for a model to its `--level-sizes`."""

from typing import List, Sequence, Union


def fit(
    line: Sequence[int], separators: Sequence[int], sizes: Sequence[int], max_tokens: int
) -> List[int]:
    """The line cut to the sizes of each level and to `max_tokens` in total.

    The oldest queries and sessions are dropped first and whole, the current query last. A single
    query that is too long keeps its first tokens and its end token.
    """
    levels = min(len(sizes), len(separators) + 1)
    units = _nest(list(line), separators[: levels - 1])
    fitted = _fit_unit(units, sizes[:levels])
    while len(fitted) > max_tokens and _oldest_query_end(fitted, separators):
        fitted = fitted[_oldest_query_end(fitted, separators) :]
    return fitted if len(fitted) <= max_tokens else fitted[: max_tokens - 1] + fitted[-1:]


def _nest(line: List[int], separators: Sequence[int]) -> list:
    """Tokens -> queries -> sessions -> …, each with the separator that ends it."""
    units: list = line
    for level in range(len(separators)):
        ends = set(separators[level:])
        nested: list = [[]]
        for unit in units:
            nested[-1].append(unit)
            if _last_token(unit) in ends:
                nested.append([])
        units = nested
    return units


def _last_token(unit: Union[int, list]) -> int:
    while isinstance(unit, list):
        unit = unit[-1]
    return unit


def _fit_unit(unit: list, sizes: Sequence[int]) -> List[int]:
    """A unit of level `len(sizes)`, cut and flattened."""
    if len(sizes) == 1:
        return unit if len(unit) <= sizes[0] else unit[: sizes[0] - 1] + unit[-1:]
    return [token for part in unit[-sizes[-1] :] for token in _fit_unit(part, sizes[:-1])]


def _oldest_query_end(line: List[int], separators: Sequence[int]) -> int:
    """Where the second query starts; 0 if there is only one."""
    return next((i + 1 for i, token in enumerate(line) if token in separators), 0)
