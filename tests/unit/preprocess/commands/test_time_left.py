"""Progress with the time left: at intervals, per kind of step, and always at the end."""

import pytest

from mtn_preprocess.commands.time_left import EVERY, TimeLeft, _rounded


class Steps:
    """Work whose steps take the time set by the test."""

    def __init__(self):
        self.now, self.lines = 100.0, []
        self.progress = TimeLeft(self.lines.append, lambda: self.now)

    def __call__(self, what, seconds, total):
        for done, taken in enumerate(seconds, 1):
            self.now += taken
            self.progress(what, done, total)
        return self.lines


def test_not_at_every_step_but_at_the_end():
    found = Steps()("pairs", [EVERY / 4] * 10, 10)
    assert found == [
        "4 of 10 pairs, about 15 s left",
        "8 of 10 pairs, about 5 s left",
        "10 of 10 pairs",
    ]


def test_a_new_kind_of_step_restarts_the_timing():
    steps = Steps()
    steps("pairs", [1000.0, 1000.0], 2)
    assert steps("learners fitted", [EVERY, EVERY], 12)[2:] == [
        "1 of 12 learners fitted, about 2 min left",
        "2 of 12 learners fitted, about 2 min left",
    ]


@pytest.mark.parametrize(
    "seconds, text", [(0, "0 s"), (89.4, "89 s"), (600, "10 min"), (5400, "1.5 h")]
)
def test_rounded(seconds, text):
    assert _rounded(seconds) == text
