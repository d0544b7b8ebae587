"""The routes: they return the lists of the suggester, with the bundle that made them."""

import json
import logging

import pytest

from mtn_serving.commands.export import main as export

SECRET = "harmless text that nobody may read in a log"


def shown(answer):
    return [(each["text"], each["source"]) for each in answer.json()["suggestions"]]


def as_shown(suggestions):
    return [(each.text, each.source) for each in suggestions]


# --- lists ---------------------------------------------------------------------------------------


def test_suggestions_equal_those_of_the_suggester(client_of, expected):
    client = client_of()
    answer = client.post("/v1/suggest", json={"session": ["rome", "Paris"], "n": 3})
    assert answer.status_code == 200
    assert shown(answer) == as_shown(expected.suggest(["rome", "Paris"], 3)) != []
    found = answer.json()
    assert found["degraded"] is False and found["reason"] is None
    assert found["bundle"]["name"] == "champion" and len(found["bundle"]["version"]) == 12
    assert found["query_id"].startswith(f"champion.{found['bundle']['version']}.")
    assert 0 < found["milliseconds"] < 5000


def test_histories_are_used(client_of, expected):
    request = {"session": ["paris"], "history": [["rome", "lisbon"], ["paris", "lisbon"]]}
    found = shown(client_of().post("/v1/suggest", json=request))
    assert ("lisbon", "history") in found
    assert found == as_shown(expected.suggest(["paris"], 10, request["history"]))


def test_suggestions_by_get(client_of, expected):
    client = client_of()
    answer = client.get("/v1/suggest", params={"q": ["rome", "paris"], "n": 2})
    assert shown(answer) == as_shown(expected.suggest(["rome", "paris"], 2))


def test_completions(client_of, expected):
    client = client_of()
    answer = client.post("/v1/complete", json={"session": ["rome"], "prefix": "paris h", "n": 3})
    assert shown(answer) == as_shown(expected.complete(["rome"], "paris h", 3))
    assert shown(answer)[0][0] == "paris hotels"
    assert client.post("/v1/complete", json={"prefix": "par"}).json()["suggestions"]


def test_only_what_is_in_the_list_is_explained(client_of):
    """Asked by somebody (`rome weather`, `paris`), by nobody, or not to be shown: one answer."""
    client = client_of()

    def explained(text, session=("paris",)):
        request = {"session": session, "suggestion": text}
        return client.post("/v1/explain", json=request).json()["explanation"]

    for each in client.post("/v1/suggest", json={"session": ["paris"]}).json()["suggestions"]:
        assert explained(each["query"])["place"] is not None
    assert explained("paris hotels")["counts"]["asked"] == 2
    told = {"text", "query", "missing"}
    for text in ("rome weather", "paris", "unheard of", "paris weather", "Bob@Example.com"):
        found = explained(text)
        assert {name for name, each in found.items() if each not in (None, [])} == told
        assert found["text"] == found["query"] == text.lower()
        assert found["missing"] == "the display rules"


def test_many_sessions_at_once(client_of, expected):
    client = client_of(seconds=0)
    sessions = [["paris"], ["rome"], ["never asked"]] * 10
    requests = [{"session": session, "n": 1 + place % 3} for place, session in enumerate(sessions)]
    answers = client.post("/v1/suggest/batch", json={"requests": requests}).json()["answers"]
    for request, answer in zip(requests, answers):
        texts = [each["text"] for each in answer["suggestions"]]
        assert texts == [each.text for each in expected.suggest(request["session"], request["n"])]
    scripted = client.app.state.service.bundles.choose(None).suggester
    assert max(scripted.batches) > 1
    too_many = {"requests": [{"session": ["paris"]}] * 65}
    assert client.post("/v1/suggest/batch", json=too_many).status_code == 422


def test_what_has_no_word_is_no_query(client_of, expected):
    """Answered as in Python; an explanation says which queries were read."""
    client = client_of()
    assert shown(client.post("/v1/suggest", json={"session": [" "]})) == []
    assert expected.suggest([" "]) == []
    assert client.post("/v1/suggest", json={"session": []}).status_code == 422
    request = {"session": ["rome", " ", "paris"], "suggestion": "paris hotels"}
    found = client.post("/v1/explain", json=request).json()
    assert found["read"] == [0, 2]
    assert [each["query"] for each in found["explanation"]["queries"]] == ["rome", "paris"]


def test_numbers_must_be_json_numbers(client_of):
    """Not `true`, which is a number in Python, and not text; URL parameters are always text."""
    client = client_of()
    for wrong in (True, "3", [3], {"a": 3}):
        for name in ("n", "deadline_ms"):
            request = {"session": ["paris"], name: wrong}
            assert client.post("/v1/suggest", json=request).status_code == 422
    assert client.get("/v1/suggest", params={"q": "paris", "n": "1"}).status_code == 200
    assert client.get("/v1/suggest", params={"q": "paris", "n": "true"}).status_code == 422


