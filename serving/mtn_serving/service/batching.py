"""Batch the requests that arrive together.

An idle lane runs a request at once. Requests that arrive while a batch runs form the next batch. No
request waits to fill a batch: waiting ends with the running batch or with the request's deadline.
Between two batches, the answers of the first go out, and who asks again at once is in the second.
Otherwise the clients would split into two halves that take turns, in batches half as large.
Requests are refused at once if the queue is full, or too long for their deadline.
A batch takes at most a quarter of a request's deadline, and a request with less time left is not
run. Otherwise all results would be late under overload.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Generic, List, NamedTuple, Optional, Sequence, TypeVar

_BATCH_SHARE = 0.25  # share of a request's deadline for its batch
_ROUNDS = 8  # of the event loop, for the answers of a batch: less than a millisecond
_NEWEST_WEIGHT = 0.3  # weight of the newest batch in the average time per request

Item = TypeVar("Item")
Result = TypeVar("Result")


class Full(Exception):
    """The queue is full; the request was not started."""


class TooLate(Exception):
    """The deadline has passed; the answer is not computed, or discarded."""


class Watch(NamedTuple):
    """Callbacks for waiting and running times, in seconds."""

    waited: Callable[[float], None]
    ran: Callable[[float, int], None]  # with the number of requests
    queued: Callable[[int], None]


class _Ticket(NamedTuple):
    item: Any
    since: float
    seconds: float  # the deadline

    def is_late(self, now: float) -> bool:
        """Whether the deadline would pass during a batch that begins now."""
        return self.since + self.seconds - now < _BATCH_SHARE * self.seconds


class Lane(Generic[Item, Result]):
    """One thread that runs batches, and its queue.

    Args:
        run: computes the results of a batch, in its order; runs in the thread
        max_batch, max_queue: numbers of requests
        watch: called for each batch
    """

    def __init__(
        self,
        run: Callable[[List[Item]], Sequence[Result]],
        max_batch: int,
        max_queue: int,
        watch: Watch,
    ) -> None:
        self.run, self.max_batch, self.max_queue, self.watch = run, max_batch, max_queue, watch
        self._waiting: Dict[asyncio.Future[Result], _Ticket] = {}  # oldest first
        self._thread = ThreadPoolExecutor(1)
        self._worker: Optional[asyncio.Task[None]] = None
        self._busy_since: Optional[float] = None
        self._per_item = 0.0  # seconds, average over recent batches

    async def ask(self, item: Item, seconds: float) -> Result:
        """The result of one item.

        Raises:
            Full: at once
            TooLate: after `seconds`, or earlier if there is clearly no time to run the item; a
                waiting item is then dropped
        """
        if not self.has_room():
            raise Full
        if not self.has_time(seconds):
            raise TooLate
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting[future] = _Ticket(item, time.monotonic(), seconds)
        self.watch.queued(len(self._waiting))
        if self._worker is None:
            self._worker = loop.create_task(self._work())
        try:
            await asyncio.wait([future], timeout=seconds)
            if not future.done():
                raise TooLate
            return future.result()
        finally:  # even if the caller is cancelled
            self._waiting.pop(future, None)
            future.cancel()  # no effect if done

    def has_room(self, items: int = 1) -> bool:
        return len(self._waiting) + items <= self.max_queue

    def has_time(self, seconds: float) -> bool:
        """Whether one more item can probably run in this time. One item may always wait, so that
        the average time per item stays up to date.
        """
        if not self._waiting:
            return True
        return (len(self._waiting) + 1) * self._per_item <= (1 - _BATCH_SHARE) * seconds

    def busy_for(self) -> float:
        """Seconds since the running batch began."""
        return 0.0 if self._busy_since is None else time.monotonic() - self._busy_since

    async def close(self) -> None:
        """Close, after all accepted items are done."""
        if self._worker is not None:
            await asyncio.wait([self._worker])
        self._thread.shutdown(wait=False)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            futures, items = self._take()
            if not items:  # all were too late
                continue
            self._busy_since = started = time.monotonic()
            try:
                results = await loop.run_in_executor(self._thread, self.run, items)
            except Exception as error:
                for future in _not_late(futures):
                    future.set_exception(error)
            else:
                answered = dict(zip(futures, results))
                for future in _not_late(futures):
                    future.set_result(answered[future])
            took = time.monotonic() - started
            self._per_item += _NEWEST_WEIGHT * (took / len(items) - self._per_item)
            self.watch.ran(took, len(items))
            if len(items) > 1:
                for _ in range(_ROUNDS):
                    await asyncio.sleep(0)
        self._busy_since = self._worker = None

    def _take(self) -> "tuple[List[asyncio.Future[Result]], List[Item]]":
        """The oldest waiting items that are not too late, with their futures."""
        now = time.monotonic()
        taken: Dict[asyncio.Future[Result], _Ticket] = {}
        for future, ticket in list(self._waiting.items()):
            too_long = len(taken) * self._per_item > _BATCH_SHARE * ticket.seconds
            if len(taken) == self.max_batch or too_long:
                break
            del self._waiting[future]
            self.watch.waited(now - ticket.since)
            if ticket.is_late(now):
                future.set_exception(TooLate())
            else:
                taken[future] = ticket
        self.watch.queued(len(self._waiting))
        return list(taken), [ticket.item for ticket in taken.values()]


def _not_late(futures: Sequence["asyncio.Future[Result]"]) -> List["asyncio.Future[Result]"]:
    return [future for future in futures if not future.done()]
