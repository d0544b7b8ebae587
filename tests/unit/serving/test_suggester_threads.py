"""One suggester, several threads: each gets the same list as alone."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from optional_parts import need_lightgbm
from sessions import ALL_MODELS, WORDS, build
from test_next_queries import table_of

from mtn_serving.conditions import conditions_of
from mtn_serving.features import NAMES
from mtn_serving.fitting import fit_ranker
from mtn_serving.ranker import Calibration, Ranker
from mtn_serving.suggester import Suggester
from mtn_serving.torch_engine.trained_model import TrainedModel

THREADS = 8
RNG = random.Random(1)


def query():
    words = [f"w{RNG.randrange(WORDS)}" for _ in range(RNG.randint(1, 4))]
    return " ".join(words if RNG.random() < 0.5 else [*words[1:], f"new{RNG.randrange(1000)}"])


SESSIONS = [[query() for _ in range(RNG.randint(1, 4))] for _ in range(96)]
TABLE = table_of([session for session in SESSIONS if len(session) > 1])


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def by_likelihood():
    """A ranker that sorts by the model's score."""
    score = NAMES.index("log_probability_per_token")
    learner = SimpleNamespace(predict=lambda rows: rows[:, score].astype(float))
    conditions = conditions_of(model=True, counts=True, beam=4)
    return Ranker(learner, Calibration(1.0, 0.0), conditions, {})


def assert_all_get_their_own(suggester, sessions=SESSIONS):
    alone = [suggester.suggest(session, n=5) for session in sessions]
    assert len({tuple(found) for found in alone}) > len(sessions) / 2
    with ThreadPoolExecutor(THREADS) as threads:
        together = list(threads.map(lambda session: suggester.suggest(session, n=5), sessions))
    assert together == alone


@pytest.mark.parametrize("ranker", [None, by_likelihood()], ids=["beam", "beam and scores"])
def test_with_a_model(ranker):
    task, model = build(*ALL_MODELS["transformer"])
    table = None if ranker is None else TABLE
    assert_all_get_their_own(Suggester(table, TrainedModel(model, task), ranker), SESSIONS[:32])


def test_with_a_model_that_copies():
    task, model = build(*ALL_MODELS["copying"])
    suggester = Suggester(TABLE, TrainedModel(model, task), by_likelihood())
    assert_all_get_their_own(suggester, SESSIONS[:32])


def test_with_counts_and_a_ranker():
    need_lightgbm()
    suggester = Suggester(TABLE)
    described = list(suggester.describe(SESSIONS))
    asked = [RNG.choice(each.candidates or [SimpleNamespace(text="")]).text for each in described]
    fitted = fit_ranker(described, asked, range(len(SESSIONS)), suggester.conditions, folds=2)
    assert_all_get_their_own(Suggester(TABLE, ranker=fitted.ranker))
