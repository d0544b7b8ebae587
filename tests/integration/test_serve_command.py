"""`mtn-serve` as a real process: signals, reloading, workers, bad bundles, bad clients."""

import asyncio
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from processes import run
from served import SERVE, save_table, served

from mtn_serving.service.workers import bind

SECRET = "harmlesssecret"


@pytest.fixture
def table(tmp_path):
    save_table(tmp_path / "table")
    return tmp_path / "table"


def first_of(answer):
    status, found = answer
    assert status == 200, found
    return found["suggestions"][0]["text"]


def test_a_service_from_start_to_end(tmp_path, table):
    with served(tmp_path, f"{table}") as server:
        assert server.ask("/healthz") == (200, {"status": "ok"})
        assert first_of(server.suggest("paris")) == "paris hotels"
        status, page = server.ask("/")
        assert status == 200 and "<!doctype html>" in page.lower()
        server.ask(f"/v1/suggest?q={SECRET}")
        server.ask(f"/opensearch?q={SECRET}")
        server.ask(f"/{SECRET}")
        server.suggest(SECRET, history=[[SECRET]])
        assert SECRET not in server.ask("/metrics")[1]
        assert server.end() == 0
        assert SECRET not in server.said() and server.said().count("\n") == 1


def test_answers_are_sent_at_once():
    """Not 40 ms later, when the client has acknowledged the first half: connections say so."""
    with bind("127.0.0.1", 0) as sock:
        delays = []

        async def accepted(reader, writer):
            accepted = writer.get_extra_info("socket")
            delays.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async def scenario():
            server = await asyncio.start_server(accepted, sock=sock)
            reader, writer = await asyncio.open_connection(*sock.getsockname())
            await reader.read()
            writer.close()
            server.close()

        asyncio.run(scenario())
        assert delays == [1]


def test_ctrl_c(tmp_path, table):
    with served(tmp_path, f"{table}") as server:
        assert server.end(signal.SIGINT) == -signal.SIGINT
        assert "Traceback" not in server.said()


@pytest.mark.parametrize("workers", [1, 2])
def test_bad_bundles_at_start(tmp_path, table, workers):
    letters = table / "queries_letters.npy"
    letters.write_bytes(letters.read_bytes()[:-1] + b"\xff")
    flags = f"--port 0 --workers {workers}"
    done = run(f"{SERVE} {table} {flags}", status=1)
    assert done.stderr.splitlines() == [
        f"{letters}: damaged (its checksum is another); run mtn-count-next again"
    ]
    if workers == 1:
        done = run(f"{SERVE} {tmp_path} {flags}", status=1)
        assert done.stderr.splitlines() == [
            f"{tmp_path}: no bundle: it has no manifest.json; give a folder that mtn-export wrote"
        ]


@pytest.mark.parametrize("change", ["cut off", "other content"])
def test_files_that_are_changed_in_place(tmp_path, table, change):
    """Reading behind the end of a mapped file would end the process: nothing is read from it."""
    with served(tmp_path, f"{table} --cache 0") as server:
        assert first_of(server.suggest("paris")) == "paris hotels"
        letters = table / "queries_letters.npy"
        content = letters.read_bytes()
        with open(letters, "r+b") as stream:
            stream.truncate(0)
            if change == "other content":
                stream.write(b"x" * len(content))
        for _ in range(3):
            status, answer = server.suggest("paris")
            assert status == 503 and "changed in place" in answer["detail"]
        explain = {"session": ["paris"], "suggestion": "rome"}
        assert server.ask("/v1/explain", explain)[0] == 503
        status, ready = server.ask("/readyz")
        assert (status, ready["status"]) == (503, "changed")
        assert server.ask("/healthz")[0] == 200
        assert server.ask("/admin/reload", {})[0] == 409 and server.ask("/readyz")[0] == 503
        save_table(table, "paris metro")
        assert server.ask("/admin/reload", {})[0] == 200
        assert first_of(server.suggest("paris")) == "paris metro"
        assert server.ask("/readyz")[0] == 200
        assert server.said().count("changed in place") == 1 and server.end() == 0


def test_a_search_without_its_terms(table):
    done = run(f"{SERVE} {table} --search-url https://shop.example/search", status=1)
    assert done.stderr.splitlines()[-1] == (
        "--search-url https://shop.example/search: no {searchTerms} in it; write it where the "
        "query belongs: https://example.org/search?q={searchTerms}"
    )


def test_unrelated_suggestions_need_a_ranker(tmp_path, table):
    """One note per bundle without one, not per worker; the lists stay as they are."""
    with served(tmp_path, f"{table} --unrelated --workers 2") as server:
        assert first_of(server.suggest("paris")) == "paris hotels"
        note = f"mtn-serve: {table}: it has no ranker, so --unrelated does not change its lists"
        assert server.said().splitlines() == [note, f"mtn-serve: ready at {server.address}"]


