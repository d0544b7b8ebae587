"""`--source-context last`: a flat model that reads only the last query."""

import random

import pytest
import torch
from sessions import (
    LOGIT_TOLERANCE,
    OTHER_MODELS,
    SEPARATORS,
    assert_close,
    build,
    encode,
    logits,
    make,
    random_session,
    random_sessions,
    targets,
    words,
)

LAST = ["seq2seq-last", "transformer-last"]
WHOLE = ["seq2seq", "transformer"]


def other_past(sessions, seed):
    """The same last queries after other earlier queries, of other number and length."""
    rng = random.Random(seed)
    changed = []
    for session in sessions:
        before = random_session(rng, least=2)[:-1]
        changed.append([*before, session[-1]])
    return changed


@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("left_pad", [True, False])
def test_earlier_queries_have_no_influence(name, left_pad):
    model = build(*OTHER_MODELS[name])[1]
    sessions, prev = random_sessions(1, 8, least=2), targets(2, 8)
    before = logits(model, sessions, prev, left_pad=left_pad)
    for seed in range(3):
        after = logits(model, other_past(sessions, seed), prev, left_pad=left_pad)
        assert_close(after, before, LOGIT_TOLERANCE)


@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("left_pad", [True, False])
def test_the_output_equals_that_of_the_last_query_alone(name, left_pad):
    """After one query or many, and after a separator of any level."""
    model = build(*OTHER_MODELS[name])[1]
    rng = random.Random(3)
    sessions = [make([words(rng), words(rng)], [separator]) for separator in SEPARATORS]
    sessions += random_sessions(4, 6)
    prev = targets(5, len(sessions))
    alone = [session[-1:] for session in sessions]
    found = logits(model, sessions, prev, left_pad=left_pad)
    assert_close(found, logits(model, alone, prev, left_pad=left_pad), LOGIT_TOLERANCE)
    # The decoder has nothing else to attend to, either.
    lengths = (~encode(model, sessions, left_pad=left_pad)["encoder_padding_mask"][0]).sum(1)
    assert lengths.tolist() == [len(session[-1]) for session in sessions]


@pytest.mark.parametrize("name", LAST)
def test_the_last_query_does_count(name):
    """The control: the model does read something."""
    model = build(*OTHER_MODELS[name])[1]
    sessions = random_sessions(6, 8, least=2)
    others = [[*session[:-1], other[-1]] for session, other in zip(sessions, random_sessions(7, 8))]
    prev = targets(8, 8)
    difference = logits(model, sessions, prev) - logits(model, others, prev)
    assert difference.abs().amax((1, 2)).min() > 1e-3


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_session_counts_by_default(name):
    model = build(*OTHER_MODELS[name])[1]
    sessions, prev = random_sessions(1, 8, least=2), targets(2, 8)
    difference = logits(model, sessions, prev) - logits(model, other_past(sessions, 0), prev)
    assert difference.abs().amax((1, 2)).min() > 1e-3


@pytest.mark.parametrize("whole, last", list(zip(WHOLE, LAST)))
def test_one_query_gives_the_same_output_either_way(whole, last):
    """Both choices have the same weights, and differ only in what they read."""
    readers = [build(*OTHER_MODELS[name])[1] for name in (whole, last)]
    assert {k: v.shape for k, v in readers[0].state_dict().items()} == {
        k: v.shape for k, v in readers[1].state_dict().items()
    }
    sessions, prev = random_sessions(9, 4, most=1), targets(10, 4)
    for a, b in zip(readers[0].parameters(), readers[1].parameters()):
        assert torch.equal(a, b)  # built from one seed
    found, expected = (logits(reader, sessions, prev) for reader in readers)
    assert_close(found, expected, LOGIT_TOLERANCE)
