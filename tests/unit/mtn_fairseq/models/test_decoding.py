"""Incremental decoding equals full decoding; beams can be reordered at any step."""

import pytest
import torch
from sessions import (
    ALL_MODELS,
    LOGIT_TOLERANCE,
    MTN_MODELS,
    assert_close,
    batch,
    build,
    encode,
    flat,
    logits,
    outputs,
    random_sessions,
    targets,
)

STEPS = 5


@pytest.fixture(params=ALL_MODELS)
def model(request):
    return build(*ALL_MODELS[request.param])[1]


@torch.no_grad()
def step(model, prev_output_tokens, encoder_out, state):
    """(B, V): the logits of the newest token, as fairseq's generator requests them."""
    out = model.decoder(prev_output_tokens, encoder_out=encoder_out, incremental_state=state)
    return outputs(model, out)[:, -1]


@pytest.mark.parametrize("left_pad", [True, False])
def test_incremental_decoding_equals_full_decoding(model, left_pad):
    sessions, prev = random_sessions(1, 4), targets(2, 4, STEPS)
    full = logits(model, sessions, prev, left_pad=left_pad)
    encoder_out, state = encode(model, sessions, left_pad=left_pad), {}
    for t in range(STEPS):
        found = step(model, prev[:, : t + 1], encoder_out, state)
        assert_close(found, full[:, t], LOGIT_TOLERANCE)


# Two beams for each of two sessions. fairseq's attention to the source assumes that beams stay with
# their session until a session is finished, whose beams are then removed.
@pytest.mark.parametrize("order", [[1, 0, 2, 3], [0, 0, 3, 3], [3, 2], [1, 1]])
def test_incremental_decoding_continues_after_a_reorder(model, order):
    """As in beam search after each step: some beams are dropped, others duplicated."""
    one, other = random_sessions(3, 2)
    sessions, prev = [one, one, other, other], targets(4, 4, STEPS)
    new_order = torch.tensor(order)
    encoder_out, state = encode(model, sessions), {}
    for t in range(2):
        step(model, prev[:, : t + 1], encoder_out, state)
    model.decoder.reorder_incremental_state_scripting(state, new_order)
    encoder_out = model.encoder.reorder_encoder_out(encoder_out, new_order)
    # From here on the beams differ.
    reordered = torch.cat([prev[new_order, :2], targets(5, len(order), STEPS)[:, 2:]], 1)
    full = logits(model, [sessions[i] for i in order], reordered)
    for t in range(2, STEPS):
        found = step(model, reordered[:, : t + 1], encoder_out, state)
        assert_close(found, full[:, t], LOGIT_TOLERANCE)


def leaves(value):
    """All tensors in an encoder's output, with their paths."""
    if isinstance(value, torch.Tensor):
        yield (), value
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from (((key, *place), leaf) for place, leaf in leaves(value[key]))
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from (((i, *place), leaf) for place, leaf in leaves(part))


@pytest.mark.parametrize("left_pad", [True, False])
@pytest.mark.parametrize("order", [[2, 0, 3, 1], [1, 1, 3, 0, 2, 2, 3]])
def test_reorder_encoder_out_on_every_key(model, order, left_pad):
    """The same as encoding the reordered batch."""
    sessions = random_sessions(6, 4)
    found = model.encoder.reorder_encoder_out(
        encode(model, sessions, left_pad=left_pad), torch.tensor(order)
    )
    expected = encode(model, [sessions[i] for i in order], left_pad=left_pad)
    found, expected = dict(leaves(found)), dict(leaves(expected))
    assert found.keys() == expected.keys()
    for place, value in expected.items():
        assert_close(found[place].double(), value.double())


@pytest.mark.parametrize("name", MTN_MODELS)
@pytest.mark.parametrize("left_pad", [True, False])
def test_what_the_encoder_returns(name, left_pad):
    """The keys and shapes of a stock Transformer encoder: T×B×C, B×T, B×1."""
    model = build(*MTN_MODELS[name])[1]
    sessions = random_sessions(7, 5)
    src_tokens, _ = batch(sessions, left_pad=left_pad)
    out = encode(model, sessions, left_pad=left_pad)
    assert set(out) == {
        "encoder_out",
        "encoder_padding_mask",
        "encoder_embedding",
        "encoder_states",
        "src_tokens",
        "src_lengths",
    }
    last_query_only = name.startswith("last-query")
    lengths = [len(session[-1] if last_query_only else flat(session)) for session in sessions]
    width = max(lengths) if last_query_only else src_tokens.size(1)
    assert out["encoder_out"][0].shape == (width, 5, 16)
    mask = out["encoder_padding_mask"][0]
    assert mask.shape == (5, width)
    assert mask.dtype == torch.bool
    assert (~mask).sum(1).tolist() == lengths
    assert out["src_lengths"][0].tolist() == [[length] for length in lengths]
    if not last_query_only:
        assert mask.equal(src_tokens.eq(model.encoder.padding_idx))


def test_max_positions_are_those_of_the_flat_source():
    arch, flags = MTN_MODELS["2-level"]
    model = build(arch, f"{flags} --max-source-positions 77 --max-target-positions 9")[1]
    assert model.max_positions() == (77, 9)
