"""The narrow generator returns fairseq's hypotheses and scores, if it stops as early."""

import copy
from functools import partial

import pytest
import torch
from beam_answers import answers, assert_same, restless
from fairseq.search import BeamSearch, Sampling
from fairseq.sequence_generator import SequenceGenerator
from hypothesis import given
from hypothesis import strategies as st
from sessions import ALL_MODELS, DICTIONARY, SMALL, TRANSFORMERS, batch, build, random_sessions

from examples import examples
from mtn_fairseq.generation.narrow_beam_search import NarrowSequenceGenerator, largest

NarrowAsFairseq = partial(NarrowSequenceGenerator, stop_at_first=True)


@pytest.mark.parametrize("name", ALL_MODELS)
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_hypotheses_are_fairseqs(name, beam):
    lengths = set()
    for ends in (1, 2, 4, 8):
        model = restless(build(*ALL_MODELS[name])[1], ends=ends)
        sessions = random_sessions(beam, 6)
        expected = answers(SequenceGenerator, model, sessions, beam_size=beam)
        lengths.update(len(tokens) for answer in expected for tokens, *_ in answer)
        assert_same(answers(NarrowAsFairseq, model, sessions, beam_size=beam), expected)
    assert len(lengths) > 1


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("beam", [1, 4])
def test_hypotheses_of_a_model_that_is_ready_for_inference(name, beam):
    """fairseq-generate turns off attention weights, which changes the path through the model."""
    model = restless(build(*ALL_MODELS[name])[1])
    sessions = random_sessions(beam, 6)
    expected = answers(SequenceGenerator, model, sessions, beam_size=beam)
    model.make_generation_fast_(need_attn=False)
    assert_same(answers(SequenceGenerator, model, sessions, beam_size=beam), expected)
    assert_same(answers(NarrowAsFairseq, model, sessions, beam_size=beam), expected)


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 2.0},
        {"unk_penalty": 3.0},
        {"unk_penalty": -3.0},
        {"min_len": 4},
        {"len_penalty": 0.3},
        {"normalize_scores": False},
        {"match_source_len": True},
        {"no_repeat_ngram_size": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["2-level", "last-query", "hlstm"])
def test_options(name, options):
    model = restless(build(*ALL_MODELS[name])[1])
    sessions = random_sessions(7, 5)
    found, expected = (
        answers(kind, model, sessions, beam_size=3, **options)
        for kind in (NarrowAsFairseq, SequenceGenerator)
    )
    assert_same(found, expected)


@pytest.mark.parametrize(
    ("arch", "flags"),
    [
        ("transformer", "--encoder-layers 1 --decoder-layers 2"),
        ("lstm", "--encoder-hidden-size 16 --decoder-hidden-size 16 --decoder-out-embed-dim 16"),
        ("fconv", "--encoder-layers [(16,3)] --decoder-layers [(16,3)] --decoder-out-embed-dim 16"),
    ],
)
def test_hypotheses_of_fairseqs_architectures(arch, flags):
    model = build(arch, f"--encoder-embed-dim 16 --decoder-embed-dim 16 {flags}")[1]
    longest_first = sorted(random_sessions(13, 4), key=lambda session: -sum(map(len, session)))
    found, expected = (
        answers(kind, model, longest_first, beam_size=3)
        for kind in (NarrowAsFairseq, SequenceGenerator)
    )
    assert_same(found, expected)


@pytest.mark.parametrize("name", ["2-level", "hlstm"])
def test_more_hypotheses_than_words(name):
    model = restless(build(*ALL_MODELS[name])[1])
    sessions = random_sessions(12, 2)
    found, expected = (
        answers(kind, model, sessions, beam_size=2 * len(DICTIONARY))
        for kind in (NarrowAsFairseq, SequenceGenerator)
    )
    assert len(found[0]) == len(DICTIONARY) - 1
    assert_same(found, expected)


def test_a_prefix_is_kept():
    model = restless(build(*ALL_MODELS["2-level"])[1])
    sessions = random_sessions(8, 4)
    prefix = torch.tensor([[9], [10], [11], [9]])
    found, expected = (
        answers(kind, model, sessions, prefix, beam_size=3)
        for kind in (NarrowAsFairseq, SequenceGenerator)
    )
    assert_same(found, expected)
    assert [answer[0][0][0] for answer in found] == [9, 10, 11, 9]


def test_the_model_is_not_changed():
    """Another beam width or fairseq's generator may use it next."""
    model = restless(build(*ALL_MODELS["2-level"])[1])
    sessions = random_sessions(9, 4)
    expected = answers(SequenceGenerator, copy.deepcopy(model), sessions, beam_size=2)
    answers(NarrowAsFairseq, model, sessions, beam_size=5)
    assert_same(answers(SequenceGenerator, model, sessions, beam_size=2), expected)
    answers(NarrowAsFairseq, model, sessions, beam_size=5)
    assert_same(answers(NarrowAsFairseq, model, sessions, beam_size=2), expected)


@pytest.mark.parametrize("name", ["2-level", "last-query", "seq2seq"])
def test_an_answer_does_not_depend_on_batch_mates(name):
    model = restless(build(*ALL_MODELS[name])[1])
    sessions = random_sessions(10, 5)
    together = answers(NarrowSequenceGenerator, model, sessions, beam_size=4)
    for session, answer in zip(sessions, together):
        assert_same(answers(NarrowSequenceGenerator, model, [session], beam_size=4), [answer])


def test_answers_are_ordinary_tensors_and_training_goes_on():
    """fairseq-generate changes scores in place; --eval-bleu generates during training."""
    model = restless(build(*ALL_MODELS["learned"])[1])
    src_tokens, src_lengths = batch(random_sessions(11, 3))
    sample = {"net_input": {"src_tokens": src_tokens, "src_lengths": src_lengths}}
    generator = NarrowSequenceGenerator([model], DICTIONARY, beam_size=2, max_len_b=6)
    for answer in generator.generate([model], sample):
        answer[0]["positional_scores"].div_(2)
    model.train()
    logits, _ = model(src_tokens, src_lengths, torch.tensor([[2, 9, 10]] * 3))
    logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_which_searches_are_narrow():
    def narrow(models=1, **options):
        model = build(*ALL_MODELS["2-level"])[1]
        return NarrowSequenceGenerator([model] * models, DICTIONARY, **options).can_be_narrow

    assert narrow() and narrow(search_strategy=BeamSearch(DICTIONARY))
    assert not narrow(models=2)
    assert not narrow(search_strategy=Sampling(DICTIONARY))
    assert not narrow(no_repeat_ngram_size=2)
    assert not narrow(tokens_to_suppress=(DICTIONARY[9],))
    assert not narrow(eos=DICTIONARY.index("w0"))
    assert not narrow(lm_model=torch.nn.Identity())
    adaptive = build("mtn", f"{SMALL} --adaptive-softmax-cutoff 8,16")[1]
    assert not NarrowSequenceGenerator([adaptive], DICTIONARY).can_be_narrow


@given(rows=st.integers(1, 4), width=st.integers(1, 2000), seed=st.integers(0, 999), data=st.data())
@examples(60)
def test_largest_is_topk(rows, width, seed, data):
    count = data.draw(st.integers(1, min(width, 12)))
    scores = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))
    found, places = largest(scores, count)
    expected = scores.topk(count, dim=1)
    assert found.equal(expected.values)
    assert places.equal(expected.indices)
