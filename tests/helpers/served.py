"""`mtn-serve` as a real process, and a client that detects every broken answer."""

import http.client
import json
import re
import signal
import sys
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

from processes import PATIENCE, start_anew

from mtn_preprocess.text.session_pairs import Pair
from mtn_serving.counting import count_next_queries

SERVE = f"{sys.executable} -m mtn_serving.commands.serve"


def save_table(folder, next_query="paris hotels"):
    """A table in which `paris` has one next query."""
    count_next_queries([Pair("paris", next_query)]).save(folder)


class Server:
    """A running server.

    Args:
        process: the command
        log: the file with its output
    """

    def __init__(self, process, log):
        self.process, self.log = process, log
        address = _wait(lambda: re.search(r"ready at (\S+)", self.said()), self._is_running)
        self.address = address.group(1)
        self.host, self.port = urlsplit(self.address).hostname, urlsplit(self.address).port

    def said(self):
        return self.log.read_text(encoding="utf-8")

    def _is_running(self):
        assert self.process.poll() is None, self.said()
        return True

    def connect(self, timeout=30):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(self, path, body=None, connection=None, **headers):
        """(status, answer as JSON or text)."""
        found = connection or self.connect()
        content = None if body is None else json.dumps(body)
        sent = {"Content-Type": "application/json", **headers}
        found.request("GET" if body is None else "POST", path, content, sent)
        response = found.getresponse()
        text = response.read().decode("utf-8")
        if connection is None:
            found.close()
        is_json = response.headers["Content-Type"].startswith("application/json")
        return response.status, json.loads(text) if is_json else text

    def suggest(self, *session, connection=None, **more):
        return self.ask("/v1/suggest", {"session": list(session), **more}, connection)

    def wait_until(self, condition):
        return _wait(condition, self._is_running)

    def end(self, number=signal.SIGTERM):
        """Send a signal; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)


def _wait(condition, goes_on):
    until = time.monotonic() + 120
    while time.monotonic() < until and goes_on():
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("waited for too long")


@contextmanager
def served(folder, flags, command=SERVE, **variables):
    """A server on a free port; it ends with the block at the latest."""
    log = folder / "serve.log"
    process = start_anew(f"{command} {flags} --port 0", log, **variables)
    try:
        yield Server(process, log)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(timeout=60)
        finally:
            process.kill()
