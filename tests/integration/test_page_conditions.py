"""The page on a phone, in the dark, for axe-core, with two bundles, and when the service is late,
busy, down or wants a key."""

import json

import pytest
from browsers import chromium, opened, serious_findings
from page_actions import (
    last_sent,
    search,
    session,
    suggestions,
    wait_for_lists,
    wait_for_text,
    wait_until,
)
from page_tables import PAIRS, table
from served import served

pytest.importorskip("fastapi", reason="fastapi is not installed")

PHONE = {"width": 360, "height": 740}
WIDE = {"width": 1280, "height": 800}
OTHER_PAIRS = {"paris": ["rome", "rome", "lyon"]}


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a service with two bundles."""
    folder = tmp_path_factory.mktemp("served")
    bundle, other = table(folder / "counts", PAIRS), table(folder / "other", OTHER_PAIRS)
    with served(folder, f"{bundle} --challenger {other}") as server:
        yield server.address


@pytest.fixture
def page(browser, address):
    yield from opened(browser, address)


# --- sight ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme, size", [("light", PHONE), ("dark", WIDE)], ids=["phone", "dark"])
def test_axe_finds_nothing_serious(browser, address, scheme, size):
    """In every state; also, nothing is wider than the screen."""
    for page in opened(browser, address, color_scheme=scheme, viewport=size):
        assert serious_findings(page) == []
        search(page, "paris", "a very-long-word-" + 10 * "that-does-not-break-", "paris")
        page.click(".ask-why >> nth=0")
        page.click("summary")
        page.wait_for_selector(".why dl")
        assert serious_findings(page) == []
        page.locator("#query").press_sequentially("lo")
        page.wait_for_selector("[role=option]")
        page.keyboard.press("ArrowDown")
        assert serious_findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]


def test_light_and_dark(browser, address):
    paper = {}
    for scheme in ("light", "dark"):
        for page in opened(browser, address, color_scheme=scheme):
            paper[scheme] = page.evaluate("getComputedStyle(document.documentElement).background")
    assert paper["light"] != paper["dark"]


def test_the_focus_is_seen_at_every_stop(page):
    """By keyboard alone: each element that Tab reaches looks different with the focus."""
    search(page, "paris", "london")
    page.focus("#query")
    look = "(e => { const s = getComputedStyle(e.closest('.box') ?? e); return s.outline; })"
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        stop = page.evaluate("document.activeElement.textContent.trim()")
        if page.evaluate("document.activeElement === document.body"):
            break
        outline = page.evaluate(f"{look}(document.activeElement)")
        assert "none" not in outline and " 0px" not in outline, stop
        seen.add(stop)
    assert {"Search", "Clear", "↑Move up “london”", "Why? london hotels", "API"} <= seen


def test_two_bundles_stand_side_by_side(page):
    search(page, "paris")
    wait_until(page, "document.querySelectorAll('.list .facts:not(:empty)').length === 2")
    lists = page.locator(".list")
    assert lists.locator("h2").all_text_contents() == [
        "Next queries, champion",
        "Next queries, challenger",
    ]
    assert lists.nth(0).locator(".suggestion").first.text_content() == "paris hotels"
    assert lists.nth(1).locator(".suggestion").all_text_contents() == ["rome", "lyon"]
    boxes = [lists.nth(place).bounding_box() for place in range(2)]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]


def test_a_bundle_without_samples(page):
    wait_until(page, "document.querySelector('.list')")
    page.wait_for_timeout(100)
    assert not page.is_visible("#samples-panel") and page.locator(".sample").count() == 0


# --- scores of a ranker ---------------------------------------------------------------------------


def test_scores_are_bars(page):
    """Of a bundle with a ranker; the one of this test has none."""
    answer = {
        "suggestions": [
            {"text": "a", "score": 0.5, "source": "beam", "rule": "likely", "query": "a"},
            {"text": "b", "score": 0.125, "source": "edits", "rule": "likely", "query": "b"},
            {"text": "c", "score": 0.001, "source": "new", "rule": "likely", "query": "c"},
        ],
        "bundle": {"name": "champion", "version": "1"},
        "degraded": True,
        "reason": "deadline",
        "query_id": "1",
        "milliseconds": 3.21,
    }
    page.route("**/v1/suggest", lambda route: route.fulfill(json=answer))
    search(page, "paris")
    first = page.locator(".list").first
    assert first.locator(".score").all_text_contents() == ["50 %", "13 %", "< 1 %"]
    wide = [bar.bounding_box()["width"] for bar in first.locator(".bar").all()]
    score = first.locator(".score").first.bounding_box()["x"]
    whole = score - first.locator(".bar").first.bounding_box()["x"]  # with the gap between both
    assert wide[0] == pytest.approx(whole / 2, abs=8)  # the score itself, not a share of the best
    assert wide[1] == pytest.approx(wide[0] / 4, abs=1)
    assert wide[2] == pytest.approx(3, abs=0.5)  # seen, however small the score
    assert first.locator(".source").all_text_contents()[2] == "new"
    assert "from counts alone, the model was too slow" in first.locator(".facts").text_content()


def test_why_a_suggestion(page):
    """It also highlights the queries of the session."""
    search(page, "paris", "paris hotels")
    wait_for_text(page, "#shading", "how much each query mattered for “london hotels”")
    first = page.locator(".list").first.locator(".suggestions > li").first
    first.locator("text=Why?").click()
    answer = first.locator(".why dl").inner_text().split("\n")
    assert "people asked it next, place 1" in answer
    assert "2 of 3 times right after “paris › paris hotels”" in answer
    shares = [float(each.rstrip(" %")) for each in page.locator(".share").all_text_contents()]
    assert sum(shares) == 100 and page.locator(".queries .lit").count() > 0
    first.locator("text=Why?").click()
    assert first.locator(".why dl").count() == 0
    page.click("[data-action=remove] >> nth=0")
    wait_until(page, "document.querySelector('#shading').textContent === ''")
    assert page.locator(".queries .lit").count() == 0


def test_shares_stand_beside_their_queries(page):
    """Of lines without a query, as `!!!`, the service says nothing."""
    search(page, "!!!", "paris", "paris hotels")
    wait_for_text(page, "#shading", "how much each query mattered for")
    shares = page.locator(".share").all_text_contents()
    search(page, "!!!", "???")
    page.click("#clear")
    search(page, "paris", "!!!", "paris hotels")
    wait_for_text(page, "#shading", "how much each query mattered for")
    moved = page.locator(".share").all_text_contents()
    assert shares[0] == moved[1] == "0 %"
    assert shares[1:] == [moved[0], moved[2]] and sorted(shares[1:])[1] != "0 %"


# --- more than the service takes ------------------------------------------------------------------


def test_the_newest_queries_of_a_long_session(browser, address):
    asked = "&".join(f"q=paris+{number}" for number in range(1, 61))
    for page in opened(browser, address):
        page.goto(f"/#{asked}")
        page.reload()  # another address behind the # alone loads nothing
        wait_for_text(page, "#cut", "Only the newest 50 queries of a session are used.")
        assert session(page) == [f"paris {number}" for number in range(11, 61)]
        search(page, "paris")
        assert session(page) == [*(f"paris {number}" for number in range(12, 61)), "paris"]
        assert len(last_sent(page, "/v1/suggest")["session"]) == 50
        page.click("[data-action=remove] >> nth=0")
        assert page.text_content("#cut") == ""


def test_a_query_that_is_too_long(page):
    page.evaluate("document.querySelector('#query').value = '😀'.repeat(600)")
    page.press("#query", "Enter")
    wait_for_text(page, "#cut", "A query was cut to 500 characters.")
    assert session(page) == ["😀" * 500]
    wait_until(page, "document.querySelector('.suggestions > li')")
    assert page.locator(".notice:not(:empty)").count() == 0


# --- a service with problems ----------------------------------------------------------------------


def hold(page, path, field, value):
    """Delay the answers to requests with this value; the page cannot cancel them."""
    held = []

    def handle(route):
        holds = json.loads(route.request.post_data)[field] == value
        held.append(route) if holds else route.continue_()

    page.evaluate("fetch = (ask => (url, how) => ask(url, {...how, signal: null}))(fetch)")
    page.route(f"**{path}", handle)
    return held


def test_a_late_answer_says_so_and_never_overwrites_a_newer_one(page):
    held = hold(page, "/v1/suggest", "session", ["paris"])
    page.fill("#query", "paris")
    page.press("#query", "Enter")
    wait_for_text(page, ".notice", "Still waiting for the service")
    search(page, "london")
    newer = suggestions(page)
    assert "london flights" in newer and page.locator(".notice:not(:empty)").count() == 0
    with page.expect_response("**/v1/suggest") as late:
        held[0].continue_()
    late.value.finished()
    page.wait_for_timeout(100)
    assert suggestions(page) == newer


def test_a_late_completion_never_overwrites_a_newer_one(page):
    held = hold(page, "/v1/complete", "prefix", "lon")
    page.fill("#query", "lon")
    while not held:
        page.wait_for_timeout(20)
    page.fill("#query", "rom")
    page.wait_for_selector("[role=option]")
    with page.expect_response("**/v1/complete") as late:
        held[0].continue_()
    late.value.finished()
    page.wait_for_timeout(100)
    texts = page.locator("[role=option] .text").all_text_contents()
    assert texts and all(text.startswith("rom") for text in texts)


def test_a_busy_service_is_asked_again(page):
    busy = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"detail": "full"}}
    page.route("**/v1/suggest", lambda route: route.fulfill(**busy), times=2)
    page.fill("#query", "paris")
    page.press("#query", "Enter")
    wait_for_text(page, ".notice", "The service is busy. Trying again in 1 s.")
    wait_for_lists(page)
    assert "paris hotels" in suggestions(page)
    assert page.locator(".notice:not(:empty)").count() == 0


def test_a_service_that_is_down(page):
    for path in ("suggest", "complete"):
        page.route(f"**/v1/{path}", lambda route: route.abort())
    page.locator("#query").press_sequentially("par")
    wait_for_text(page, "#typing-notice", "The service cannot be reached.")
    page.press("#query", "Enter")
    assert session(page) == ["par"]  # the typed text is kept
    wait_for_text(page, ".notice", "The service cannot be reached.")
    page.unroute_all()
    page.fill("#query", "paris")
    page.press("#query", "Enter")
    wait_for_text(page, ".suggestion", "paris hotels")
    assert page.text_content("#typing-notice") == ""


def test_trying_again(page):
    page.route("**/v1/suggest", lambda route: route.fulfill(status=502, body="<h1>Bad Gateway"))
    page.fill("#query", "paris")
    page.press("#query", "Enter")
    wait_for_text(page, ".notice", "The service failed (status 502).")
    page.unroute_all()
    page.locator("text=Try again").first.press("Enter")
    wait_for_text(page, ".suggestion", "paris hotels")
    page.keyboard.press("Tab")  # continues from the place of the button
    assert page.evaluate("document.activeElement.textContent") == "paris hotels"


def test_a_refused_request(page):
    refusal = {"detail": [{"loc": ["body"], "msg": "not as it should be", "type": "input"}]}
    page.route("**/v1/suggest", lambda route: route.fulfill(json=refusal, status=422))
    page.fill("#query", "paris")
    page.press("#query", "Enter")
    wait_for_text(page, ".notice", "not as it should be")
    page.click("[data-action=remove]")
    assert page.locator(".notice:not(:empty)").count() == 0


def test_a_service_that_wants_a_key(page):
    def keyed(route):
        if route.request.headers.get("x-api-key") == "right":
            route.continue_()
        else:
            route.fulfill(status=401, json={"detail": "no valid API key"})

    page.route("**/v1/*", keyed)
    page.fill("#query", "paris")
    page.press("#query", "Enter")
    wait_for_text(page, ".notice", "The service wants an API key.")
    for key in ("wrong", "right"):
        page.locator("[aria-label='API key']").first.fill(key)
        page.locator("text=Use this key").first.click()
    wait_for_text(page, ".suggestion", "paris hotels")


def test_a_page_opened_before_the_service_is_there(browser, address):
    for page in opened(browser, address):
        page.route("**/readyz", lambda route: route.abort(), times=1)
        page.reload()
        wait_for_text(page, "#start-notice", "The service cannot be reached.")
        page.click("text=Try again")
        search(page, "paris")
        assert last_sent(page, "/v1/suggest")["session"] == ["paris"]
