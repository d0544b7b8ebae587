"""`mtn-serve` as a real process on small tables of counts."""

import re
import sys
import time
from contextlib import contextmanager

from processes import start_anew

COUNT = f"{sys.executable} -m mtn_serving.commands.count_next"
SERVE = f"{sys.executable} -m mtn_serving.commands.serve"
PAIRS = {
    "paris": ["paris hotels", "paris hotels", "paris flights"],
    "paris <q> paris hotels": ["london hotels", "london hotels", "london"],
    "paris hotels": ["london hotels", "rome hotels"],
    "london": ["london hotels", "london flights", "london flights"],
    "london hotels": ["rome hotels", "paris hotels"],
    "paris flights": ["london flights", "rome flights"],
}
SECONDS = 60  # until it is ready, on a busy machine


def table(folder, pairs):
    """A table of counts. `pairs`: session so far -> next queries, each as often as it was asked."""
    folder.mkdir()
    rows = [(session, query) for session, queries in pairs.items() for query in queries]
    for ending, column in (("session", 0), ("next", 1)):
        lines = "".join(f"{row[column]}\n" for row in rows)
        (folder / f"train.{ending}").write_text(lines, encoding="utf-8")
    counting = start_anew(f"{COUNT} --train {folder}/train --output {folder}/table", folder / "log")
    assert counting.wait(timeout=SECONDS) == 0, (folder / "log").read_text(encoding="utf-8")
    return folder / "table"


@contextmanager
def serving(folder, flags):
    """Its address, while it runs. `folder` is for what it says."""
    said = folder / "serve.log"
    process = start_anew(f"{SERVE} {flags} --port 0", said)
    try:
        yield _address(process, said)
    finally:
        process.terminate()
        process.wait(timeout=SECONDS)


def _address(process, said):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"ready at (\S+)", said.read_text(encoding="utf-8"))
        if found:
            return found.group(1)
        time.sleep(0.05)
    raise AssertionError(f"mtn-serve did not start: {said.read_text(encoding='utf-8')}")
