"""The page at `/` of a real service, as people use it: in a browser, by keyboard and by mouse."""

import re

import pytest
from browsers import chromium, opened
from page_actions import last_sent, search, session, suggestions, wait_for_text, wait_until
from page_tables import PAIRS, bundle
from served import served

pytest.importorskip("fastapi", reason="fastapi is not installed")


SAMPLES = [
    "london <q> paris",
    "paris hotels",
    "unheard of <q> paris",  # nobody asked it: it must not be shown
    "rome hotels <q> paris <session> london <session> paris hotels <q> london hotels",
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with served(folder, bundle(folder, PAIRS, SAMPLES)) as server:
        yield server.address


@pytest.fixture
def page(browser, address):
    yield from opened(browser, address)


# --- the search box ------------------------------------------------------------------------------


def type_and_wait(page, text):
    page.locator("#query").press_sequentially(text)
    page.wait_for_selector("#query[aria-expanded=true]")
    return page.locator("[role=option]").all_text_contents()


def active(page):
    """The option that a screen reader announces."""
    place = page.get_attribute("#query", "aria-activedescendant")
    option = page.locator(f"#{place}") if place else None
    assert option is None or option.get_attribute("aria-selected") == "true"
    return option and option.locator(".text").text_content()


def test_typing_completes_and_enter_chooses(page):
    search(page, "paris")
    type_and_wait(page, "lo")
    texts = page.locator("[role=option] .text").all_text_contents()
    assert len(texts) > 1 and all(text.startswith("lo") for text in texts)
    assert active(page) is None
    wait_for_text(page, "#announcements", f"{len(texts)} completions")
    page.keyboard.press("ArrowDown")
    assert active(page) == texts[0]
    page.keyboard.press("ArrowUp")
    assert active(page) == texts[-1]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert active(page) == texts[1]
    assert page.input_value("#query") == "lo"
    page.keyboard.press("Enter")
    assert session(page) == ["paris", texts[1]]
    assert page.input_value("#query") == ""
    assert page.evaluate("document.activeElement.id") == "query"
    assert last_sent(page, "/v1/complete") == {
        "session": ["paris"], "history": [], "prefix": "lo", "n": 8,
    }  # fmt: skip


def test_keys_of_the_box(page):
    first = type_and_wait(page, "par") and page.locator("[role=option] .text").first.text_content()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")  # back to the field, with the cursor at its start
    assert active(page) is None
    assert page.evaluate("document.activeElement.selectionStart") == 0
    page.keyboard.press("End")
    page.keyboard.press("Escape")  # closes the list
    assert page.get_attribute("#query", "aria-expanded") == "false"
    assert page.input_value("#query") == "par"
    page.keyboard.press("Alt+ArrowDown")  # opens it, at no option
    page.wait_for_selector("#query[aria-expanded=true]")
    assert active(page) is None
    page.keyboard.press("Alt+ArrowUp")
    assert not page.is_visible("[role=option]")
    page.keyboard.press("ArrowDown")  # opens it, at the first option
    page.wait_for_selector("#query[aria-activedescendant]")
    assert active(page) == first
    page.keyboard.press("Tab")  # takes the option and moves the focus
    assert page.input_value("#query") == first
    assert page.evaluate("document.activeElement.type") == "submit"
    page.focus("#query")
    page.keyboard.press("Escape")  # with a closed list: empties the field
    assert page.input_value("#query") == ""
    assert session(page) == []


def test_a_clicked_completion_and_typed_text(page):
    type_and_wait(page, "par")
    page.locator("[role=option] .text", has_text=re.compile("^paris$")).click()
    assert session(page) == ["paris"]
    page.fill("#query", "  never   seen ")
    page.click("button:text('Search')")
    assert session(page) == ["paris", "never seen"]
    page.press("#query", "Enter")  # nothing was typed
    assert session(page) == ["paris", "never seen"]


def test_markup_is_text(page):
    query = "<img src=x onerror=\"document.title='bad'\"> paris"
    search(page, query, "paris")
    assert session(page) == [query, "paris"]
    assert page.locator("main img").count() == 0
    assert page.title() == "A search box that knows its session"


# --- the session ---------------------------------------------------------------------------------


def test_suggestions_are_of_the_session(page):
    search(page, "paris")
    assert suggestions(page)[:2] == ["paris hotels", "paris flights"]
    page.click(".suggestion >> nth=0")
    wait_for_text(page, ".suggestion", "london hotels")
    assert session(page) == ["paris", "paris hotels"]
    assert suggestions(page)[0] == "london hotels"
    assert page.evaluate("document.activeElement.textContent") == "Next queries"
    assert re.fullmatch(r"[\d.]+ ms · [\d.]+ ms round trip", page.text_content(".facts"))
    assert "people ask it next" in page.locator(".source").all_text_contents()


def test_queries_are_removed_and_moved_by_keyboard(page):
    search(page, "paris", "london", "rome")
    page.focus("[data-action=up] >> nth=2")
    page.keyboard.press("Enter")
    assert session(page) == ["paris", "rome", "london"]
    wait_for_text(page, "#announcements", "Moved rome to place 2 of 3")
    page.keyboard.press("Enter")  # the focus moved with it
    assert session(page) == ["rome", "paris", "london"]
    page.keyboard.press("Enter")  # at the top: nothing
    page.keyboard.press("Alt+ArrowDown")
    page.keyboard.press("Alt+ArrowDown")
    assert session(page) == ["paris", "london", "rome"]
    page.keyboard.press("Delete")
    assert session(page) == ["paris", "london"]
    wait_for_text(page, ".suggestion", "london flights")
    assert last_sent(page, "/v1/suggest")["session"] == ["paris", "london"]
    page.keyboard.press("Delete")  # the focus is on the query that took its place
    wait_for_text(page, ".suggestion", "paris hotels")
    assert session(page) == ["paris"]


def test_queries_are_removed_and_moved_by_mouse(page):
    search(page, "paris", "london", "rome")
    page.drag_and_drop(".queries li >> nth=2", ".queries li >> nth=0")
    assert session(page) == ["rome", "paris", "london"]
    page.click("[data-action=remove] >> nth=1")
    assert session(page) == ["rome", "london"]
    page.click("#clear")
    assert session(page) == [] and suggestions(page) == []
    assert not page.is_visible(".list h2")


def test_an_address_has_the_session(page, address):
    search(page, "paris", "paris hotels")
    found = suggestions(page)
    page.go_back()
    wait_for_text(page, ".suggestion", "paris flights")
    assert session(page) == ["paris"]
    page.go_forward()
    page.reload()
    wait_for_text(page, ".suggestion", found[0])
    assert (session(page), suggestions(page)) == (["paris", "paris hotels"], found)
    page.goto("/?q=london")  # as from the search field of a browser
    wait_for_text(page, ".suggestion", "london flights")
    assert session(page) == ["london"]


def test_a_history(page):
    search(page, "paris")
    page.click("summary")
    page.fill("#history", "rome\n\n\n lyon \n")
    page.click("#use-history")
    wait_until(page, "document.querySelector('#history-count').textContent == '2'")
    page.fill("#history", "rome\nrome flights\n\nlondon\n")
    search(page, "london")  # which leaves the field
    assert last_sent(page, "/v1/suggest")["history"] == [["rome", "rome flights"], ["london"]]
    page.click("#keep-session")
    assert session(page) == []
    assert page.input_value("#history").endswith("\n\nparis\nlondon")


def test_samples(page):
    page.wait_for_selector(".sample")
    assert page.locator(".sample .name").all_text_contents() == [
        "london\u00a0› paris",
        "paris hotels",
        "paris hotels\u00a0› london hotels",
    ]
    past = page.locator(".sample .past").all_text_contents()
    assert past == ["after 2 earlier sessions: rome hotels\u00a0› paris; london"]
    page.click(".sample >> nth=-1")
    page.wait_for_selector(".facts:not(:empty)")
    asked = last_sent(page, "/v1/suggest")
    assert session(page) == asked["session"] == ["paris hotels", "london hotels"]
    assert asked["history"] == [["rome hotels", "paris"], ["london"]]