def test_samples_of_the_bundle(client_of, counts, tmp_path):
    assert client_of().get("/v1/samples").json()["samples"] == []
    (tmp_path / "samples").write_text("paris <session> Rome <q> paris\nparis metro\n")
    flags = f"--counts {counts} --samples {tmp_path}/samples --output {tmp_path}/bundle"
    export(flags.split())
    whole = {"session": ["paris metro"], "history": []}
    given = {"session": ["rome", "paris"], "history": [["paris"]]}
    answer = client_of(bundle=tmp_path / "bundle").get("/v1/samples").json()
    assert answer["samples"] == [given, whole] and answer["bundle"]["name"] == "champion"
    (tmp_path / "blocked").write_text("rome\n")
    stricter = client_of(bundle=tmp_path / "bundle", block_list=tmp_path / "blocked")
    assert stricter.get("/v1/samples").json()["samples"] == [whole]
    keyed = client_of(bundle=tmp_path / "bundle", api_key="right")
    assert keyed.get("/v1/samples").status_code == 401


def test_a_session_without_a_query_has_no_suggestions(client_of):
    for session in (["", "  "], ["\x00"]):
        answer = client_of().post("/v1/suggest", json={"session": session})
        assert answer.status_code == 200 and answer.json()["suggestions"] == []


def test_equal_requests_are_answered_from_the_cache(client_of):
    client = client_of(seconds=0)
    scripted = client.app.state.service.bundles.choose(None).suggester
    request = {"session": ["paris"]}
    answers = [client.post("/v1/suggest", json=request) for _ in range(3)]
    assert len({str(shown(answer)) for answer in answers}) == 1
    assert len({answer.json()["query_id"] for answer in answers}) == 3
    assert scripted.batches == [1]
    for other in ({"n": 2}, {"history": [["rome"]]}, {"history": [["rome"]]}):
        client.post("/v1/suggest", json={**request, **other})
    client.post("/v1/complete", json={**request, "prefix": ""})
    assert scripted.batches == [1] * 5  # requests with a history are never cached


def test_the_cache_is_bounded(client_of):
    client = client_of(seconds=0, cached=2)
    scripted = client.app.state.service.bundles.choose(None).suggester
    for query in ("a", "b", "a", "c", "a", "b"):  # `c` evicts `b`
        client.post("/v1/suggest", json={"session": [query]})
    assert len(scripted.batches) == 4
    client = client_of(seconds=0, cached=0)
    client.post("/v1/suggest", json={"session": ["a"]})
    client.post("/v1/suggest", json={"session": ["a"]})
    assert client.app.state.service.bundles.choose(None).suggester.batches == [1, 1]


# --- two bundles ---------------------------------------------------------------------------------


def test_every_answer_names_its_bundle(client_of, counts):
    client = client_of(challenger=counts, share=0.5)
    arms = set()
    for number in range(20):
        request = {"session": ["paris"], "session_id": f"session {number}"}
        names = {
            client.post(route, json={**request, **more}).json()["bundle"]["name"]
            for route, more in (("/v1/suggest", {}), ("/v1/complete", {"prefix": "p"})) * 2
        }
        assert len(names) == 1  # stable for a session
        arms |= names
    assert arms == {"champion", "challenger"}
    assert client.post("/v1/suggest", json={"session": ["paris"]}).json()["bundle"]["name"] == (
        "champion"
    )
    for arm in arms:
        request = {"session": ["paris"], "session_id": "any", "bundle": arm}
        answer = client.post("/v1/suggest", json=request).json()
        assert answer["bundle"]["name"] == arm and answer["query_id"].startswith(f"{arm}.")


def test_a_bundle_that_is_not_served(client_of):
    answer = client_of().post("/v1/suggest", json={"session": ["a"], "bundle": "challenger"})
    assert answer.status_code == 422
    assert "no challenger is served" in answer.json()["detail"][0]["msg"]


# --- browsers ------------------------------------------------------------------------------------


def test_the_format_of_browsers(client_of):
    client = client_of()
    answer = client.get("/opensearch", params={"q": "paris h"})
    typed, found = answer.json()
    assert typed == "paris h" and found[0] == "paris hotels"
    assert answer.headers["content-type"].startswith("application/x-suggestions+json")
    description = client.get("/opensearch.xml")
    assert description.headers["content-type"].startswith("application/opensearchdescription+xml")
    assert 'template="http://testserver/opensearch?q={searchTerms}"' in description.text
    assert 'template="http://testserver/?q={searchTerms}"' in description.text
    search = "https://example.org/?a=1&q={searchTerms}"
    description = client_of(search_url=search).get("/opensearch.xml")
    assert 'template="https://example.org/?a=1&amp;q={searchTerms}"' in description.text


