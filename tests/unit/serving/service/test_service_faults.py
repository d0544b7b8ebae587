"""Whatever is sent and whatever fails: an answer in time, never 500, never for another request."""

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from mtn_preprocess.text.session_pairs import Pair
from mtn_serving.counting import count_next_queries
from mtn_serving.service import limits
from mtn_serving.service.app import create_app
from mtn_serving.service.settings import Settings
from mtn_serving.suggester import Suggester

MEGABYTE = 1 << 20


def send(client, body, path="/v1/suggest"):
    return client.post(path, content=body, headers={"Content-Type": "application/json"})


# --- bad requests --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"session": ["paris"]',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"session": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"session": ["paris"], "n": ' + b"9" * 10_000 + b"}",
        b'{"session": ["paris"], "n": NaN}',
        b'{"session": ["paris"], "n": 1e999}',
        b'{"session": ["\\ud800"]}',
        b"null",
        b'"paris"',
    ],
    ids=lambda body: body[:20].decode("latin-1"),
)
def test_invalid_bodies(client_of, body):
    client = client_of()
    for path in ("/v1/suggest", "/v1/complete", "/v1/suggest/batch", "/v1/explain"):
        answer = send(client, body, path)
        assert answer.status_code in (400, 422)
        assert "detail" in answer.json() and len(answer.content) < 10_000


def test_a_body_that_does_not_say_it_is_json(client_of):
    client = client_of()
    body, said = b'{"session": ["paris"]}', "; send Content-Type: application/json"
    for headers in ({}, {"Content-Type": "application/x-www-form-urlencoded"}):
        answer = client.post("/v1/suggest", content=body, headers=headers)
        assert answer.status_code == 422 and answer.json()["detail"][0]["msg"].endswith(said)
    for kind in ("application/json", "Application/JSON; charset=utf-8"):
        headers = {"Content-Type": kind}
        assert client.post("/v1/suggest", content=body, headers=headers).status_code == 200
        assert said not in client.post("/v1/suggest", content=b"[]", headers=headers).text


