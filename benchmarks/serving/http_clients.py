"""Clients that ask a service for lists: in a closed loop, or in an open one.

Closed loop: so many clients, each asks again when it has its answer. Open loop: requests are due at
even or random distances, whether or not earlier ones were answered, so that waiting counts.
"""

import asyncio
import random
import re
import time
from typing import Any, Iterator, List, NamedTuple
from urllib.parse import urlsplit

CONNECTIONS = 256  # of an open loop


class Answered(NamedTuple):
    began: float  # or was due
    ended: float
    outcome: str  # "list" of the model, "degraded" list, "refused" with 503, or what else came

    @property
    def good(self) -> bool:
        return self.outcome == "list"


class Client:
    """One connection; requests are bytes that were made before."""

    def __init__(self, address: str) -> None:
        self.host, self.port = urlsplit(address).hostname, urlsplit(address).port

    async def __aenter__(self) -> "Client":
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        return self

    async def __aexit__(self, *error: Any) -> None:
        self.writer.close()

    async def ask(self, request: bytes) -> str:
        """What came, as `Answered.outcome` has it."""
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        assert length is not None
        body = await self.reader.readexactly(int(length.group(1)))
        status = head[9:12].decode()
        if status == "200":
            return "degraded" if b'"degraded":true' in body else "list"
        return "refused" if status == "503" else status


async def closed_loop(
    address: str, requests: Iterator[bytes], clients: int, seconds: float
) -> List[Answered]:
    end = time.perf_counter() + seconds
    answers: List[Answered] = []

    async def go_on() -> None:
        async with Client(address) as client:
            while (began := time.perf_counter()) < end:
                outcome = await client.ask(next(requests))
                answers.append(Answered(began, time.perf_counter(), outcome))

    await asyncio.gather(*(go_on() for _ in range(clients)))
    return answers


async def open_loop(
    address: str,
    requests: Iterator[bytes],
    rate: float,
    seconds: float,
    is_random: bool = False,
    connections: int = CONNECTIONS,
) -> List[Answered]:
    """Args:
    rate: requests per second
    is_random: whether requests come independently of each other, at this rate on average
    """
    idle: asyncio.Queue[Client] = asyncio.Queue()
    answers: List[Answered] = []

    async def ask(due: float) -> None:
        client = await idle.get()
        outcome = await client.ask(next(requests))
        idle.put_nowait(client)
        answers.append(Answered(due, time.perf_counter(), outcome))

    clients = [await Client(address).__aenter__() for _ in range(connections)]
    for client in clients:
        idle.put_nowait(client)
    rng, tasks = random.Random(1), []
    begin = due = time.perf_counter()
    while due < begin + seconds:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(ask(due)))
        due += rng.expovariate(rate) if is_random else 1 / rate
    await asyncio.gather(*tasks)
    for client in clients:
        client.writer.close()
    return answers
