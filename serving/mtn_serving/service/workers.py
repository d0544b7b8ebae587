"""The processes of a service: one, or several workers that share a socket.

The other workers start only after the first one has loaded the bundle. A worker that dies is
restarted. On SIGTERM, all workers finish their accepted requests and exit; on SIGHUP, all reload
the bundle.
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

GRACE_SECONDS = 30  # to finish accepted requests
_RESTART_SECONDS = 1.0
_WATCH_SECONDS = 0.1  # how often a supervisor looks after its workers and at its signals
_BACKLOG = 1024


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; connections wait until a worker accepts them."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only if the protocol is given; otherwise bodies are sent
    # 40 ms late, after the client acknowledged the headers.
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
    """Serve in this process until a signal ends it.

    Args:
        ready: called when the service answers requests
    """
    import uvicorn  # lazy import: keeps a supervisor small

    from .app import create_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready()

    signal.signal(signal.SIGTERM, _end)  # uvicorn raises it again after the last answer
    logging.basicConfig(format="mtn-serve: %(message)s", stream=sys.stderr)
    # A line for each session that is cut: any client could fill the log.
    logging.getLogger("mtn_serving.onnx_engine.session_source").setLevel(logging.ERROR)
    config = uvicorn.Config(
        create_app(settings),
        access_log=False,  # it would contain the queries of GET requests
        log_config=None,
        log_level="error",
        proxy_headers=False,  # admin routes need the real address of the client
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
    """Serve in several processes until a signal ends them.

    Args:
        ready: called when all workers answer requests

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
            wait([worker.sentinel for worker in self.workers], timeout=_WATCH_SECONDS)
            self._replace_dead()
        self._end_all()

    def _start(self) -> None:
        """Start a worker, and return when it answers requests."""
        if self.is_ending:
            return
        context = multiprocessing.get_context("spawn")  # a model's threads do not survive a fork
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
        # Otherwise new connections would wait for workers that accept none any more.
        self.sock.close()
        until = time.monotonic() + GRACE_SECONDS + 5
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.join(max(0.0, until - time.monotonic()))
            worker.kill()


def _says_ready(pipe: Connection) -> bool:
    try:
        return bool(pipe.recv())
    except EOFError:  # the worker ended
        return False


def _work(settings: Settings, sock: socket.socket, ready: Connection) -> None:
    """The main function of a worker."""
    signal.signal(signal.SIGINT, lambda number, frame: None)  # the supervisor handles it

    def tell() -> None:
        ready.send(True)
        ready.close()

    serve(settings, sock, tell)


def _forget_metrics(process: Optional[int]) -> None:
    """Remove the gauges of a dead process."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(process)
