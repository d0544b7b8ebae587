"""The recurrent models against their equations, one unpadded session and one step at a time.

The references use no layer, no batch and no padding: tokens in, the LSTM's gates written out,
logits out. A model that starts a decoder from the state of another session of its batch, or lets it
attend to one, cannot agree with them.
"""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sessions import (
    MAX_QUERIES,
    MAX_QUERY_TOKENS,
    OTHER_MODELS,
    SESSION,
    Q,
    W,
    assert_close,
    build,
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

DOUBLE = torch.float64
TOLERANCE = 1e-12


# --- the equations --------------------------------------------------------------------------------


class LSTM:
    """One layer in one direction, with the weights of a torch layer or cell."""

    def __init__(self, module, suffix=""):
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        self.W, self.U, b, c = (getattr(module, name + suffix).data for name in names)
        self.bias = b + c
        self.zero = torch.zeros(self.U.size(1), dtype=DOUBLE)

    def step(self, x, h, c):
        """torch orders the gates: input, forget, new, output."""
        i, f, g, o = (self.W @ x + self.U @ h + self.bias).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def run(self, xs):
        """The states (h, c) after each input."""
        states, h, c = [], self.zero, self.zero
        for x in xs:
            h, c = self.step(x, h, c)
            states.append((h, c))
        return states


def both_directions(module, xs):
    """The codes of the inputs, and the last h and c; both directions concatenated."""
    there = LSTM(module, "_l0").run(xs)
    back = LSTM(module, "_l0_reverse").run(xs[::-1])
    codes = [torch.cat([a[0], b[0]]) for a, b in zip(there, back[::-1])]
    return codes, torch.cat([there[-1][0], back[-1][0]]), torch.cat([there[-1][1], back[-1][1]])


def embedded(model, tokens):
    table = model.decoder.embed_tokens.weight.data
    return [table[token] for token in tokens]


def vocabulary_scores(model, features):
    layer = model.decoder.output_projection
    return torch.stack([layer.weight.data @ f + layer.bias.data for f in features])


def seq2seq_attn(model, session, prev_output_tokens):
    """Luong: the context c of one step is an input of the next; scores are plain dot products."""
    codes, h, cell = both_directions(model.encoder.lstm.lstm, embedded(model, flat(session)))
    decoder, context, features = LSTM(model.decoder.cell), torch.zeros_like(h), []
    for x in embedded(model, prev_output_tokens):
        h, cell = decoder.step(torch.cat([x, context]), h, cell)
        weights = torch.stack([code @ h for code in codes]).exp()
        weights = weights / weights.sum()
        context = sum(weight * code for weight, code in zip(weights, codes))
        features.append(torch.cat([h, context]))
    return vocabulary_scores(model, features)


def hlstm(model, session, prev_output_tokens):
    """A query's vector is its last states; the decoder starts from the last session state."""
    summaries = []
    for query in session:
        # Every query ends in `<q>`, so its encoding does not depend on its place.
        inputs = embedded(model, [*query[:-1], Q])
        summaries.append(both_directions(model.encoder.query_lstm.lstm, inputs)[1])
    h, c = LSTM(model.encoder.session_lstm).run(summaries)[-1]
    decoder, features = LSTM(model.decoder.lstm, "_l0"), []
    for x in embedded(model, prev_output_tokens):
        h, c = decoder.step(x, h, c)
        features.append(h)
    return vocabulary_scores(model, features)


REFERENCES = {"seq2seq": seq2seq_attn, "hlstm": hlstm, "mnsrf": hlstm}


# --- compared -------------------------------------------------------------------------------------


def check(name, sessions, prev, **padding):
    model = build(*OTHER_MODELS[name])[1]
    found = logits(model, sessions, prev, **padding)
    reference = REFERENCES[name]
    expected = torch.stack([reference(model, s, p) for s, p in zip(sessions, prev.tolist())])
    assert_close(found, expected, TOLERANCE)
    return expected


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("left_pad", [True, False])
def test_a_ragged_batch(name, left_pad):
    """From one word to the largest session, not sorted by length."""
    rng = random.Random(1)
    longest = make(
        [words(rng, MAX_QUERY_TOKENS) for _ in range(MAX_QUERIES)], [Q, SESSION, Q, Q, Q]
    )
    shortest = make([[W]], [])
    sessions = [shortest, *random_sessions(2, 6), longest, *random_sessions(3, 3), shortest]
    prev = targets(4, len(sessions))
    expected = check(name, sessions, prev, left_pad=left_pad, extra_pad=2)
    # The control: the outputs differ between sessions, even with the same target so far.
    same_target = check(name, sessions[:8], targets(5, 1).repeat(8, 1))
    for a in range(8):
        for b in range(a):
            assert (same_target[a] - same_target[b]).abs().max() > 1e-3
    assert (expected[:, 1:] - expected[:, :-1]).abs().amax((1, 2)).min() > 1e-3


@given(
    sessions=st.lists(session_strategy, min_size=1, max_size=5),
    length=st.integers(1, 6),
    left_pad=st.booleans(),
)
@examples(20)
@pytest.mark.parametrize("name", ["seq2seq", "hlstm"])
def test_any_batch(name, sessions, length, left_pad):
    check(name, sessions, targets(6, len(sessions), length), left_pad=left_pad)


@pytest.mark.parametrize("left_pad", [True, False])
def test_attention_weights_cover_the_own_source(left_pad):
    """As printed by fairseq's --print-alignment: one distribution per target token."""
    model = build(*OTHER_MODELS["seq2seq"])[1]
    sessions, prev = random_sessions(7, 5), targets(8, 5)
    with torch.no_grad():
        encoder_out = encode(model, sessions, left_pad=left_pad)
        weights = model.decoder(prev, encoder_out)[1]["attn"][0]
    for row, session in zip(weights, sessions):
        real = len(flat(session))
        assert_close(row[:, :real].sum(1), torch.ones(prev.size(1), dtype=DOUBLE))
        assert (row[:, :real] > 0).all()
        assert (row[:, real:] == 0).all()
