"""Attention weights of the session level: those of the layers themselves, not of a copy."""

import pytest
import torch
from sessions import MTN_MODELS, Q, W, assert_close, batch, build, make

from mtn_fairseq.modules.attention_weights import session_attention

SESSION = make([[W, W + 1], [W + 2], [W + 3, W + 1], [W + 4]], [Q, Q, Q])
SOURCE = batch([SESSION])[0][0]
LATER = torch.ones(4, 4).triu(1).bool()
WITH_SESSION_LEVEL = [name for name in MTN_MODELS if name != "1-level"]
ONE_HEAD = "--encoder-embed-dim 16 --encoder-ffn-embed-dim 24 --encoder-attention-heads 1"


def watch(modules, encoder):
    """The input and output of each module while the encoder reads the session."""
    given, put_out = [], []

    def note(module, inputs, output):
        given.append(inputs)
        put_out.append(output)

    hooks = [module.register_forward_hook(note) for module in modules]
    with torch.no_grad():
        encoder(SOURCE.unsqueeze(0))
    for hook in hooks:
        hook.remove()
    return given, put_out


@pytest.mark.parametrize("name", WITH_SESSION_LEVEL)
def test_rows_sum_to_one_and_later_queries_have_weight_zero(name):
    encoder = build(*MTN_MODELS[name])[1].encoder
    layers = session_attention(encoder, SOURCE)
    assert len(layers) == len(encoder.levels[0].layers)
    for weights in layers:
        assert_close(weights.sum(1), torch.ones(4).double())
        assert (weights[LATER] == 0).all()
        assert (weights[~LATER] > 0).all()


@pytest.mark.parametrize("norm", ["", "--encoder-normalize-before"])
def test_the_weights_reproduce_the_output_of_the_layers(norm):
    """With one head, attention returns the weighted sum of the projected values."""
    encoder = build("mtn", f"{ONE_HEAD} --level-layers 1,2 {norm}")[1].encoder
    layers = encoder.levels[0].layers
    given, _ = watch(layers, encoder)
    _, put_out = watch([layer.self_attn for layer in layers], encoder)
    for layer, (x, *_), (mixed, _), weights in zip(
        layers, given, put_out, session_attention(encoder, SOURCE)
    ):
        x = layer.self_attn_layer_norm(x) if norm else x
        values = layer.self_attn.v_proj(x)
        assert_close(layer.self_attn.out_proj(weights @ values), mixed)


def test_weights_are_averaged_over_heads():
    encoder = build(*MTN_MODELS["2-level"])[1].encoder
    layer = encoder.levels[0].layers[0]
    [(x, *_)], _ = watch([layer], encoder)
    queries, keys = (
        projection(x).chunk(2, dim=1)
        for projection in (layer.self_attn.q_proj, layer.self_attn.k_proj)
    )
    heads = [
        (q @ k.T / q.size(1) ** 0.5).masked_fill(LATER, float("-inf")).softmax(1)
        for q, k in zip(queries, keys)
    ]
    assert (heads[0] - heads[1]).abs().max() > 0.01
    assert_close(session_attention(encoder, SOURCE)[0], (heads[0] + heads[1]) / 2)


def test_the_encoder_is_not_changed():
    encoder = build(*MTN_MODELS["2-level"])[1].encoder
    session_attention(encoder, SOURCE)
    assert not any(module._forward_pre_hooks for module in encoder.modules())
