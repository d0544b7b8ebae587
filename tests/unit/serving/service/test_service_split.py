"""The share of the challenger: stable, even, and dependent only on the session id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_serving.service.split import is_for_challenger


def test_split_by_hand():
    """sha256("a") begins with ca and sha256("b") with 3e: 0.79 and 0.24 of the range."""
    assert [is_for_challenger("a", share) for share in (0.78, 0.80)] == [False, True]
    assert [is_for_challenger("b", share) for share in (0.24, 0.25)] == [False, True]


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_sessions_keep_the_challenger_if_its_share_grows(session_id, one, other):
    low, high = sorted([one, other])
    assert is_for_challenger(session_id, high) or not is_for_challenger(session_id, low)
    assert not is_for_challenger(session_id, 0) and is_for_challenger(session_id, 1)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_consecutive_ids_are_spread_evenly(share):
    sessions = 10_000
    found = sum(is_for_challenger(f"session-{number}", share) for number in range(sessions))
    assert abs(found / sessions - share) < 4 * (share * (1 - share) / sessions) ** 0.5
