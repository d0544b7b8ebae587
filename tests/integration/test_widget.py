"""The widget on a page of another site, which has a strict policy and conspicuous styles."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browsers import WAIT, chromium, serious_findings
from page_tables import PAIRS, table
from served import served

pytest.importorskip("fastapi", reason="fastapi is not installed")

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A site</title>
<link rel="stylesheet" href="site.css"><script type="module" src="{host}widget.js"></script></head>
<body><main><h1>A site</h1><div class="bar"><form action="/"><label>Search
<input name="q" data-mtn-suggest="{host}" data-mtn-events>
</label></form></div></main></body></html>"""

STYLE = """div, span, b { text-transform: uppercase; float: right; margin: 20px; font-size: 40px }
.bar { height: 3em; overflow: hidden; transform: translateX(5px) }"""


@contextmanager
def site():
    """Another origin; `found.host` is the service that its page uses."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            is_style = self.path == "/site.css"
            body = (STYLE if is_style else PAGE.format(host=server.host)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/css" if is_style else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.send_header(
                "Content-Security-Policy",
                f"default-src 'none'; style-src 'self'; form-action 'self'; img-src 'self';"
                f" script-src {server.host}; connect-src {server.host}",
            )
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def page(folder):
    """One user's tab: the searches of a test are the session of the next."""
    with chromium() as browser, site() as found:
        address = f"http://127.0.0.1:{found.server_port}"
        flags = f"{table(folder / 'counts', PAIRS)} --origin {address} --events {folder}/events"
        with served(folder, flags) as server:
            found.host = server.address
            context = browser.new_context(base_url=address)
            context.set_default_timeout(WAIT)
            page = context.new_page()
            page.wrong = []
            page.on("pageerror", lambda error: page.wrong.append(str(error)))
            page.on("console", lambda said: page.wrong.append(said.text))
            page.goto("/")
            page.wait_for_selector("[role=combobox]")
            yield page
            context.close()


def options(page):
    page.wait_for_selector("[role=option]")
    return page.locator("[role=option]").all_text_contents()


def kept(page):
    return json.loads(page.evaluate("sessionStorage.getItem('mtn-session')"))["queries"]


def events(folder, at_least):
    """The events that the service kept; waits for late ones."""
    end = time.monotonic() + WAIT / 1000
    found = []
    while len(found) < at_least and time.monotonic() < end:
        time.sleep(0.05)
        files = sorted((folder / "events").glob("*.jsonl"))
        found = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return found


def test_a_chosen_completion_is_searched_for(page):
    page.locator("input").press_sequentially("par")
    texts = options(page)
    assert "paris" in texts and all(text.startswith("par") for text in texts)
    assert serious_findings(page) == []
    page.press("input", "ArrowDown")
    chosen = page.locator("[aria-selected=true]").text_content()
    with page.expect_navigation():
        page.press("input", "Enter")
    assert page.url.endswith(f"/?q={chosen.replace(' ', '+')}")
    page.wait_for_selector("[role=combobox]")
    assert kept(page) == [chosen]


def test_typed_text_is_searched_for(page):
    page.fill("input", "london")
    with page.expect_navigation():
        page.press("input", "Enter")
    assert kept(page)[-1] == "london"


def test_an_empty_field_offers_next_queries(page):
    page.wait_for_selector("[role=combobox]")
    page.click("input")
    texts = options(page)
    assert texts[:2] == ["london flights", "london hotels"]
    page.press("input", "Escape")
    assert not page.is_visible("[role=option]")
    page.press("input", "ArrowDown")
    options(page)
    with page.expect_navigation():
        page.locator("[role=option] >> nth=1").click()
    assert kept(page)[-2:] == ["london", "london hotels"]


def test_the_widget_keeps_its_own_style(page):
    """No style of the site applies, and its header does not cut off the list under the field."""
    page.wait_for_selector("[role=combobox]")
    page.click("input")
    options(page)
    style = page.evaluate(
        "(s => [s.textTransform, s.float, s.marginTop, s.fontSize])"
        "(getComputedStyle(document.querySelector('[role=option] .text')))"
    )
    assert style == ["none", "none", "0px", "16px"]
    field, shown = (page.locator(each).bounding_box() for each in ("input", "[role=listbox]"))
    assert shown["y"] >= field["y"] + field["height"]
    assert shown["x"] == pytest.approx(field["x"], abs=1)
    last = page.locator("[role=option]").last
    assert last.evaluate(
        "e => { const b = e.getBoundingClientRect();"
        " return e.contains(document.elementFromPoint(b.x + 5, b.y + 5)); }"
    )
    page.press("input", "Escape")


def test_the_service_received_the_events(page, folder):
    found = events(folder, at_least=8)
    names = [each["action_name"] for each in found]
    assert names.count("search") == 3 and names.count("click") == 2
    assert names.count("impression") >= 4
    assert len({each["session_id"] for each in found}) == 1
    searches = [each for each in found if each["action_name"] == "search"]
    assert {each["client_id"] for each in searches} == {page.evaluate("localStorage['mtn-client']")}
    clicks = [each for each in found if each["action_name"] == "click"]
    assert clicks[-1]["event_attributes"] == {"position": {"ordinal": 2}}
    assert [each["user_query"] for each in found if each["action_name"] == "search"] == kept(page)


def test_without_the_service_the_field_still_works(page):
    page.goto("/")
    page.wait_for_selector("[role=combobox]")
    assert page.wrong == []
    page.route("**/v1/*", lambda route: route.abort())
    page.locator("input").press_sequentially("lon")
    page.wait_for_timeout(300)
    assert not page.is_visible("[role=option]")
    assert "Suggestions: The service cannot be reached." in page.wrong
    with page.expect_navigation():
        page.press("input", "Enter")
    assert page.url.endswith("/?q=lon") and kept(page)[-1] == "lon"