@pytest.mark.parametrize(
    "request_, field",
    [
        ({}, "session"),
        ({"session": []}, "session"),
        ({"session": "paris"}, "session"),
        ({"session": [1]}, "session"),
        ({"session": [None]}, "session"),
        ({"session": [["paris"]]}, "session"),
        ({"session": {"0": "paris"}}, "session"),
        ({"session": ["paris"], "n": 0}, "n"),
        ({"session": ["paris"], "n": 51}, "n"),
        ({"session": ["paris"], "n": 1.5}, "n"),
        ({"session": ["paris"], "n": "many"}, "n"),
        ({"session": ["paris"], "history": ["rome"]}, "history"),
        ({"session": ["paris"], "history": [["rome"]] * 201}, "history"),
        ({"session": ["paris"], "deadline_ms": 0}, "deadline_ms"),
        ({"session": ["paris"], "bundle": "best"}, "bundle"),
        ({"session": ["paris"], "session_id": "x" * 101}, "session_id"),
        ({"session": ["paris"], "sesion_id": "x"}, "sesion_id"),
        ({"session": ["x" * 501]}, "session"),
        ({"session": ["x"] * 51}, "session"),
        ({"session": ["x"] * 10_000}, "session"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_types_and_numbers(client_of, request_, field):
    answer = client_of().post("/v1/suggest", json=request_)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][:2] == ["body", field]
    assert len(answer.content) < 10_000  # the request is not sent back


def test_long_bodies_are_refused(client_of):
    client = client_of(max_body=1000)
    assert client.post("/v1/suggest", json={"session": ["x" * 100]}).status_code == 200
    assert send(client, b"x" * 10 * MEGABYTE).status_code == 413
    pieces = []

    def stream():
        for _ in range(10 * MEGABYTE // 1000):
            pieces.append(1)
            yield b"x" * 1000

    assert client.post("/v1/suggest", content=stream()).status_code == 413
    assert send(client, b"", "/healthz").status_code == 405


def test_slow_bodies_are_refused():
    """The service does not wait for the rest of the body, and closes the connection."""
    sent = []

    async def scenario():
        async def app(scope, receive, send):
            raise AssertionError("was called")

        async def receive():
            await asyncio.sleep(0.02)
            return {"type": "http.request", "body": b"x", "more_body": True}

        async def send(message):
            sent.append(message)

        bounded = limits.BoundedBodies(app, 1000, seconds=0.1)
        await bounded({"type": "http", "headers": []}, receive, send)

    asyncio.run(scenario())
    assert sent[0]["status"] == 408 and (b"connection", b"close") in sent[0]["headers"]


@pytest.mark.parametrize("length", [b"-1", b"many", b"9" * 30, b"\xb2"])
def test_odd_content_lengths(length):
    """Servers refuse most of them before the application sees them."""
    sent = []

    async def scenario():
        async def app(scope, receive, send):
            await receive()
            sent.append("called")

        async def receive():
            return {"type": "http.request", "body": b"x"}

        async def send(message):
            sent.append(message.get("status"))

        bounded = limits.BoundedBodies(app, 1000, 1)
        await bounded({"type": "http", "headers": [(b"content-length", length)]}, receive, send)

    asyncio.run(scenario())
    assert sent[0] in ("called", 413)


SYMBOLS = ["<q>", "<session>", "<Session>", "<s>", "<pad>", "</s>", "<unk>", "madeupword0000"]
ODD = [*map(chr, range(0x20)), "\x7f", "\u2028", "\ufeff", "\u202e", "▁", "\\", "🙂", "\ufffe"]


@pytest.mark.parametrize("text", [*SYMBOLS, *ODD, "<level4>", "<q> <q>", " <session> "], ids=repr)
def test_symbols_and_control_characters_are_text(client_of, text):
    client = client_of()
    typed = [text, f"paris{text}hotels", f"a {text} b", "paris"]
    for request in (
        {"session": typed},
        {"session": [text]},
        {"session": ["a"], "history": [typed]},
    ):
        answer = client.post("/v1/suggest", json=request)
        assert answer.status_code == 200 and not answer.json()["degraded"]
    for prefix in (text, f"paris {text}"):
        answer = client.post("/v1/complete", json={"session": typed, "prefix": prefix})
        assert answer.status_code == 200 and not answer.json()["degraded"]
        assert client.get("/opensearch", params={"q": prefix}).status_code == 200


def test_unknown_routes(client_of):
    client = client_of()
    for path in ("/nothing", "/v1", "/v1/suggest/", "/../etc/passwd", "/%2e%2e/%2e%2e/setup.py"):
        assert client.get(path, follow_redirects=False).status_code in (404, 405)
    assert client.put("/v1/suggest").status_code == 405


# --- failures ------------------------------------------------------------------------------------


def test_if_the_model_is_slow_counts_answer_in_time(client_of, expected):
    client = client_of(seconds=1.0, deadline=0.2)
    started = time.monotonic()
    answer = client.post("/v1/suggest", json={"session": ["paris"]})
    assert time.monotonic() - started < 0.6
    found = answer.json()
    assert found["degraded"] is True and found["reason"] == "deadline"
    assert [each["text"] for each in found["suggestions"]] == [
        each.text for each in expected.suggest(["paris"])
    ]
    answer = client.post("/v1/complete", json={"prefix": "paris h", "deadline_ms": 50}).json()
    assert answer["reason"] == "deadline" and answer["suggestions"][0]["text"] == "paris hotels"
    patient = client.post("/v1/suggest", json={"session": ["paris"], "deadline_ms": 9000}).json()
    assert patient["degraded"] is False  # and the list from counts was not cached
    assert 'mtn_fallbacks_total{reason="deadline"} 2.0' in client.get("/metrics").text


def test_if_the_model_fails_counts_answer(client_of):
    client = client_of(seconds=0)
    answer = client.post("/v1/suggest", json={"session": ["fail", "paris"]})
    assert answer.status_code == 200 and answer.json()["reason"] == "error"
    assert answer.json()["suggestions"]
    requests = [{"session": session} for session in (["paris"], ["fail", "paris"], ["rome"])]
    answers = client.post("/v1/suggest/batch", json={"requests": requests}).json()["answers"]
    assert [answer["degraded"] for answer in answers] == [False, True, False]
    assert 'mtn_errors_total{type="RuntimeError"} 2.0' in client.get("/metrics").text


def test_a_bundle_without_counts_gives_an_empty_list_in_time(client_of):
    client = client_of(seconds=1.0, deadline=0.1)
    service = client.app.state.service
    (served,) = service.bundles.served.values()
    service.bundles.served["champion"] = served._replace(counts=None)
    answer = client.post("/v1/suggest", json={"session": ["paris"]}).json()
    assert answer["degraded"] is True and answer["suggestions"] == []


def test_a_route_that_fails_is_answered_503(client_of, monkeypatch):
    client = client_of()

    def choose(self, *arguments):
        raise RuntimeError("a defect")

    monkeypatch.setattr("mtn_serving.service.bundles.Bundles.choose", choose)
    answer = client.post("/v1/suggest", json={"session": ["paris"]})
    assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
    assert "defect" not in answer.text


def test_a_full_queue_is_reported_at_once(client_of):
    client = client_of(seconds=0.5, max_queue=2, max_batch=1, deadline=5.0)
    with ThreadPoolExecutor(12) as threads:

        def ask(number):
            started = time.monotonic()
            answer = client.post("/v1/suggest", json={"session": [f"paris {number}"]})
            return answer, time.monotonic() - started

        answers = list(threads.map(ask, range(12)))
    refused = [(answer, took) for answer, took in answers if answer.status_code == 503]
    assert 12 - len(refused) in (2, 3)  # 1 running; the first may end before the last arrives
    for answer, took in refused:
        assert answer.headers["retry-after"] == "1" and took < 0.4
    assert 'mtn_refused_total{reason="Full"}' in client.get("/metrics").text
    batch = {"requests": [{"session": [f"{n}"]} for n in range(3)]}
    assert client.post("/v1/suggest/batch", json=batch).status_code == 503


# --- no mixed-up answers -------------------------------------------------------------------------


def test_thousands_of_interleaved_requests_each_get_their_own_answer(tmp_path):
    """Mixed sessions, histories, prefixes and bundles; each list identifies its request."""
    people, rng = 300, random.Random(1)
    suggesters = {}
    for arm in ("champion", "challenger"):
        pairs = [Pair(f"word{n}", f"{arm}{n} next{n}") for n in range(people)]
        count_next_queries(pairs).save(tmp_path / arm)
        suggesters[arm] = Suggester.load(counts=tmp_path / arm)

    def request_with_answer():
        n, arm = rng.randrange(people), rng.choice(list(suggesters))
        session = [f"word{rng.randrange(people)}", f"word{n}"]
        history = [[f"own{n}"]] if rng.random() < 0.5 else None
        body = {"session": session, "history": history, "bundle": arm, "n": 5}
        if rng.random() < 0.5:
            return "suggest", body, suggesters[arm].suggest(session, 5, history)
        body["prefix"] = f"{arm}{n}"
        return "complete", body, suggesters[arm].complete(session, body["prefix"], 5, history)

    settings = Settings(
        tmp_path / "champion", tmp_path / "challenger", max_queue=10_000, cached=50, deadline=60.0
    )
    transport = httpx2.ASGITransport(create_app(settings))

    async def ask_all(asked):
        async with httpx2.AsyncClient(transport=transport, base_url="http://service") as client:
            at_once = asyncio.Semaphore(64)

            async def is_right(route, body, right):
                async with at_once:
                    answer = (await client.post(f"/v1/{route}", json=body)).json()
                found = [tuple(each.values()) for each in answer["suggestions"]]
                return (
                    found == list(map(tuple, right))
                    and answer["bundle"]["name"] == (body["bundle"])
                )

            return await asyncio.gather(*(is_right(*each) for each in asked))

    asked = [request_with_answer() for _ in range(400)]
    assert len({str(right) for _, _, right in asked}) > 200
    asked *= 5
    rng.shuffle(asked)
    assert all(asyncio.run(ask_all(asked)))
