"""Several threads share one model: each gets the result that it would get alone."""

import random
import sys
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from beam_answers import restless
from sessions import ALL_MODELS, PAD, batch, build, random_sessions, targets

from mtn_fairseq.data.spelled_words import UNKNOWN_WORDS

THREADS = 8
CALLS = 24


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def sources(model, seed):
    """`seed` sessions with some unknown words, which only a model that copies can read."""
    rng = random.Random(seed)
    sessions = random_sessions(seed, 1 + seed % 3)

    def spelled(word):
        return word + UNKNOWN_WORDS if model.copies and rng.random() < 0.3 else word

    sessions = [[[*map(spelled, words), end] for *words, end in each] for each in sessions]
    src_tokens, src_lengths = batch(sessions)
    return {"src_tokens": src_tokens, "src_lengths": src_lengths}


def assert_each_gets_its_own(answer):
    torch.set_num_threads(1)
    alone = [answer(seed) for seed in range(CALLS)]
    assert len(set(map(str, alone))) > CALLS / 2
    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(answer, range(CALLS))) == alone


@pytest.mark.parametrize("name", ALL_MODELS)
@pytest.mark.parametrize("given", [False, True], ids=["", "with a prefix"])
def test_beam_search(name, given):
    task, model = build(*ALL_MODELS[name])
    model = restless(model)
    generator = task.build_generator([model], Namespace(beam=3, max_len_b=5))

    def answer(seed):
        net_input = sources(model, seed)
        words = torch.tensor([[7 + seed % 5]] * len(net_input["src_tokens"]))
        found = task.inference_step(
            generator, [model], {"net_input": net_input}, prefix_tokens=words if given else None
        )
        return [[(h["tokens"].tolist(), h["score"].item()) for h in beam] for beam in found]

    assert_each_gets_its_own(answer)


@pytest.mark.parametrize("name", ALL_MODELS)
def test_scores(name):
    """Some threads request packed logits, others do not."""
    model = build(*ALL_MODELS[name])[1]

    def answer(seed):
        net_input = sources(model, seed)
        prev = targets(seed, len(net_input["src_tokens"]), length=3 + seed % 2)
        prev[0, 2:] = PAD
        with torch.no_grad():
            output = model(**net_input, prev_output_tokens=prev, packed=seed % 2 == 0)
            return model.get_normalized_probs(output, log_probs=True).tolist()

    assert_each_gets_its_own(answer)