def test_a_port_that_is_taken(tmp_path, table):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run(f"{SERVE} {table} --port {taken.getsockname()[1]}", status=1)
    assert "choose another --host or --port" in done.stderr and done.stderr.count("\n") == 1


def test_reload_by_signal_under_load(tmp_path, table):
    """Each answer is complete and of one version; a bad version changes nothing."""
    texts = ["paris hotels", "paris metro"]
    versions, found, stop = {}, [], threading.Event()
    with served(tmp_path, f"{table} --cache 0") as server:

        def ask():
            connection = server.connect()
            while not stop.is_set():
                status, answer = server.suggest("paris", connection=connection)
                text = answer["suggestions"][0]["text"]
                found.append((status, text, answer["bundle"]["version"], answer["degraded"]))

        with ThreadPoolExecutor(4) as threads:
            asking = [threads.submit(ask) for _ in range(4)]
            for turn in range(1, 5):
                save_table(table, texts[turn % 2])
                server.process.send_signal(signal.SIGHUP)
                server.wait_until(lambda turn=turn: server.said().count("reloaded") == turn)
            (table / "header.json").write_text("{}")
            server.process.send_signal(signal.SIGHUP)
            server.wait_until(lambda: "reload refused" in server.said())
            time.sleep(0.2)
            stop.set()
            for each in asking:
                each.result()
        for status, text, version, degraded in found:
            assert status == 200 and not degraded
            assert versions.setdefault(version, text) == text
        assert sorted(versions.values()) == sorted(texts)
        assert first_of(server.suggest("paris")) == "paris hotels"
        assert server.end() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_finishes_what_was_accepted(tmp_path, table, workers):
    """Meanwhile, new connections are refused: they would wait in vain."""
    with served(tmp_path, f"{table} --workers {workers}") as server:
        body = json.dumps({"session": ["paris"]}).encode()
        head = (
            b"POST /v1/suggest HTTP/1.1\r\nHost: service\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body)
        )
        with socket.create_connection((server.host, server.port), timeout=30) as slow:
            slow.sendall(head + body[:5])
            time.sleep(0.3)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((server.host, server.port), timeout=5)
            slow.sendall(body[5:])
            answer = b"".join(iter(lambda: slow.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200") and b"paris hotels" in answer
        assert server.process.wait(timeout=30) == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((server.host, server.port), timeout=5)


def test_sigterm_under_load(tmp_path, table):
    """Every answer that has started is complete; then the server is gone."""
    with served(tmp_path, f"{table} --cache 0") as server:

        def ask():
            answers = 0
            connection = server.connect()
            while True:
                try:
                    status, answer = server.suggest("paris", connection=connection)
                except (ConnectionError, BrokenPipeError):  # before an answer started
                    return answers
                assert status == 200 and first_of((status, answer)) == "paris hotels"
                answers += 1

        with ThreadPoolExecutor(8) as threads:
            asking = [threads.submit(ask) for _ in range(8)]
            time.sleep(1)
            assert server.end() == 0
            assert all(each.result() > 0 for each in asking)
        assert "Traceback" not in server.said()


# --- workers -------------------------------------------------------------------------------------


def test_two_workers(tmp_path, table):
    with served(tmp_path, f"{table} --workers 2 --cache 0") as server:
        supervisor = psutil.Process(server.process.pid)

        def workers():
            return [each for each in supervisor.children() if "spawn_main" in str(each.cmdline())]

        def versions():
            answers = [server.suggest("paris")[1]["bundle"]["version"] for _ in range(40)]
            return set(answers)

        assert len(workers()) == 2 and len(versions()) == 1
        before = versions()
        # One worker loads the new version and notifies the supervisor, which notifies the other.
        save_table(table, "paris metro")
        assert server.ask("/admin/reload", {})[0] == 200
        server.wait_until(lambda: len(versions()) == 1 and versions() != before)
        # Each worker refuses a bad version.
        header = (table / "header.json").read_bytes()
        (table / "header.json").write_text("{}")
        assert server.ask("/admin/reload", {})[0] == 409
        (table / "header.json").write_bytes(header)
        # All figures together.
        line = 'mtn_requests_total{route="/v1/suggest",status="200"} '
        (count,) = [
            float(each.split()[-1])
            for each in server.ask("/metrics")[1].splitlines()
            if each.startswith(line)
        ]
        assert count >= 120
        # A worker that dies is replaced.
        dead = workers()[0]
        dead.kill()
        server.wait_until(lambda: "another starts" in server.said())
        server.wait_until(lambda: len(workers()) == 2)
        assert first_of(server.suggest("paris")) == "paris metro"
        left = workers()
        assert server.end() == 0
        assert not any(each.is_running() for each in left)
        assert "Traceback" not in server.said()


# --- clients -------------------------------------------------------------------------------------


def test_slow_clients_and_those_that_leave(tmp_path, table):
    with served(tmp_path, f"{table} --cache 0") as server:
        head = b"POST /v1/suggest HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\n"
        request = head + b'Content-Length: 22\r\n\r\n{"session": ["paris"]}'
        opened = []
        for number in range(100):
            sock = socket.create_connection((server.host, server.port), timeout=30)
            sock.sendall([head, head + b"Content-Length: 500\r\n\r\n{", request][number % 3])
            opened.append(sock)
            if number % 3 == 2:  # leaves during its answer, with a reset
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
        for _ in range(20):
            started = time.monotonic()
            assert first_of(server.suggest("paris")) == "paris hotels"
            assert time.monotonic() - started < 5
        half = opened[1]
        assert b"408" in half.recv(100)  # after 10 seconds, then the connection is closed
        for sock in opened:
            sock.close()
        server.wait_until(lambda: server.suggest("paris")[0] == 200)
        status, answer = server.ask("/v1/suggest", {"session": ["x" * 300] * 5000})
        assert (status, answer) == (413, {"detail": "more than 262144 bytes"})
        assert server.end() == 0
        assert "Traceback" not in server.said()


def test_many_times_the_maximum_load(tmp_path, table):
    """Answers are lists or 503; memory stays bounded; afterwards the server works as before."""
    flags = f"{table} --cache 0 --max-queue 2 --max-batch 1 --deadline-ms 1000"
    statuses, stop = [], threading.Event()
    with served(tmp_path, flags) as server:
        process = psutil.Process(server.process.pid)

        def ask():
            connection = server.connect()
            while not stop.is_set():
                status, answer = server.suggest(
                    "paris", *map(str, range(40)), connection=connection
                )
                statuses.append(status)
                assert status in (200, 503), answer

        with ThreadPoolExecutor(20) as threads:
            asking = [threads.submit(ask) for _ in range(20)]
            time.sleep(2)
            before = process.memory_info().rss
            time.sleep(3)
            after = process.memory_info().rss
            stop.set()
            for each in asking:
                each.result()
        assert statuses.count(200) > 20 and statuses.count(503) > 20
        assert after - before < 20 * 1024 * 1024
        assert first_of(server.suggest("paris")) == "paris hotels"
        assert server.end() == 0
        assert "Traceback" not in server.said()


# --- events --------------------------------------------------------------------------------------


def test_events_become_training_text_and_rates(tmp_path, table):
    events = tmp_path / "events"
    with served(tmp_path, f"{table} --challenger {table} --events {events}") as server:
        for number in range(40):
            asked = {"session_id": f"s{number}", "client_id": f"c{number}"}
            for query in ("paris", "paris hotels"):
                for end in range(1, len(query)):  # for each typed letter
                    server.ask("/v1/complete", {"prefix": query[:end], "session_id": f"s{number}"})
                search = {"action_name": "search", "message": query, **asked}
                assert server.ask("/v1/events", {"events": [search]})[0] == 200
            _, answer = server.suggest("paris", session_id=f"s{number}")
            told = {"query_id": answer["query_id"], "application": "suggest", **asked}
            chosen = [{"action_name": "click", **told}] if number % 2 else []
            shown = {"action_name": "impression", **told}
            assert server.ask("/v1/events", {"events": [shown, *chosen]})[0] == 200
        assert server.end() == 0
    run(
        f"{sys.executable} -m mtn_preprocess.log_to_sessions '{events}/queries.*.jsonl'"
        " --user-column client_id --query-column user_query --time-column timestamp"
        f" --time-format iso --min-queries 2 --split 100,0,0 --output {tmp_path}/text"
    )
    sessions = (tmp_path / "text/train.session").read_text().splitlines()
    nexts = (tmp_path / "text/train.next").read_text().splitlines()
    assert sessions == ["paris"] * 40 and nexts == ["paris hotels"] * 40
    said = run(f"{sys.executable} -m mtn_serving.commands.events {events}").stdout
    assert "| suggest | champion |" in said and "| suggest | challenger |" in said
    assert "challenger" in said.splitlines()[-1] and "points" in said


def test_a_disk_that_is_full(tmp_path, table):
    """A limit on file size: suggestions continue, and no line is cut off."""
    events = tmp_path / "events"
    limited = f"sh -c 'ulimit -f 4; exec \"$@\"' - {SERVE}"
    search = {"action_name": "search", "client_id": "c", "message": "paris " * 30}
    with served(tmp_path, f"{table} --events {events}", limited) as server:
        statuses = [server.ask("/v1/events", {"events": [search]})[0] for _ in range(40)]
        assert set(statuses) == {200, 503} and statuses.index(503) > 3
        assert first_of(server.suggest("paris")) == "paris hotels"
        assert 'mtn_events_total{result="lost"}' in server.ask("/metrics")[1]
        assert server.end() == 0
        assert "paris" not in server.said()
    (path,) = events.iterdir()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == statuses.count(200) and path.stat().st_size <= 4 * 1024
    assert os.path.basename(path).startswith("queries.")
