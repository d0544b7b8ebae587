"""What all tests share: a marker after the folder, few examples, no warnings of others' code."""

from pathlib import Path

import pytest
from hypothesis import settings

import examples  # noqa: F401  registers the profiles

SUITES = ("unit", "integration", "system")


NOT_OURS = [
    "ignore::UserWarning:hydra",
    "ignore:(?s).*Hydra 1.1:UserWarning",  # fairseq's calls, which hydra reports as if ours
    "ignore::DeprecationWarning:importlib",
    "ignore::DeprecationWarning:torch.jit",
    "ignore:.*pin_memory:UserWarning",  # fairseq asks for it without a GPU too
]


settings.load_profile("few")  # `--hypothesis-profile many` comes later, and wins


def pytest_configure(config):
    for warning in NOT_OURS:
        config.addinivalue_line("filterwarnings", warning)


def pytest_collection_modifyitems(items):
    for item in items:
        suite = Path(item.fspath).relative_to(Path(__file__).parent).parts[0]
        if suite in SUITES:
            item.add_marker(getattr(pytest.mark, suite))
