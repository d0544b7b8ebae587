"""Requests that arrive together run together.

An idle lane runs a request at once. Requests that arrive while a batch runs wait for its end and
make the next one. Nobody waits to fill a batch, so waiting ends with the running batch, with the
request's own deadline, or at once where the queue is full, or so long that the deadline will pass.
A batch is no larger than can be run in a quarter of the time for a request, and a request that has
less left is not run. Else, under more load than a lane can hold, all results would be late.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Generic, List, NamedTuple, Optional, Sequence, TypeVar

_SHARE = 0.25  # of the time for a request, for the batch that it is in
_NEWEST = 0.3  # weight of the newest batch in what a request takes

Item = TypeVar("Item")
Result = TypeVar("Result")


class Full(Exception):
    """The queue is full; nothing was begun."""


class TooLate(Exception):
    """The time for an answer is over; it is not made, or not waited for."""


class Watch(NamedTuple):
    """Who hears of waiting and running, in seconds."""

    waited: Callable[[float], None]
    ran: Callable[[float, int], None]  # with the number of requests
    queued: Callable[[int], None]


class _Ticket(NamedTuple):
    item: Any
    since: float
    seconds: float  # within which a result is wanted

    def is_late(self, now: float) -> bool:
        """Whether its time is over before a batch ends that begins now."""
        return self.since + self.seconds - now < _SHARE * self.seconds


class Lane(Generic[Item, Result]):
    """One thread that runs batches, and the queue before it.

    Args:
        run: the results of a batch, in its order; runs in the thread
        max_batch, max_queue: requests
        watch: hears of each batch
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
        self._per_item = 0.0  # seconds, by what batches took lately

    async def ask(self, item: Item, seconds: float) -> Result:
        """The result of one item.

        Raises:
            Full: at once
            TooLate: after `seconds`; before, as soon as it is known that there is no time to run
                it; an item that still waits is forgotten
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
        finally:  # also where the caller is cancelled
            self._waiting.pop(future, None)
            future.cancel()  # does nothing to one that is done

    def has_room(self, items: int = 1) -> bool:
        return len(self._waiting) + items <= self.max_queue

    def has_time(self, seconds: float) -> bool:
        """Whether one more item is likely to be run in this time. Some item may always wait, so
        that what is known of the time of an item stays up to date.
        """
        if not self._waiting:
            return True
        return (len(self._waiting) + 1) * self._per_item <= (1 - _SHARE) * seconds

    def busy_for(self) -> float:
        """Seconds that the running batch has taken so far."""
        return 0.0 if self._busy_since is None else time.monotonic() - self._busy_since

    async def close(self) -> None:
        """When all that was accepted is answered."""
        if self._worker is not None:
            await asyncio.wait([self._worker])
        self._thread.shutdown(wait=False)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            futures, items = self._take()
            if not items:  # all of them were too late
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
            self._per_item += _NEWEST * (took / len(items) - self._per_item)
            self.watch.ran(took, len(items))
        self._busy_since = self._worker = None

    def _take(self) -> "tuple[List[asyncio.Future[Result]], List[Item]]":
        """The oldest that wait and are not too late: where their results go, and themselves."""
        now = time.monotonic()
        taken: Dict[asyncio.Future[Result], _Ticket] = {}
        for future, ticket in list(self._waiting.items()):
            too_long = len(taken) * self._per_item > _SHARE * ticket.seconds
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
