"""The output for a session does not depend on its padding or on the rest of its batch."""

import copy
import random
from argparse import Namespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sessions import (
    ALL_MODELS,
    EOS,
    LOGIT_TOLERANCE,
    MAX_QUERIES,
    MAX_QUERY_TOKENS,
    MTN_MODELS,
    PAD,
    SESSION,
    Q,
    W,
    assert_close,
    build,
    codes,
    context_codes,
    encode,
    flat,
    logits,
    make,
    random_sessions,
    session_strategy,
    targets,
    words,
)

from examples import examples

# If the outputs of a model were all alike, the comparisons below would prove nothing.
DIFFERENT = 1e-3


@pytest.fixture(params=ALL_MODELS)
def model(request):
    return build(*ALL_MODELS[request.param])[1]


def largest_session(seed=1):
    rng = random.Random(seed)
    texts = [words(rng, MAX_QUERY_TOKENS) for _ in range(MAX_QUERIES)]
    return make(texts, [Q, SESSION, Q, Q, SESSION])


def alone(model, sessions, prev):
    return torch.cat([logits(model, [s], p[None]) for s, p in zip(sessions, prev)])


def test_sessions_have_different_outputs(model):
    """The control: the outputs compared below differ between sessions."""
    sessions = random_sessions(1, 6)
    found = logits(model, sessions, targets(2, 1).repeat(6, 1))
    for a in range(6):
        for b in range(a):
            assert (found[a] - found[b]).abs().max() > DIFFERENT


@pytest.mark.parametrize("extra_pad", [0, 3])
@pytest.mark.parametrize("left_pad", [True, False])
def test_padding(model, left_pad, extra_pad):
    sessions, prev = random_sessions(3, 6), targets(4, 6)
    padding = {"left_pad": left_pad, "extra_pad": extra_pad}
    expected = alone(model, sessions, prev)
    assert_close(logits(model, sessions, prev, **padding), expected, LOGIT_TOLERANCE)
    codes_alone = [context_codes(model, [session])[0] for session in sessions]
    for found, expected in zip(context_codes(model, sessions, **padding), codes_alone):
        assert_close(found, expected)


@pytest.mark.parametrize("left_pad", [True, False])
def test_the_embedding_of_padding_has_no_influence(model, left_pad):
    """Not even a large one."""
    sessions, prev = random_sessions(5, 5), targets(6, 5)
    other = copy.deepcopy(model)
    for module in other.modules():
        if isinstance(module, torch.nn.Embedding) and module.padding_idx == PAD:
            module.weight.data[PAD] = 50.0
    before = logits(model, sessions, prev, left_pad=left_pad)
    after = logits(other, sessions, prev, left_pad=left_pad)
    # A tied output layer uses this embedding to score the symbol itself.
    assert_close(after[..., PAD + 1 :], before[..., PAD + 1 :], LOGIT_TOLERANCE)


def test_batch_order(model):
    sessions, prev = random_sessions(7, 6), targets(8, 6)
    order = [3, 0, 5, 1, 4, 2]
    shuffled = logits(model, [sessions[i] for i in order], prev[order])
    assert_close(shuffled, logits(model, sessions, prev)[order], LOGIT_TOLERANCE)


def test_batch_size(model):
    sessions, prev = random_sessions(9, 12), targets(10, 12)
    whole = logits(model, sessions, prev)
    for size in (1, 5):
        parts = [
            logits(model, sessions[i : i + size], prev[i : i + size]) for i in range(0, 12, size)
        ]
        assert_close(torch.cat(parts), whole, LOGIT_TOLERANCE)


@pytest.mark.parametrize("left_pad", [True, False])
def test_batch_mates_of_another_shape(model, left_pad):
    """One word beside the largest session: all other slots of its row are empty."""
    sessions = [make([[W]], []), largest_session(), make([[W + 1]] * MAX_QUERIES, [Q] * 5)]
    prev = targets(11, 3)
    found = logits(model, sessions, prev, left_pad=left_pad)
    assert_close(found, alone(model, sessions, prev), LOGIT_TOLERANCE)


