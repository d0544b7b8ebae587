"""Debian's Chromium for tests of the page; without it they are skipped, or fail if required."""

import importlib.util
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

from optional_parts import need

ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
)
WAIT = 10_000  # ms to wait for an expected element, on a busy machine
# npm install --prefix VENV axe-core
AXE = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"


@contextmanager
def chromium():
    """A browser for this process."""
    found = shutil.which("chromium")
    need("browser", None if found else "there is no chromium: apt-get install chromium")
    has_playwright = importlib.util.find_spec("playwright") is not None
    need("browser", None if has_playwright else "no playwright: pip install playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS.split())
        yield browser
        browser.close()


def opened(browser, address, **options):
    """The page of a new user. It must not log errors or send requests to other sites."""
    context = browser.new_context(base_url=address, **options)
    context.set_default_timeout(WAIT)
    page = context.new_page()
    page.wrong, page.sent = [], []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda said: page.wrong.append(said.text) if is_ours(said) else None)
    page.on("request", lambda request: page.sent.append(request))
    page.goto("/")
    page.wait_for_selector("#about:not(:empty)")
    yield page
    assert page.wrong == []
    assert [each.url for each in page.sent if not each.url.startswith(address)] == []
    context.close()


def is_ours(said):
    """False for Chromium's own messages about requests that a test made fail."""
    return said.type in ("error", "warning") and "Failed to load resource" not in said.text


def serious_findings(page):
    """axe-core's findings on the current page, in the two highest of its four degrees."""
    has_axe = AXE.is_file()
    need("browser", None if has_axe else f"no axe-core: npm install --prefix {sys.prefix} axe-core")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [
        f"{each['id']}: {[node['html'] for node in each['nodes']]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
