"""What a screen reader is given: the accessibility tree as Chromium makes it, in each state.

No screen reader is run. Roles, names and states are what it reads, live regions what it says.
"""

import pytest
from browsers import chromium, opened
from page_actions import search, wait_for_text, wait_until
from page_tables import PAIRS, bundle, table
from served import served

pytest.importorskip("fastapi", reason="fastapi is not installed")

SAMPLES = ["london <q> paris", "london <session> paris hotels <q> london hotels"]
STATES = ("expanded", "selected", "disabled", "busy", "live", "autocomplete", "haspopup", "focused")


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    other = table(folder / "other", {"paris": ["rome", "lyon"]})
    with served(folder, f"{bundle(folder, PAIRS, SAMPLES)} --challenger {other}") as server:
        yield server.address


@pytest.fixture
def page(browser, address):
    for page in opened(browser, address):
        page.wait_for_selector(".sample")
        page.tree = page.context.new_cdp_session(page)
        yield page


def nodes(page):
    """(role, name, states) of all that is not left out, in the order in which it is read."""
    found = page.tree.send("Accessibility.getFullAXTree")["nodes"]
    by_id = {node["nodeId"]: node for node in found}

    def walk(node):
        if not node["ignored"]:
            states = {each["name"]: each["value"].get("value") for each in node["properties"]}
            kept = {name: value for name, value in states.items() if name in STATES}
            yield node["role"]["value"], node.get("name", {}).get("value", ""), kept
        for child in node.get("childIds", []):
            if child in by_id:
                yield from walk(by_id[child])

    return list(walk(found[0]))


def names(page, role):
    return [name for found, name, _ in nodes(page) if found == role]


def states(page, role, name):
    (found,) = [kept for each, text, kept in nodes(page) if (each, text) == (role, name)]
    return found


def test_the_page_at_its_start(page):
    assert names(page, "heading") == ["A search box that knows its session", "This session",
                                      "Sessions to try"]  # fmt: skip
    assert {"banner", "main", "search", "contentinfo"} <= {role for role, _, _ in nodes(page)}
    box = states(page, "combobox", "Search")
    assert box["autocomplete"] == "list" and box["expanded"] is False and box["focused"] is True
    assert names(page, "button") == [
        "Search",
        "london\u00a0› paris",
        "paris hotels\u00a0› london hotels after an earlier session: london",
    ]
    assert names(page, "region") == ["This session", "Sessions to try"]


def test_each_control_has_a_name(page):
    """Which says what it acts on."""
    search(page, "paris", "london", "paris")
    page.click("summary")
    page.click(".ask-why >> nth=0")
    page.wait_for_selector(".why dl")
    buttons = [name for role, name, _ in nodes(page) if role in ("button", "link", "textbox")]
    assert all(buttons) and {"Why? paris hotels", "Remove “london”", "Clear"} <= set(buttons)
    moves = [name for name in buttons if name.startswith("Move up")]
    assert moves == ["Move up “paris”", "Move up “london”", "Move up “paris”"]


def test_completions(page):
    page.locator("#query").press_sequentially("par")
    page.wait_for_selector("[role=option]")
    shown = page.locator("[role=option] .text").all_text_contents()
    options = names(page, "option")
    assert [option.split("  ")[0][: len(text)] for option, text in zip(options, shown)] == shown
    assert names(page, "listbox") == ["Completions"]
    assert states(page, "combobox", "Search")["expanded"] is True
    page.keyboard.press("ArrowDown")
    selected = [name for role, name, kept in nodes(page) if role == "option" and kept["selected"]]
    assert selected == options[:1]
    assert page.evaluate("document.activeElement.id") == "query"  # where the keys go
    place = page.get_attribute("#query", "aria-activedescendant")
    assert page.locator(f"#{place}").get_attribute("aria-selected") == "true"
    page.keyboard.press("Escape")
    assert names(page, "option") == [] and names(page, "listbox") == []
    assert states(page, "combobox", "Search")["expanded"] is False


def test_two_lists_and_why(page):
    search(page, "paris")
    regions = names(page, "region")
    assert "Next queries, champion" in regions and "Next queries, challenger" in regions
    (name,) = {name for name in names(page, "button") if name == "Why? paris hotels"}
    assert states(page, "button", name)["expanded"] is False
    page.click(".ask-why >> nth=0")
    page.wait_for_selector(".why dl")
    assert states(page, "button", name)["expanded"] is True
    read = [name for role, name, _ in nodes(page) if role == "StaticText"]
    assert "Where from" in read and "people asked it next, place 1" in read


def test_what_is_said(page):
    """By live regions, without the focus going anywhere."""
    search(page, "paris", "london")
    live = [kept["live"] for role, _, kept in nodes(page) if role == "status"]
    assert live and set(live) == {"polite"}
    wait_for_text(page, "#announcements", "next queries")
    page.focus("[data-action=up] >> nth=1")
    page.keyboard.press("Enter")
    wait_for_text(page, "#announcements", "Moved london to place 1 of 2")
    page.route("**/v1/suggest", lambda route: route.abort())
    page.keyboard.press("Delete")
    wait_until(page, "[...document.querySelectorAll('.list [role=status]')]"
               ".every(e => e.textContent.includes('cannot be reached'))")  # fmt: skip


def test_bars_and_marks_are_not_read(page):
    """The figure stands beside a bar; a bar alone says nothing."""
    search(page, "paris", "paris hotels")
    page.wait_for_selector(".share")
    read = [name for _, name, _ in nodes(page)]
    assert any(name.endswith(" %") for name in read)
    hidden = page.locator(".bar, .against")
    assert all(each.get_attribute("aria-hidden") == "true" for each in hidden.all())
