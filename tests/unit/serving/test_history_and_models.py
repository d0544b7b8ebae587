"""How much of a history models read: a part with three levels, nothing with fewer."""

import logging
import random

import pytest
import torch
from sessions import ALL_MODELS, SIZES, WORDS, build
from test_next_queries import table_of
from test_suggester_threads import by_likelihood

from mtn_serving.engine import HistorySize
from mtn_serving.request import Request
from mtn_serving.suggester import Suggester
from mtn_serving.torch_engine.trained_model import TrainedModel

RNG = random.Random(3)


def trained(name):
    task, model = build(*ALL_MODELS[name])
    return TrainedModel(model, task)


def query():
    return " ".join(f"w{RNG.randrange(WORDS)}" for _ in range(RNG.randint(1, 3)))


def session(most=4):
    return [query() for _ in range(RNG.randint(1, most))]


SESSIONS = [session() for _ in range(40)]
HISTORIES = [[session(9) for _ in range(RNG.randrange(8))] for _ in SESSIONS]


@pytest.mark.parametrize(
    "name, size",
    [
        ("1-level", (0, 0)),
        ("2-level", (0, 0)),
        ("3-level", (SIZES[2] - 1, SIZES[1])),
        ("copying", (0, 0)),
        ("transformer", (0, 0)),
        ("hlstm", (0, 0)),
    ],
)
def test_how_much_each_model_reads(name, size):
    assert trained(name).history_size == HistorySize(*size)


def test_requests_are_truncated_in_the_same_way_as_by_the_task(caplog):
    """So there are no warnings about histories, most of which are too long for the model."""
    model = trained("3-level")
    requests = [
        Request(tuple(each), tuple(map(tuple, history)))
        for each, history in zip(SESSIONS, HISTORIES)
    ]
    whole = model.sources([request.line for request in requests])
    assert "are larger than the model and are cut to fit" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        fitted = model.sources([request.fitted(model.history_size).line for request in requests])
    assert not caplog.text
    for name, tokens in whole["net_input"].items():
        assert torch.equal(fitted["net_input"][name], tokens), name


def answers(suggester, histories):
    return [
        [each.text for each in found] for found in suggester.suggest_many(SESSIONS, 10, histories)
    ]


@pytest.mark.parametrize("name", ["2-level", "3-level"])
@pytest.mark.parametrize("ranked", [False, True])
def test_a_batch_equals_one_by_one(name, ranked):
    """With histories of different lengths; with a ranker, the model's scores decide."""
    table = table_of([each for each in SESSIONS if len(each) > 1])
    suggester = Suggester(table, trained(name), by_likelihood() if ranked else None, beam=4)
    together = answers(suggester, HISTORIES)
    alone = [
        [each.text for each in suggester.suggest(one, 10, history)]
        for one, history in zip(SESSIONS, HISTORIES)
    ]
    assert together == alone


@pytest.mark.parametrize("name, reads", [("2-level", False), ("3-level", True)])
def test_only_models_of_three_levels_depend_on_a_history(name, reads):
    suggester = Suggester(trained=trained(name), without=["history"], beam=4)
    strangers, known = answers(suggester, None), answers(suggester, HISTORIES)
    assert (strangers != known) == reads
