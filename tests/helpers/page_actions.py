"""Actions of tests on the page, and functions to read it."""

import json
import time

from browsers import WAIT


def search(page, *queries):
    for query in queries:
        page.fill("#query", query)
        page.press("#query", "Enter")
    wait_for_lists(page)


def wait_for_lists(page):
    """Wait until all lists have an answer."""
    answered = ".suggestions:not([aria-busy]) > li"
    lists = "[...document.querySelectorAll('.list')]"
    wait_until(page, f"{lists}.length && {lists}.every(e => e.querySelector('{answered}'))")


def wait_until(page, expression):
    """`page.wait_for_function` would run text as code, which the page's policy forbids."""
    end = time.monotonic() + WAIT / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(20)


def session(page):
    return page.locator(".queries .query").all_text_contents()


def suggestions(page):
    return page.locator(".suggestion").all_text_contents()


def last_sent(page, path):
    return json.loads([each for each in page.sent if each.url.endswith(path)][-1].post_data)


def wait_for_text(page, selector, text):
    page.locator(selector, has_text=text).first.wait_for()
