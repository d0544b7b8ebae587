"""No code depends on a later query or on another session of the batch, at any level."""

import copy
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sessions import (
    EOS,
    LOGIT_TOLERANCE,
    MTN_MODELS,
    SEPARATORS,
    SESSION,
    UNIT3,
    Q,
    W,
    assert_close,
    batch,
    build,
    codes,
    encode,
    encoder_out_of,
    logits,
    make,
    outputs,
    prefix,
    random_session,
    random_sessions,
    session_strategy,
    split_codes,
    targets,
    words,
)

from examples import examples

# These tests compare the codes of all queries, so models that return only those of the last query
# are left out. Another test shows that their codes are the same.
WHOLE = [name for name in MTN_MODELS if not name.startswith("last-query")]
HIERARCHIES = [name for name in WHOLE if name != "1-level"]
DIFFERENT = 1e-4  # codes have size 1, so this is not rounding


@pytest.fixture(params=WHOLE)
def model(request):
    return build(*MTN_MODELS[request.param])[1]


@pytest.fixture(params=HIERARCHIES)
def hierarchy(request):
    return build(*MTN_MODELS[request.param])[1]


def replaced(session, t, rng):
    """The session with another query t: other words, another length, another end if any."""
    other = words(rng)
    while len(other) == len(session[t]) - 1:
        other = words(rng)
    end = session[t][-1] if session[t][-1] == EOS else rng.choice(SEPARATORS)
    return [*session[:t], [*other, end], *session[t + 1 :]]


@pytest.mark.parametrize("left_pad", [True, False])
def test_a_changed_query_changes_no_earlier_code(model, left_pad):
    rng = random.Random(3)
    places = [(s, t) for s in random_sessions(4, 12, least=2) for t in range(len(s))]
    before = codes(model, [session for session, _ in places], left_pad=left_pad)
    others = [replaced(session, t, rng) for session, t in places]
    after = codes(model, others, left_pad=left_pad)
    for (_, t), old, new in zip(places, before, after):
        for i in range(t):
            assert_close(new[i], old[i])


@pytest.mark.parametrize("left_pad", [True, False])
def test_prefixes_are_encoded_as_in_the_longer_source(model, left_pad):
    """Stronger: neither the words nor the number nor the nesting of later queries matters."""
    sessions = random_sessions(5, 12, least=4)
    for session, whole in zip(sessions, codes(model, sessions, left_pad=left_pad)):
        prefixes = [prefix(session, t) for t in range(1, len(session) + 1)]
        for t, found in enumerate(codes(model, prefixes, left_pad=left_pad), 1):
            for i in range(t):
                assert_close(found[i], whole[i])


@given(session=session_strategy, data=st.data())
@examples(25)
@pytest.mark.parametrize("name", ["2-level", "3-level", "4-level", "top"])
def test_prefixes_of_any_session(name, session, data):
    model = build(*MTN_MODELS[name])[1]
    t = data.draw(st.integers(1, len(session)))
    whole, part = codes(model, [session, prefix(session, t)])
    for i in range(t):
        assert_close(part[i], whole[i])


def test_suggestions_for_a_prefix_are_those_of_the_longer_source_up_to_there(model):
    """Logits of query t depend only on the queries up to t."""
    session = random_session(random.Random(6), least=5)
    prev = targets(7, 1)
    whole = encode(model, [session], left_pad=False)
    for t in range(1, len(session) + 1):
        tokens = sum(map(len, session[:t]))
        up_to_t = {
            "encoder_out": [whole["encoder_out"][0][:tokens]],
            "encoder_padding_mask": [whole["encoder_padding_mask"][0][:, :tokens]],
        }
        with torch.no_grad():
            found = outputs(model, model.decoder(prev, encoder_out=up_to_t))
        assert_close(found, logits(model, [prefix(session, t)], prev), LOGIT_TOLERANCE)


def test_a_changed_query_changes_every_later_code(hierarchy):
    """The positive control: a model that ignores earlier queries passes the tests above."""
    rng = random.Random(8)
    for session in random_sessions(9, 8, least=3):
        # The ends stay the same: only the words differ.
        others = [
            [*session[:t], [*words(rng), session[t][-1]], *session[t + 1 :]]
            for t in range(len(session))
        ]
        before, *after = codes(hierarchy, [session, *others])
        for t, found in enumerate(after):
            for i in range(t + 1, len(session)):
                assert (found[i] - before[i]).abs().max() > DIFFERENT, (session, t, i)


@pytest.mark.parametrize("name", [name for name in MTN_MODELS if name != "1-level"])
def test_a_changed_query_changes_the_logits(name):
    model = build(*MTN_MODELS[name])[1]
    rng = random.Random(10)
    prev = targets(11, 1)
    session = random_session(rng, least=5)
    for t in range(len(session)):
        other = [*session[:t], [*words(rng), session[t][-1]], *session[t + 1 :]]
        changed = logits(model, [other], prev) - logits(model, [session], prev)
        assert changed.abs().max() > DIFFERENT, t


