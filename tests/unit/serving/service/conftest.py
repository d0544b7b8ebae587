"""A service with a small table of counts, and one with a scripted suggester."""

import time

import pytest
from fastapi.testclient import TestClient

from mtn_preprocess.text.session_pairs import Pair
from mtn_serving.counting import count_next_queries
from mtn_serving.service.app import create_app
from mtn_serving.service.bundles import Bundles
from mtn_serving.service.settings import Settings
from mtn_serving.suggester import Suggester

PAIRS = [
    Pair("paris", "paris hotels"),
    Pair("paris", "paris metro"),
    Pair("paris", "paris hotels"),
    Pair("rome", "rome weather"),
]


class Scripted:
    """Returns the answers of a suggester after `seconds`; fails if a query is `fail`.

    Args:
        suggester: gives the answers
        seconds: per batch
    """

    def __init__(self, suggester, seconds=0.0):
        self.suggester, self.seconds = suggester, seconds
        self.reader, self.table = suggester.reader, suggester.table
        self.batches = []

    def suggest_many(self, sessions, n, histories):
        return self._after_a_while(self.suggester.suggest_many, sessions, n, histories)

    def complete_many(self, sessions, prefixes, n, histories):
        return self._after_a_while(self.suggester.complete_many, sessions, prefixes, n, histories)

    def _after_a_while(self, answer, sessions, *arguments):
        self.batches.append(len(sessions))
        time.sleep(self.seconds)
        if any("fail" in session for session in sessions):
            raise RuntimeError("the text of the query")
        return answer(sessions, *arguments)


@pytest.fixture
def counts(tmp_path):
    """A folder of mtn-count-next."""
    folder = tmp_path / "counts"
    count_next_queries(PAIRS).save(folder)
    return folder


@pytest.fixture
def client_of(counts):
    """Returns a function that makes a client of a service with the given settings."""
    opened = []

    def make(seconds=None, **settings):
        """`seconds`: how long each batch takes; None for the suggester itself."""
        app = create_app(Settings(**{"bundle": counts, **settings}))
        if seconds is not None:
            service = app.state.service
            served = {
                arm: each._replace(suggester=Scripted(each.suggester, seconds))
                for arm, each in service.bundles.served.items()
            }
            service.bundles = Bundles(served, service.bundles.share)
        client = TestClient(app, raise_server_exceptions=False, client=("127.0.0.1", 50000))
        client.__enter__()
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def expected(counts):
    """The suggester itself."""
    return Suggester.load(counts=counts)
