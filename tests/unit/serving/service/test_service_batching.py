"""Lanes: at once when idle, in batches when busy, bounded, and each item gets its own result."""

import asyncio
import random
import threading
import time

import pytest

from mtn_serving.service.batching import Full, Lane, TooLate, Watch

SILENT = Watch(lambda seconds: None, lambda seconds, size: None, lambda length: None)


class Gate:
    """A function that records its batches and waits until `through` is set."""

    def __init__(self, is_open=False):
        self.batches, self.through = [], threading.Event()
        if is_open:
            self.through.set()

    def __call__(self, items):
        self.batches.append(list(items))
        assert self.through.wait(10)
        return [item * 10 for item in items]


def lane_of(run, max_batch=4, max_queue=8):
    return Lane(run, max_batch, max_queue, SILENT)


async def until(condition):
    while not condition():
        await asyncio.sleep(0.001)


def test_an_idle_lane_runs_at_once_and_a_busy_one_in_batches():
    async def scenario():
        gate = Gate()
        lane = lane_of(gate)
        first = asyncio.create_task(lane.ask(1, 5))
        await until(lambda: gate.batches)
        others = [asyncio.create_task(lane.ask(item, 5)) for item in range(2, 9)]
        await asyncio.sleep(0.01)
        assert gate.batches == [[1]]  # no item joins a running batch
        gate.through.set()
        assert await asyncio.gather(first, *others) == [10, 20, 30, 40, 50, 60, 70, 80]
        assert gate.batches == [[1], [2, 3, 4, 5], [6, 7, 8]]
        await lane.close()

    asyncio.run(scenario())


def test_who_asks_again_at_once_is_in_the_next_batch():
    """Eight clients that began as two halves do not take turns."""

    def run(items):
        batches.append(len(items))
        time.sleep(0.02)
        return items

    batches = []

    async def scenario():
        lane = lane_of(run, max_batch=16, max_queue=16)

        async def client():
            for item in range(5):
                assert await lane.ask(item, 5) == item

        half = [asyncio.create_task(client()) for _ in range(4)]
        await until(lambda: batches)
        await asyncio.gather(*half, *(client() for _ in range(4)))

    asyncio.run(scenario())
    assert batches == [4, 8, 8, 8, 8, 4]


def test_a_full_queue_refuses_at_once():
    async def scenario():
        gate = Gate()
        lane = lane_of(gate, max_queue=2)
        running = asyncio.create_task(lane.ask(0, 5))
        await until(lambda: gate.batches)
        waiting = [asyncio.create_task(lane.ask(item, 5)) for item in (1, 2)]
        await asyncio.sleep(0)
        assert not lane.has_room()
        started = time.monotonic()
        with pytest.raises(Full):
            await lane.ask(3, 5)
        assert time.monotonic() - started < 0.1
        gate.through.set()
        assert await asyncio.gather(running, *waiting) == [0, 10, 20]

    asyncio.run(scenario())


def test_late_items_are_dropped():
    """They are neither run later nor counted as waiting."""

    async def scenario():
        gate = Gate()
        lane = lane_of(gate, max_queue=1)
        running = asyncio.create_task(lane.ask(0, 5))
        await until(lambda: gate.batches)
        for item in (1, 2, 3):
            with pytest.raises(TooLate):
                await lane.ask(item, 0.01)
        with pytest.raises(TooLate):
            await asyncio.wait_for(lane.ask(4, 0.01), 1)
        left = asyncio.create_task(lane.ask(5, 5))
        await asyncio.sleep(0.01)
        left.cancel()  # as if the client disconnected
        await asyncio.sleep(0.01)
        assert lane.has_room()
        gate.through.set()
        assert await running == 0
        assert await lane.ask(6, 5) == 60
        assert gate.batches == [[0], [6]]

    asyncio.run(scenario())


def test_a_batch_is_as_large_as_its_time_allows():
    """Items take 20 ms: a quarter of 0.4 s is enough for 5, a quarter of 60 s for all."""

    def run(items):
        batches.append(len(items))
        time.sleep(0.02 * len(items))
        return items

    batches = []

    async def scenario():
        lane = lane_of(run, max_batch=16, max_queue=100)
        for item in range(20):  # to measure the time per item
            await lane.ask(item, 60)
        asked = [lane.ask(item, 60) for item in range(17)]
        assert await asyncio.gather(*asked) == list(range(17))
        assert batches[20:] == [16, 1] or batches[20:] == [1, 16]
        del batches[:]
        hurried = [lane.ask(item, 0.4) for item in range(12)]
        found = await asyncio.gather(*hurried, return_exceptions=True)
        assert max(batches) <= 6 and 0 in found
        assert all(each == item or isinstance(each, TooLate) for item, each in enumerate(found))
        await lane.close()

    asyncio.run(scenario())


def test_items_that_would_be_late_are_refused_at_once():
    """Three waiting items take 0.1 s each, so a fourth with a deadline of 0.3 s is refused."""

    async def scenario():
        gate = Gate(is_open=True)
        lane = lane_of(lambda items: time.sleep(0.1) or gate(items), max_batch=1)
        for item in range(12):
            await lane.ask(item, 60)
        gate.through.clear()
        running = asyncio.create_task(lane.ask(0, 60))
        await until(lambda: len(gate.batches) == 13)
        others = [asyncio.create_task(lane.ask(1, 60)) for _ in range(3)]
        await asyncio.sleep(0)
        assert len(lane._waiting) == 3 and lane.has_time(60) and not lane.has_time(0.3)
        started = time.monotonic()
        with pytest.raises(TooLate):
            await lane.ask(2, 0.3)
        assert time.monotonic() - started < 0.25
        gate.through.set()
        assert await asyncio.gather(running, *others) == [0, 10, 10, 10]

    asyncio.run(scenario())


def test_an_error_affects_only_its_batch():
    async def scenario():
        def run(items):
            if 1 in items:
                raise ValueError("bad")
            return items

        lane = lane_of(run, max_batch=1)
        results = await asyncio.gather(
            *(lane.ask(item, 5) for item in range(3)), return_exceptions=True
        )
        assert [results[0], results[2]] == [0, 2] and isinstance(results[1], ValueError)
        await lane.close()

    asyncio.run(scenario())


def test_closing_waits_for_accepted_items():
    async def scenario():
        gate = Gate()
        lane = lane_of(gate, max_batch=1)
        accepted = [asyncio.create_task(lane.ask(item, 5)) for item in range(3)]
        await until(lambda: gate.batches)
        assert 0 < lane.busy_for() < 5
        closing = asyncio.create_task(lane.close())
        await asyncio.sleep(0.01)
        assert not closing.done()
        gate.through.set()
        await closing
        assert [each.result() for each in accepted] == [0, 10, 20]
        assert lane.busy_for() == 0

    asyncio.run(scenario())


def test_thousands_of_items_each_get_their_own_result():
    rng = random.Random(1)

    async def scenario():
        lane = lane_of(lambda items: [item * 10 for item in items], max_batch=7, max_queue=5000)

        async def ask(item):
            await asyncio.sleep(rng.random() / 100)
            try:
                return await lane.ask(item, 5 if rng.random() < 0.9 else 1e-4)
            except TooLate:
                return item * 10

        found = await asyncio.gather(*map(ask, range(5000)))
        assert found == [item * 10 for item in range(5000)]

    asyncio.run(scenario())