@pytest.mark.parametrize("name", ["3-level", "4-level", "linear", "top", "pre-norm"])
@pytest.mark.parametrize("between", [[SESSION], [SESSION, Q], [Q, SESSION], [Q, UNIT3, Q]])
def test_an_earlier_session_reaches_the_last_query(name, between):
    """Its first query does, through the levels above the session only."""
    model = build(*MTN_MODELS[name])[1]
    rng = random.Random(12)
    texts = [words(rng) for _ in range(len(between) + 1)]
    session, other = make(texts, between), make([words(rng), *texts[1:]], between)
    before, after = codes(model, [session, other])
    assert (after[-1] - before[-1]).abs().max() > DIFFERENT


def test_where_a_session_ends_matters_to_what_follows_only():
    """`<q>` or `<session>`: the same words, but not the same history."""
    for name in ("3-level", "4-level"):
        model = build(*MTN_MODELS[name])[1]
        texts = [[W, W + 1], [W + 2], [W + 3, W + 4], [W + 5]]
        one, two = make(texts, [Q, Q, Q]), make(texts, [Q, SESSION, Q])
        before, after = codes(model, [one, two])
        for i in (0, 1):
            assert_close(after[i], before[i])
        for i in (2, 3):
            assert (after[i] - before[i]).abs().max() > DIFFERENT


def test_one_level_keeps_queries_apart():
    """Without a session level the codes of a query do not depend on other queries."""
    model = build(*MTN_MODELS["1-level"])[1]
    session = random_session(random.Random(13), least=4)
    for i, found in enumerate(codes(model, [session])[0]):
        alone = [[*session[i][:-1], EOS]]
        assert_close(found, codes(model, [alone])[0][0])


@pytest.mark.parametrize("left_pad", [True, False])
def test_a_changed_session_changes_nothing_for_its_batch_mates(model, left_pad):
    sessions = random_sessions(14, 5)
    others = [*sessions[:2], random_sessions(15, 1, least=6)[0], *sessions[3:]]
    prev = targets(16, 5)
    before, after = (codes(model, batch, left_pad=left_pad) for batch in (sessions, others))
    old, new = (logits(model, batch, prev, left_pad=left_pad) for batch in (sessions, others))
    for b in (0, 1, 3, 4):
        for i in range(len(sessions[b])):
            assert_close(after[b][i], before[b][i])
        assert_close(new[b], old[b], LOGIT_TOLERANCE)
    assert (new[2] - old[2]).abs().max() > DIFFERENT


@pytest.mark.parametrize("name", ["last-query", "last-query-3"])
def test_the_last_querys_codes_are_those_of_the_whole_session(name):
    """`--decoder-context` selects codes and does not change them."""
    arch, flags = MTN_MODELS[name]
    last = build(arch, flags)[1]
    other = flags.replace("--decoder-context query", "--decoder-context session")
    whole = copy.deepcopy(build(arch, other)[1])
    whole.load_state_dict(last.state_dict())
    sessions = random_sessions(17, 6)
    lasts = [[session[-1]] for session in sessions]
    found = split_codes(encode(last, sessions), lasts)
    for expected, (code,) in zip(codes(whole, sessions), found):
        assert_close(code, expected[-1])


# --- the same by gradients ------------------------------------------------------------------------


def gradients(model, sessions):
    """For each query, the largest gradient of its codes in each query: {(b, i): (N,)}."""
    embeddings = []

    def keep(module, inputs, output):
        embeddings.append(output.detach().requires_grad_())
        return embeddings[-1]

    hook = model.encoder.query_encoder.embed_tokens.register_forward_hook(keep)
    try:
        encoder_out = encoder_out_of(model, *batch(sessions))
    finally:
        hook.remove()
    (tokens,) = embeddings  # (n, C): without padding, in the order of the batch
    lengths = [len(query) for session in sessions for query in session]
    generator = torch.Generator().manual_seed(18)
    found = {}
    for b, session_codes in enumerate(split_codes(encoder_out, sessions)):
        for i, code in enumerate(session_codes):
            # A random projection, because the sum of a normalised vector is constant.
            direction = torch.randn(code.shape, generator=generator, dtype=code.dtype)
            (gradient,) = torch.autograd.grad((code * direction).sum(), tokens, retain_graph=True)
            found[b, i] = torch.stack([part.abs().max() for part in gradient.split(lengths)])
    return found


@pytest.mark.parametrize("seed", [19, 20])
def test_gradients_flow_from_earlier_queries_only(model, seed):
    sessions = random_sessions(seed, 3, least=3)
    places = [(b, j) for b, session in enumerate(sessions) for j in range(len(session))]
    levels = len(model.encoder.levels) + 1
    for (b, i), gradient in gradients(model, sessions).items():
        for (other, j), size in zip(places, gradient.tolist()):
            reaches = other == b and (j == i or (j < i and levels > 1))
            assert size > 1e-7 if reaches else size == 0, ((b, i), (other, j), size)
