"""The pairs of prepared text, each with the person's history."""

from itertools import zip_longest
from pathlib import Path
from typing import Callable, Iterator, List, NamedTuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.histories import read_histories, split_history
from mtn_preprocess.text.session_pairs import Pair, read_pairs_in_words

from ..engine import HistorySize
from ..request import MAX_HISTORY, Request
from ..suggester import batches


class PersonalPair(NamedTuple):
    pair: Pair  # as in the files, in words
    line: str  # the input for suggestions: the session, with the history before it


class PersonalPairs:
    """The pairs of `PREFIX.session` and `PREFIX.next`, with the histories of `PREFIX.history`.

    Without that file, the history is the text before the session in `PREFIX.session`. Histories are
    read once for a check, then again batch by batch: together they are many times the pairs.

    Args:
        use_history: False to treat everybody as a stranger
        model_reads: how much of a history the model reads
        say: reports how many histories are truncated
    """

    def __init__(
        self,
        prefix: str,
        use_history: bool,
        model_reads: HistorySize,
        say: Callable[[str], None],
    ) -> None:
        self.prefix, self.use_history = prefix, use_history
        self.pairs = list(read_pairs_in_words(prefix))
        self.with_history = self._report(model_reads, say)  # number of pairs

    def batches(self) -> Iterator[List[PersonalPair]]:
        requests = self._requests()
        for pairs in batches(self.pairs):
            yield [PersonalPair(pair, next(requests).line) for pair in pairs]

    def _requests(self) -> Iterator[Request]:
        # Histories first: `zip` reads once more after the last pair, which refuses a further line.
        for history, pair in zip(self._histories(), self.pairs):
            yield Request(tuple(pair.queries()), tuple(map(tuple, history)))

    def _histories(self) -> Iterator[List[List[str]]]:
        found = read_histories(self.prefix) if self.use_history else None
        if found is None:
            for pair in self.pairs:
                yield split_history(pair.source)[0] if self.use_history else []
            return
        for number, (pair, history) in enumerate(zip_longest(self.pairs, found), 1):
            if pair is None or history is None:
                reason = "a line too many" if pair is None else "line missing"
                raise InputError(
                    f"{reason}, {self.prefix}.session has {len(self.pairs)}",
                    "line n must belong to pair n; prepare all files again, or pass --no-history",
                    Path(f"{self.prefix}.history"),
                    number,
                )
            yield history

    def _report(self, model_reads: HistorySize, say: Callable[[str], None]) -> int:
        """Return the number of pairs with a history."""
        known = long = cut = 0
        for request in self._requests():
            known += bool(request.history)
            long += len(request.history) > MAX_HISTORY
            cut += request.fitted(model_reads) != request
        if known:
            say(f"{known:,} of {len(self.pairs):,} pairs are of people with a history")
        if long:
            say(f"{long:,} histories are cut to their last {MAX_HISTORY} sessions")
        if cut and model_reads.sessions:
            sizes = f"{model_reads.sessions} sessions of {model_reads.queries} queries"
            say(f"{cut:,} histories are cut for the model, to their last {sizes}")
        return known
