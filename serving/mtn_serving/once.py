"""Results that are computed once per batch, however many requests of the batch need them."""

from typing import Callable, Dict, Hashable, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class Once(Dict[Key, Result]):
    """The results of a function, by its argument. Made for one batch and dropped with it, so
    nothing is kept between calls.
    """

    def __init__(self, function: Callable[[Key], Result]) -> None:
        super().__init__()
        self.function = function

    def __missing__(self, key: Key) -> Result:
        found = self[key] = self.function(key)
        return found
