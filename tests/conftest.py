"""What every suite shares: a marker after the folder, and no warnings about others' code."""

from pathlib import Path

import pytest

SUITES = ("unit", "integration", "system")


def pytest_configure(config):
    for category, module in (("UserWarning", "hydra"), ("DeprecationWarning", "importlib")):
        config.addinivalue_line("filterwarnings", f"ignore::{category}:{module}")
    # fairseq's hydra calls, by their message: hydra reports them as if they were ours.
    config.addinivalue_line("filterwarnings", "ignore:(?s).*Hydra 1.1:UserWarning")


def pytest_collection_modifyitems(items):
    for item in items:
        suite = Path(item.fspath).relative_to(Path(__file__).parent).parts[0]
        if suite in SUITES:
            item.add_marker(getattr(pytest.mark, suite))
