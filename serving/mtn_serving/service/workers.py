"""The processes of a service: one, or several workers that share a socket.

The first worker shows that the bundle can be served; only then do the others start. A worker that
dies is started again. SIGTERM ends all of them, each after what it accepted; SIGHUP makes all of
them take up the bundle as it is now.
"""

import logging
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Callable, List, Optional

from mtn_preprocess.errors import InputError

from .settings import METRICS_FOLDER, SUPERVISOR, Settings

GRACE_SECONDS = 30  # for what was accepted
_RESTART_SECONDS = 1.0
_BACKLOG = 1024


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; connections wait in it until a worker is there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named for asyncio: only then it sends the body of an answer at once, and not
    # 40 ms later, when the client has acknowledged the head.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except (OSError, OverflowError) as error:
        sock.close()
        reason = f"cannot be listened at ({getattr(error, 'strerror', None) or error})"
        raise InputError(reason, "choose another --host or --port", f"{host}:{port}") from None
    sock.listen(_BACKLOG)
    return sock


def serve(settings: Settings, sock: socket.socket, ready: Callable[[], None]) -> None:
    """In this process, until a signal ends it.

    Args:
        ready: is called once requests are answered
    """
    import uvicorn  # here, so that a supervisor stays small

    from .app import create_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready()

    signal.signal(signal.SIGTERM, _end)  # uvicorn raises it again when all is answered
    logging.basicConfig(format="mtn-serve: %(message)s", stream=sys.stderr)
    config = uvicorn.Config(
        create_app(settings),
        access_log=False,  # its lines have the queries of GET
        log_config=None,
        log_level="error",
        proxy_headers=False,  # admin routes look at who is really there
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ws="none",
    )
    Server(config).run(sockets=[sock])


def _end(number: int, frame: Any) -> None:
    raise SystemExit(0)


def serve_in_workers(
    settings: Settings, sock: socket.socket, workers: int, ready: Callable[[], None]
) -> None:
    """In several processes, until a signal ends them.

    Args:
        ready: is called once all of them answer requests

    Raises:
        SystemExit: the first worker could not start, and printed why
    """
    folder = tempfile.mkdtemp(prefix="mtn-serve-")
    os.environ.update({METRICS_FOLDER: folder, SUPERVISOR: str(os.getpid())})
    try:
        _Supervisor(settings, sock).run(workers, ready)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Supervisor:
    def __init__(self, settings: Settings, sock: socket.socket) -> None:
        self.settings, self.sock = settings, sock
        self.workers: List[BaseProcess] = []
        self.is_ending = False

    def run(self, workers: int, ready: Callable[[], None]) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        signal.signal(signal.SIGHUP, self._forward)
        for _ in range(workers):
            self._start()
        if not self.is_ending:
            ready()
        while not self.is_ending:
            wait([worker.sentinel for worker in self.workers], timeout=_RESTART_SECONDS)
            self._replace_dead()
        self._end_all()

    def _start(self) -> None:
        """Returns when it answers requests."""
        if self.is_ending:
            return
        context = multiprocessing.get_context("spawn")  # threads of a model do not survive a fork
        here, there = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(self.settings, self.sock, there))
        worker.start()
        there.close()
        self.workers.append(worker)
        if not _says_ready(here) and not self.is_ending:
            self._end_all()
            raise SystemExit(1)

    def _replace_dead(self) -> None:
        for worker in [each for each in self.workers if not each.is_alive()]:
            if self.is_ending:
                return
            self.workers.remove(worker)
            _forget_metrics(worker.pid)
            print(f"mtn-serve: a worker ended ({worker.exitcode}); another starts", file=sys.stderr)
            time.sleep(_RESTART_SECONDS)
            self._start()

    def _end(self, number: int, frame: Any) -> None:
        self.is_ending = True
        for worker in self.workers:
            worker.terminate()

    def _forward(self, number: int, frame: Any) -> None:
        for worker in self.workers:
            if worker.is_alive() and worker.pid is not None:
                os.kill(worker.pid, signal.SIGHUP)

    def _end_all(self) -> None:
        until = time.monotonic() + GRACE_SECONDS + 5
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.join(max(0.0, until - time.monotonic()))
            worker.kill()


def _says_ready(pipe: Connection) -> bool:
    try:
        return bool(pipe.recv())
    except EOFError:  # it ended
        return False


def _work(settings: Settings, sock: socket.socket, ready: Connection) -> None:
    """One worker."""
    signal.signal(signal.SIGINT, lambda number, frame: None)  # the supervisor hears it, too

    def tell() -> None:
        ready.send(True)
        ready.close()

    serve(settings, sock, tell)


def _forget_metrics(process: Optional[int]) -> None:
    """Gauges of a process that is no more."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(process)