@given(
    sessions=st.lists(session_strategy, min_size=1, max_size=5),
    left_pad=st.booleans(),
    extra_pad=st.integers(0, 4),
)
@examples(25)
@pytest.mark.parametrize("name", ["2-level", "3-level", "4-level", "last-query-3"])
def test_any_batch(name, sessions, left_pad, extra_pad):
    model = build(*ALL_MODELS[name])[1]
    prev = targets(12, len(sessions))
    found = logits(model, sessions, prev, left_pad=left_pad, extra_pad=extra_pad)
    assert_close(found, alone(model, sessions, prev), LOGIT_TOLERANCE)


# --- queries at level 1 ---------------------------------------------------------------------------


def query_encodings(model, sessions, **padding):
    """The level-1 codes of each query in the batch: {words: [(tokens, C), …]}."""
    outputs = []
    hook = model.encoder.query_encoder.layers[-1].register_forward_hook(
        lambda layer, inputs, output: outputs.append(output.squeeze(1))
    )
    encode(model, sessions, **padding)
    hook.remove()
    queries = [query for session in sessions for query in session]
    found = {}
    for query, code in zip(queries, outputs[0].split([len(query) for query in queries])):
        found.setdefault(tuple(query[:-1]), []).append(code)
    return found


@pytest.mark.parametrize("name", MTN_MODELS)
@pytest.mark.parametrize("left_pad", [True, False])
def test_the_encoding_of_a_query_does_not_depend_on_its_place(name, left_pad):
    """First, in the middle, last; before `<q>`, `<session>` or the end; beside longer ones."""
    model = build(*MTN_MODELS[name])[1]
    query, long, short = [W, W + 1], [W + 2] * MAX_QUERY_TOKENS, [W + 3]
    sessions = [
        make([query], []),
        make([query, long], [Q]),
        make([long, query, short], [SESSION, SESSION]),
        make([short, long, query], [Q, SESSION]),
    ]
    encodings = query_encodings(model, sessions, left_pad=left_pad)[tuple(query)]
    assert len(encodings) == 4
    for other in encodings[1:]:
        assert_close(other, encodings[0])


def test_one_level_returns_the_codes_of_level_1():
    model = build(*MTN_MODELS["1-level"])[1]
    sessions = random_sessions(13, 4)
    encodings = query_encodings(model, sessions)
    for session, found in zip(sessions, codes(model, sessions)):
        for query, code in zip(session, found):
            assert any(torch.equal(code, other) for other in encodings[tuple(query[:-1])])


def test_the_place_of_a_query_matters_above_level_1():
    """The control: the levels above encode the positions of queries."""
    model = build(*MTN_MODELS["2-level"])[1]
    one, two = [W, W + 1], [W + 2]
    first, second = codes(model, [make([one, two, one], [Q, Q])])[0][::2]
    assert (first - second).abs().max() > DIFFERENT


# --- beam search ----------------------------------------------------------------------------------


def suggestions(task, model, sessions, batch_size):
    """The five best of each session, [(tokens, score)], with the task's own batches."""
    sources = [torch.tensor(flat(session)) for session in sessions]
    dataset = task.build_dataset_for_inference(sources, [len(source) for source in sources])
    iterator = task.get_batch_iterator(
        dataset, max_sentences=batch_size, max_positions=model.max_positions()
    ).next_epoch_itr(shuffle=False)
    options = Namespace(beam=5, nbest=5, max_len_a=0, max_len_b=6)
    generator = task.build_generator([model], options)
    found = {}
    for sample in iterator:
        hypotheses = task.inference_step(generator, [model], sample)
        for index, best in zip(sample["id"].tolist(), hypotheses):
            found[index] = [(h["tokens"].tolist(), h["score"].item()) for h in best[:5]]
    return [found[i] for i in range(len(sessions))]


@pytest.mark.parametrize("name", ALL_MODELS)
def test_beam_search_at_batch_size_1_and_32(name):
    task, model = build(*ALL_MODELS[name])
    sessions = random_sessions(14, 32)
    singly, together = (suggestions(task, model, sessions, size) for size in (1, 32))
    assert len({str(best) for best in singly}) > 16  # they are not all the same
    for one, other in zip(singly, together):
        assert len(one) == len(other) == 5
        for (tokens, score), (other_tokens, other_score) in zip(one, other):
            assert tokens == other_tokens
            assert tokens[-1] == EOS
            assert score == pytest.approx(other_score, abs=1e-4)
