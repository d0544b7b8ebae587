"""Processes of `forking_server.py`, with the interface of `subprocess`."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path

SERVER = Path(__file__).with_name("forking_server.py")


def start(words, streams, folder, environment, cpu_seconds):
    """Start a process.

    Args:
        words: the arguments of `python`: a file and its arguments, or `-m` and a module
        streams: open files for standard input, output and error
        cpu_seconds: limit of processor time; the process is killed when it exceeds it
    """
    request = json.dumps(
        {
            "words": [str(word) for word in words],
            "folder": str(folder),
            "environment": environment,
            "cpu_seconds": cpu_seconds,
        }
    ).encode()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(server(environment["PYTHONPATH"]))
    connection.sendall(len(request).to_bytes(8, "big"))
    socket.send_fds(connection, [b"-"], [stream.fileno() for stream in streams])
    connection.sendall(request)
    return Forked(connection)


class Forked:
    """As `subprocess.Popen`."""

    def __init__(self, connection):
        self.connection = connection
        self.pid = self._number()
        self.returncode = None

    def _number(self):
        answer = self.connection.recv(8, socket.MSG_WAITALL)
        assert len(answer) == 8, "the server of forked commands has ended"
        return int.from_bytes(answer, "big")

    def wait(self, timeout=None):
        if self.returncode is None:
            self.connection.settimeout(timeout)
            try:
                self.returncode = os.waitstatus_to_exitcode(self._number())
            except socket.timeout:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout) from None
            self.connection.close()
        return self.returncode

    def kill(self):
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


@lru_cache(maxsize=None)
def server(python_path):
    """The socket of a server that runs as long as this process."""
    path = str(Path(tempfile.mkdtemp()) / "socket")
    environment = {**os.environ, "PYTHONPATH": python_path, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, str(SERVER), path], stdin=subprocess.PIPE, env=environment
    )
    while not os.path.exists(path):
        assert process.poll() is None, "the server of forked commands did not start"
        time.sleep(0.01)
    _servers.append(process)
    return path


_servers = []  # kept, because a server ends when its pipe is closed
