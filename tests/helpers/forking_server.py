"""Start the commands of the tests from a process that has imported torch and fairseq.

Importing them takes seconds per test. A command that is forked from here is a process of its own,
with its own arguments, folder, environment, streams, signals and exit code; only the imports are
shared. Tests of the start itself start a new Python (`processes.py`).

    python forking_server.py SOCKET

serves until its standard input is closed, that is, until the process that started it ends. One
request per connection: the arguments, the folder, the environment and three open files. The answer
is the process id, and later the exit code.
"""

import atexit
import gc
import importlib
import json
import logging
import os
import resource
import runpy
import selectors
import signal
import socket
import sys
import threading
import warnings
from pathlib import Path

# Modules that take long to import and have no effect on import. Not mtn_fairseq: the tests must
# show that fairseq finds it by --user-dir.
IMPORTED = ("torch", "fairseq", "fairseq.options", "fairseq.trainer", "fairseq.sequence_generator")
# These set up logging before they import fairseq, which would set it up differently.
LOGGING_FIRST = ("fairseq-interactive", "fairseq-preprocess", "fairseq-train", "fairseq-validate")
IMPORTED_IF_THERE = ("sacrebleu", "sentencepiece", "lightgbm", "matplotlib.pyplot", "torch._dynamo")


def serve(path):
    """Fork for each request; in the forked process, return what to run."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen()
    os.rename(f"{path}.new", path)  # as soon as the path exists, clients can connect
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing waits for the `keep` processes
    signal.signal(signal.SIGINT, signal.default_int_handler)  # `make test &` ignores it
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(0, selectors.EVENT_READ)
    while True:
        if any(key.fileobj == 0 for key, _ in selector.select()):
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            selector.close()
            listener.close()
            return keep(connection)
        connection.close()


def keep(connection):
    """Fork the command and send its exit code; returns only in the command's process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length = int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big")
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.recv(length, socket.MSG_WAITALL))
    process = os.fork()
    if process == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, max(streams) + 1)
        return request
    connection.sendall(process.to_bytes(8, "big"))
    _, status = os.waitpid(process, 0)
    connection.sendall(status.to_bytes(8, "big"))
    os._exit(0)


def run(words, folder, environment, cpu_seconds):
    """Run these words as `python` would, in the process of the command."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if environment.get("PYTHONWARNINGS") == "ignore":
        warnings.simplefilter("ignore")
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()  # otherwise all commands draw the same; `random` reseeds itself
    command, *arguments = words
    if command == "-m":
        module, *arguments = arguments
        sys.argv, sys.path[0] = [module, *arguments], folder
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return
    if Path(command).name in LOGGING_FIRST:
        logging.root.handlers.clear()
        logging.root.setLevel(logging.WARNING)
    sys.argv, sys.path[0] = [command, *arguments], str(Path(command).resolve().parent)
    runpy.run_path(command, run_name="__main__")


def exit_code(command):
    """The exit code that Python would use; prints the errors that Python would print."""
    try:
        command()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def end(code):
    """Exit as Python does, without freeing all imports, which takes longer than most tests."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    for name in IMPORTED:
        importlib.import_module(name)
    for name in IMPORTED_IF_THERE:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    gc.freeze()  # garbage collection in a fork would copy all imports
    request = serve(sys.argv[1])
    end(exit_code(lambda: run(**request)))
