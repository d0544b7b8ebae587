"""Requests that arrive together run together.

An idle lane runs a request at once. Requests that arrive while a batch runs wait for its end and
make the next one. Nobody waits to fill a batch, so waiting ends with the running batch, with the
request's own deadline, or at once where the queue is full.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Generic, List, NamedTuple, Optional, Sequence, TypeVar

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

    async def ask(self, item: Item, seconds: float) -> Result:
        """The result of one item.

        Raises:
            Full: at once
            TooLate: after `seconds`; an item that still waits is forgotten
        """
        if not self.has_room():
            raise Full
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting[future] = _Ticket(item, time.monotonic())
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
            self.watch.ran(time.monotonic() - started, len(items))
        self._busy_since = self._worker = None

    def _take(self) -> "tuple[List[asyncio.Future[Result]], List[Item]]":
        """The oldest that wait: where their results go, and themselves."""
        now = time.monotonic()
        futures = list(self._waiting)[: self.max_batch]
        tickets = [self._waiting.pop(future) for future in futures]
        for ticket in tickets:
            self.watch.waited(now - ticket.since)
        self.watch.queued(len(self._waiting))
        return futures, [ticket.item for ticket in tickets]


def _not_late(futures: Sequence["asyncio.Future[Result]"]) -> List["asyncio.Future[Result]"]:
    return [future for future in futures if not future.done()]
