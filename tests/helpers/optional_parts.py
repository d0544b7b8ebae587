"""Optional dependencies: without them tests are skipped, or fail if they are required."""

import importlib
import os

import pytest


def need(name, why_not):
    """Skip for a reason, unless it is None; with MTN_REQUIRE_NAME set, fail."""
    promise = f"MTN_REQUIRE_{name.upper()}"
    if why_not and os.environ.get(promise):
        pytest.fail(f"{promise} is set, but {why_not}", pytrace=False)
    if why_not:
        pytest.skip(why_not)


def need_lightgbm():
    try:
        importlib.import_module("lightgbm")
    except (ImportError, OSError) as error:  # not installed, or without OpenMP
        need("lightgbm", f"lightgbm cannot be imported: {error}")
