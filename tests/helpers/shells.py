"""Run lines of a page in bash, as written: the project's and fairseq's commands are forked.

Each command is a small program in a folder of `PATH`, which starts the command by `forking.py`.
Importing torch anew for every command of every page would take minutes.
"""

import os
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import forking
from processes import BIN, CPU_SECONDS, PATIENCE, PYTHONPATH, environment

# What follows `<(…)` in bash is a path in the process of this program, not of the forked one.
PROGRAM = """#!{python} -SE
import json, os, socket, sys
words = [word.replace("/dev/fd/", f"/proc/{{os.getpid()}}/fd/") for word in sys.argv[1:]]
request = json.dumps({{
    "words": [os.path.join({bin!r}, os.path.basename(sys.argv[0])), *words],
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "cpu_seconds": {cpu_seconds},
}}).encode()
connection = socket.socket(socket.AF_UNIX)
connection.connect({server!r})
connection.sendall(len(request).to_bytes(8, "big"))
socket.send_fds(connection, [b"-"], [0, 1, 2])
connection.sendall(request)
connection.recv(8, socket.MSG_WAITALL)
status = connection.recv(8, socket.MSG_WAITALL)
sys.exit(os.waitstatus_to_exitcode(int.from_bytes(status, "big")))
"""


def bash(script, folder):
    """Run a script to its end in a folder; every command must succeed. Returns standard output."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment({"PATH": os.pathsep.join([_commands(), str(BIN), os.environ["PATH"]])}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@lru_cache(maxsize=None)
def _commands():
    """A folder with a program per command."""
    folder = tempfile.mkdtemp()
    text = PROGRAM.format(
        python=sys.executable,
        bin=str(BIN),
        cpu_seconds=CPU_SECONDS,
        server=forking.server(PYTHONPATH),
    )
    for script in (*BIN.glob("mtn-*"), *BIN.glob("fairseq-*")):
        program = Path(folder) / script.name
        program.write_text(text)
        program.chmod(0o755)
    return folder
