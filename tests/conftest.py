"""What every suite shares: a marker after the folder, patience, no warnings about others' code."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SUITES = ("unit", "integration", "system")


NOT_OURS = [
    "ignore::UserWarning:hydra",
    "ignore:(?s).*Hydra 1.1:UserWarning",  # fairseq's calls, which hydra reports as if ours
    "ignore::DeprecationWarning:importlib",
    "ignore::DeprecationWarning:torch.jit",
    "ignore:.*pin_memory:UserWarning",  # fairseq asks for it without a GPU too
]


# A busy machine is no fault of the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_configure(config):
    for warning in NOT_OURS:
        config.addinivalue_line("filterwarnings", warning)


def pytest_collection_modifyitems(items):
    for item in items:
        suite = Path(item.fspath).relative_to(Path(__file__).parent).parts[0]
        if suite in SUITES:
            item.add_marker(getattr(pytest.mark, suite))
