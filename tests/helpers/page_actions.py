"""What tests do on the page, and what they read there."""

import json


def search(page, *queries):
    for query in queries:
        page.fill("#query", query)
        page.press("#query", "Enter")
    page.wait_for_selector(".suggestions:not([aria-busy]) .suggestion")


def session(page):
    return page.locator(".queries .query").all_text_contents()


def suggestions(page):
    return page.locator(".suggestion").all_text_contents()


def last_sent(page, path):
    return json.loads([each for each in page.sent if each.url.endswith(path)][-1].post_data)


def wait_for_text(page, selector, text):
    page.locator(selector, has_text=text).first.wait_for()
