"""Hypotheses of models whose weights make them differ."""

import copy

import pytest
import torch
from sessions import DICTIONARY, batch

from mtn_fairseq.copying.words import SLOTS


def restless(model, seed=1, ends=2.5):
    """Add noise to the weights, so that hypotheses differ and change places in the beam.

    A larger `ends` makes them end sooner.
    """
    model = copy.deepcopy(model).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.3 * noise)
    bonus = torch.zeros(len(DICTIONARY), dtype=torch.double)
    bonus[DICTIONARY.eos()] = ends
    output_layer = model.decoder.output_layer
    model.decoder.output_layer = lambda features: output_layer(features) + bonus
    return model


def answers(generator_class, model, sessions, prefix_tokens=None, **options):
    """Tokens and scores of all hypotheses of each session, best first."""
    src_tokens, src_lengths = batch(sessions)
    sample = {"net_input": {"src_tokens": src_tokens, "src_lengths": src_lengths}}
    generator = generator_class([model], DICTIONARY, max_len_b=6, **options)
    if getattr(model, "copies", False):
        generator.vocab_size = len(DICTIONARY) + SLOTS
    found = generator.generate([model], sample, prefix_tokens=prefix_tokens)
    return [
        [(h["tokens"].tolist(), h["score"].item(), h["positional_scores"].tolist()) for h in beam]
        for beam in found
    ]


def assert_same(found, expected):
    for beam, expected_beam in zip(found, expected):
        assert [tokens for tokens, *_ in beam] == [tokens for tokens, *_ in expected_beam]
        for (_, score, steps), (_, expected_score, expected_steps) in zip(beam, expected_beam):
            assert score == pytest.approx(expected_score, abs=1e-4)
            assert steps == pytest.approx(expected_steps, abs=1e-4)