def test_pages_are_strict(client_of):
    client = client_of()
    for path in ("/", "/docs", "/openapi.json", "/v1/suggest?q=paris", "/nowhere"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_the_api_page_has_every_route_and_no_script(client_of):
    client = client_of()
    page = client.get("/docs").text
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for facts in methods.values():
            assert facts["description"], path
            assert "503" in facts["responses"] or path in ("/metrics", "/admin/reload")
    for path in client.get("/openapi.json").json()["paths"]:
        assert f" {path}</code>" in page
    assert "<script" not in page and "http" not in page.replace("https://", "")
    assert "deadline_ms" in page


def test_only_listed_sites_may_send_requests(client_of):
    headers = {"Origin": "https://shop.example"}
    preflight = {**headers, "Access-Control-Request-Method": "POST"}
    listed = client_of(origins=("https://shop.example",))
    answer = listed.options("/v1/suggest", headers=preflight)
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"
    assert "POST" in answer.headers["access-control-allow-methods"]
    answer = listed.post("/v1/suggest", json={"session": ["paris"]}, headers=headers)
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"
    answer = client_of().post("/v1/suggest", json={"session": ["paris"]}, headers=headers)
    assert "access-control-allow-origin" not in answer.headers


# --- access --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 401),
        ({"X-API-Key": "wrong"}, 401),
        ({"X-API-Key": "schlüssel".encode()}, 401),
        ({"Authorization": "Basic right"}, 401),
        ({"Authorization": "Bearer right"}, 200),
        ({"X-API-Key": "right"}, 200),
    ],
)
def test_the_api_key(client_of, headers, status):
    client = client_of(api_key="right")
    for path in ("/v1/suggest?q=paris", "/opensearch?q=p"):
        assert client.get(path, headers=headers).status_code == status
    reload = client.post("/admin/reload", headers=headers)
    assert reload.status_code == (200 if status == 200 else 403)
    for path in ("/healthz", "/readyz", "/"):
        assert client.get(path, headers=headers).status_code == 200


def test_admin_routes_without_a_key_are_for_programs_on_this_machine(client_of):
    client = client_of()
    assert client.post("/admin/reload").status_code == 200
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "Origin"):
        assert client.post("/admin/reload", headers={header: "127.0.0.1"}).status_code == 403
    client._transport.client = ("192.0.2.1", 50000)
    assert client.post("/admin/reload").status_code == 403


# --- operation -----------------------------------------------------------------------------------


def test_probes(client_of, monkeypatch):
    client = client_of()
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json()["status"] == "ready"
    service = client.app.state.service
    monkeypatch.setattr(service.answering.suggest_lane, "busy_for", lambda: 61.0)
    assert client.get("/healthz").status_code == 503
    service.ending = True
    assert client.get("/readyz").status_code == 503


def test_metrics(client_of, counts):
    client = client_of(challenger=counts)
    client.post("/v1/suggest", json={"session": ["paris"]})
    client.post("/v1/suggest", json={"session": ["paris"]})
    client.post("/v1/suggest", json={"session": 1})
    text = client.get("/metrics").text
    version = client.get("/readyz").json()["bundles"][0]["version"]
    for line in (
        'mtn_requests_total{route="/v1/suggest",status="200"} 2.0',
        'mtn_requests_total{route="/v1/suggest",status="422"} 1.0',
        'mtn_cache_total{result="hit"} 1.0',
        'mtn_cache_total{result="miss"} 1.0',
        'mtn_queue_length{lane="suggest"} 0.0',
        'mtn_batch_size_count{lane="suggest"} 1.0',
        'mtn_stage_seconds_count{lane="suggest",stage="batch"} 1.0',
        'mtn_stage_seconds_count{lane="suggest",stage="queue"} 1.0',
        f'mtn_bundle_info{{name="challenger",version="{version}"}} 1.0',
    ):
        assert f"\n{line}\n" in text


def test_no_text_of_users_in_logs_and_metrics(client_of, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    client = client_of(seconds=0)
    for session in ([SECRET], [SECRET, "fail"]):  # the error message quotes it
        client.post("/v1/suggest", json={"session": session, "history": [[SECRET]]})
        client.get("/v1/suggest", params={"q": session})
    client.post("/v1/complete", json={"session": [SECRET], "prefix": SECRET})
    client.post("/v1/suggest", content=json.dumps({"session": SECRET}))
    client.get(f"/{SECRET}")
    client.get("/opensearch", params={"q": SECRET})
    written = "".join(capfd.readouterr()) + client.get("/metrics").text
    ours = [each for each in caplog.records if not each.name.startswith(("httpx", "httpcore"))]
    written += "".join(map(caplog.handler.format, ours))
    assert "RuntimeError" in written
    assert "harmless" not in written and "text of the query" not in written
