"""Suggestions never contain `<unk>`, unless the task allows it."""

import copy
import logging
from argparse import Namespace

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator
from fairseq.sequence_scorer import SequenceScorer
from sessions import ALL_MODELS, DICTIONARY, batch, build, random_sessions

from mtn_fairseq.generation.narrow_beam_search import NarrowSequenceGenerator
from mtn_serving.torch_engine.beam_candidates import BeamCandidates
from mtn_serving.torch_engine.trained_model import TrainedModel

UNK = DICTIONARY.unk()
STOCK = ("transformer", "--encoder-embed-dim 16 --encoder-layers 1 --decoder-layers 1")
MODELS = {
    **{name: ALL_MODELS[name] for name in ("2-level", "copying", "hlstm")},
    "stock": STOCK,
}


def prefers_unknown(name, flags=""):
    """(task, model) in which `<unk>` is by far the likeliest word at each step."""
    arch, own = MODELS[name]
    task, model = build(arch, f"{own} {flags}")
    model = copy.deepcopy(model)
    if getattr(model, "copies", False):
        with torch.no_grad():
            model.decoder.pointer.gate.bias.add_(20)  # it generates, and copies nothing
    bonus = torch.zeros(len(DICTIONARY), dtype=torch.double)
    bonus[UNK] = 20
    output_layer = model.decoder.output_layer
    model.decoder.output_layer = lambda features: output_layer(features) + bonus
    return task, model


def suggested(task, model, seed=1, **options):
    """The generator, and the tokens of each hypothesis of some sessions."""
    generator = task.build_generator([model], Namespace(max_len_b=4, **options))
    src_tokens, src_lengths = batch(
        sorted(random_sessions(seed, 3), key=lambda session: -sum(map(len, session)))
    )
    sample = {"net_input": {"src_tokens": src_tokens, "src_lengths": src_lengths}}
    found = task.inference_step(generator, [model], sample)
    return generator, [[each["tokens"].tolist() for each in beam] for beam in found]


@pytest.mark.parametrize("name", MODELS)
def test_no_suggestion_has_unknown(name):
    generator, found = suggested(*prefers_unknown(name), beam=4)
    assert all(len(beam) == 4 for beam in found)
    assert not any(UNK in tokens for beam in found for tokens in beam)
    assert isinstance(generator, NarrowSequenceGenerator) and generator.can_be_narrow


@pytest.mark.parametrize("name", MODELS)
def test_unknown_is_generated_if_allowed(name):
    _, found = suggested(*prefers_unknown(name, "--generate-unknown"), beam=4)
    assert all(any(UNK in tokens for tokens in beam) for beam in found)


def test_more_hypotheses_than_words():
    """Hypotheses that only fill the beam are removed."""
    _, found = suggested(*prefers_unknown("2-level"), beam=2 * len(DICTIONARY))
    assert all(beam for beam in found)
    assert not any(UNK in tokens for beam in found for tokens in beam)


@pytest.mark.parametrize(
    "options",
    [{"diverse_beam_groups": 2}, {"sampling": True}, {"print_alignment": "hard"}],
    ids=str,
)
def test_other_searches(options):
    _, found = suggested(*prefers_unknown("stock"), beam=4, **options)
    assert all(beam for beam in found)
    assert not any(UNK in tokens for beam in found for tokens in beam)


def test_penalties_count_only_where_it_is_allowed(caplog):
    task, model = prefers_unknown("2-level")
    with caplog.at_level(logging.WARNING):
        _, found = suggested(task, model, beam=2, unkpen=0.5)
    assert "--unkpen has no effect without --generate-unknown" in caplog.text
    assert not any(UNK in tokens for beam in found for tokens in beam)
    asked, model = prefers_unknown("2-level", "--generate-unknown")
    assert asked.build_generator([model], Namespace(unkpen=0.5)).unk_penalty == 0.5


def test_references_with_unknown_are_scored():
    task, model = prefers_unknown("2-level")
    generator = task.build_generator([model], Namespace(score_reference=True))
    assert isinstance(generator, SequenceScorer) and not isinstance(generator, SequenceGenerator)


def test_a_suggester_never_returns_unknown():
    """Even if training allowed `<unk>`, for validation BLEU."""
    task, model = prefers_unknown("2-level", "--generate-unknown")
    trained = TrainedModel(model.float(), task)
    (found,) = BeamCandidates(trained, beam=4)(trained.sources(["w1 w2 <q> w3"]))
    assert found.texts and not any("<unk>" in text for text in found.texts)
