"""Flags of `mtn-serve` become settings, or are refused in one line."""

import pytest

from mtn_preprocess.errors import InputError
from mtn_serving.commands.serve import _parser, _settings


def origins(*given):
    flags = [flag for each in given for flag in ("--origin", each)]
    return _settings(_parser().parse_args(["bundle", *flags])).origins


@pytest.mark.parametrize(
    "given, sent",
    [
        ("https://shop.example", "https://shop.example"),
        ("https://shop.example/", "https://shop.example"),
        ("HTTPS://Shop.Example", "https://shop.example"),
        ("https://shop.example:443/", "https://shop.example"),
        ("http://shop.example:80", "http://shop.example"),
        ("http://shop.example:443", "http://shop.example:443"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("*", "*"),
    ],
)
def test_an_origin_is_written_as_browsers_send_it(given, sent):
    assert origins(given) == (sent,)
    assert origins(given, "https://other.example") == (sent, "https://other.example")


@pytest.mark.parametrize(
    "given",
    [
        "shop.example",
        "shop.example:443",
        "//shop.example",
        "https://",
        "https:///",
        "https://shop.example//",
        "https://shop.example/page",
        "https://shop.example?q",
        "https://shop.example:port",
        "https://me@shop.example",
        "https://*.shop.example",
        "https://a.example https://b.example",
        " https://shop.example",
        "null",
        "",
    ],
)
def test_what_no_browser_sends_is_refused(given):
    with pytest.raises(InputError) as refused:
        origins(given)
    message = f"--origin {given}: no origin of web pages; write scheme and host, and no path"
    assert str(refused.value).startswith(message) and "\n" not in str(refused.value)
