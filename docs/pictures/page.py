#!/usr/bin/env python3
"""Photograph the page of a running service, light and dark: page-light.png, page-dark.png.

    make demo && make serve ARGS="--port 8123"
    python docs/pictures/page.py http://127.0.0.1:8123

Needs playwright and Debian's Chromium, as the tests of the page do.
"""

import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).resolve().parent
SESSION = ("paris hotels", "london")  # the README's example
VIEW = {"width": 1160, "height": 620}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main() -> None:
    (address,) = sys.argv[1:] or sys.exit(__doc__)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport=VIEW, color_scheme=scheme, device_scale_factor=1.5
            )
            page = context.new_page()
            page.goto(address)
            search(page)
            page.screenshot(path=HERE / f"page-{scheme}.png")
        browser.close()


def search(page: Page) -> None:
    for query in SESSION:
        page.get_by_role("combobox").fill(query)
        page.keyboard.press("Enter")
        page.get_by_text("round trip").wait_for()
    page.get_by_text("how much each query mattered").wait_for()
    page.get_by_role("combobox").blur()
    page.mouse.move(0, 0)


if __name__ == "__main__":
    main()
