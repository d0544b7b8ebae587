"""Following a session gives the same lists as a new request at each key."""

import pytest
from exported_models import engines
from test_next_queries import table_of

from mtn_preprocess.errors import InputError
from mtn_serving.display_rules import DisplayRules
from mtn_serving.suggester import Suggester

TABLE = table_of([["w1", "w2"], ["w1", "w2 w3"], ["w2", "w2 w3"], ["w2 w3", "w4"], ["w4", "w1"]])
QUERIES = ["w1", "w2 new1", "w2 w3"]
MODELS = ["1-level", "2-level", "3-level", "copying", "copying-3-level", "transformer"]


def suggester_of(name=None):
    trained = None if name is None else engines(name)[1]
    return Suggester(TABLE, trained, beam=4, rules=DisplayRules(min_users=0))


@pytest.mark.parametrize("history", [None, [["w3", "w4"], ["new1"]]])
@pytest.mark.parametrize("name", [None, *MODELS])
def test_the_same_lists_as_for_the_whole_session(name, history):
    suggester = suggester_of(name)
    following = suggester.follow(QUERIES[:1], history)
    for count in range(1, len(QUERIES) + 1):
        session = QUERIES[:count]
        for prefix in ("", "w", "w2", "w2 ", "w2 w", "n"):
            assert following.complete(prefix) == suggester.complete(session, prefix, 5, history)
        assert following.suggest(n=7) == suggester.suggest(session, 7, history)
        if count < len(QUERIES):
            following = following.then(QUERIES[count])


def test_a_session_is_encoded_once(monkeypatch):
    suggester = suggester_of("copying")
    encoded, encoder = [], suggester.pipeline.trained.encoder
    monkeypatch.setattr(
        suggester.pipeline.trained, "encoder", lambda *read: encoded.append(read) or encoder(*read)
    )
    first = suggester.follow(QUERIES[:1])
    for prefix in ("w", "w2", "w2 w"):
        first.complete(prefix)
    first.suggest()
    assert len(encoded) == 1
    first.then("w2").suggest()
    assert len(encoded) == 2


@pytest.mark.parametrize("history", [None, [["w3", "w4"], ["new1"]]])
def test_a_longer_session_grows_from_the_shorter_one(history, monkeypatch):
    suggester = suggester_of("copying-3-level")
    trained, grown = suggester.pipeline.trained, []
    longer = trained.longer
    monkeypatch.setattr(trained, "longer", lambda *asked: grown.append(asked) or longer(*asked))
    first = suggester.follow(QUERIES[:1], history)
    second = first.then(QUERIES[1])
    third = second.then(QUERIES[2])
    assert [shorter for _, shorter in grown] == [first.sources, second.sources]
    assert third.suggest() == suggester.suggest(QUERIES, history=history)
    assert second.suggest() == suggester.suggest(QUERIES[:2], history=history)


def test_then_does_not_change_the_shorter_session():
    first = suggester_of("2-level").follow(["w1"])
    before = first.suggest()
    assert first.then("w2").suggest() != before == first.suggest()


def test_an_empty_session():
    following = suggester_of("2-level").follow([])
    assert following.complete("") == [] and following.complete("w2")
    assert following.then("w1").suggest() == suggester_of("2-level").suggest(["w1"])
    with pytest.raises(InputError, match="a session without a query"):
        following.suggest()


def test_a_line_of_prepared_text():
    suggester = suggester_of("3-level")
    line = "w1 <session> w4"
    assert suggester.follow(line).then("w2 w3").suggest() == suggester.suggest(f"{line} <q> w2 w3")


def test_n_below_one():
    following = suggester_of().follow(["w1"])
    with pytest.raises(InputError, match="0 suggestions were asked for"):
        following.suggest(0)
    with pytest.raises(InputError, match="0 completions were asked for"):
        following.complete("w", 0)


def test_torch_encodes_the_whole_session():
    suggester = Suggester(TABLE, engines("2-level")[0], beam=4, rules=DisplayRules(min_users=0))
    following = suggester.follow(QUERIES[:1]).then(QUERIES[1])
    assert following.suggest() == suggester.suggest(QUERIES[:2])
