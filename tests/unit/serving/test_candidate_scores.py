"""All candidates scored in one pass get the same scores as one by one."""

import random

import numpy as np
import pytest
from fairseq.sequence_scorer import SequenceScorer
from sessions import ALL_MODELS, DICTIONARY, WORDS, build

from mtn_serving.torch_engine import candidate_scores
from mtn_serving.torch_engine.candidate_scores import _parts
from mtn_serving.torch_engine.candidate_scores import score_candidates as score_sources
from mtn_serving.torch_engine.trained_model import TrainedModel

NAMES = ["2-level", "3-level", "last-query", "hlstm", "seq2seq", "transformer", "transformer-last"]
NAMES += ["copying", "copying-last-query", "copying-transformer", "copying-seq2seq"]
models = pytest.mark.parametrize("name", NAMES)


def trained(name):
    task, model = build(*ALL_MODELS[name])
    return TrainedModel(model, task)


def score_candidates(model, sessions, candidates):
    return score_sources(model, model.sources(sessions), candidates)


def line(rng, least=1, most=4):
    words = [f"w{rng.randrange(WORDS)}" for _ in range(rng.randint(least, most))]
    return " ".join("never-seen" if rng.random() < 0.1 else word for word in words)


def cases(seed):
    """Sessions of different lengths; one of them has no candidates."""
    rng = random.Random(seed)
    sessions = [" <q> ".join(line(rng) for _ in range(rng.randint(1, 4))) for _ in range(5)]
    candidates = [[line(rng) for _ in range(count)] for count in (3, 1, 0, 7, 2)]
    return sessions, candidates


@models
def test_all_at_once_equal_one_by_one(name):
    model = trained(name)
    sessions, candidates = cases(seed=3)
    found = score_candidates(model, sessions, candidates)
    assert [len(scores.log_probability) for scores in found] == [3, 1, 0, 7, 2]
    for session, texts, scores in zip(sessions, candidates, found):
        for place, text in enumerate(texts):
            (alone,) = score_candidates(model, [session], [[text]])
            assert scores.log_probability[place] == pytest.approx(alone.log_probability[0], 1e-5)
            assert scores.tokens[place] == len(text.split()) + 1
            assert scores.unknown[place] == text.split().count("never-seen")


@models
def test_scoring_in_parts_equals_scoring_at_once(name, monkeypatch):
    """Parts limit the memory for tokens x words."""
    model = trained(name)
    sessions, candidates = cases(seed=3)
    whole = score_candidates(model, sessions, candidates)
    monkeypatch.setattr(candidate_scores, "_MAX_NUMBERS", 7 * len(DICTIONARY))
    for one, other in zip(whole, score_candidates(model, sessions, candidates)):
        np.testing.assert_allclose(one.log_probability, other.log_probability, rtol=1e-5)
        assert one.tokens.tolist() == other.tokens.tolist()


def test_parts_cover_each_target_once():
    assert list(_parts(np.array([3, 4, 1, 9, 2, 2]), 7)) == [
        slice(0, 2),
        slice(2, 3),
        slice(3, 4),
        slice(4, 6),
    ]


@models
def test_scores_equal_score_reference(name):
    """fairseq's own scorer, one session and one candidate at a time."""
    model = trained(name)
    sessions, candidates = cases(seed=4)
    scorer = SequenceScorer(DICTIONARY)
    found = score_candidates(model, sessions, candidates)
    for session, texts, scores in zip(sessions, candidates, found):
        for place, text in enumerate(texts):
            batch = model.sources([session])
            (target,) = model.targets([text], batch["unknown_words"])
            batch["target"] = target.unsqueeze(0)
            batch["net_input"]["prev_output_tokens"] = target.roll(1).unsqueeze(0)
            ((hypothesis,),) = model.task.inference_step(scorer, [model.model], batch)
            expected = float(hypothesis["positional_scores"].sum())
            assert scores.log_probability[place] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["2-level", "last-query", "hlstm", "copying"])
def test_repeated_sources_give_the_same_scores(name, monkeypatch):
    model = trained(name)
    sessions, candidates = cases(seed=5)
    once = score_candidates(model, sessions, candidates)
    monkeypatch.setattr(model.model.encoder, "reads_whole_sessions", False, raising=False)
    repeated = score_candidates(model, sessions, candidates)
    for one, other in zip(once, repeated):
        np.testing.assert_allclose(one.log_probability, other.log_probability, rtol=1e-5)


def test_no_dropout_and_the_model_stays_in_eval_mode():
    model = trained("2-level")  # with dropout
    sessions, candidates = cases(seed=6)
    first, second = (score_candidates(model, sessions, candidates) for _ in range(2))
    assert all(np.array_equal(a.log_probability, b.log_probability) for a, b in zip(first, second))
    assert not any(part.training for part in model.model.modules())


def test_unknown_words_can_be_copied_from_the_session():
    """Only words of the session itself."""
    model = trained("copying")
    sessions = ["w1 zebra <q> w2", "w1 yak <q> w2"]
    zebra, yak = score_candidates(model, sessions, [["zebra w3", "yak w3"]] * 2)
    assert zebra.log_probability[0] != pytest.approx(zebra.log_probability[1])
    np.testing.assert_allclose(zebra.log_probability, yak.log_probability[::-1], rtol=1e-6)


def test_no_candidates_at_all():
    (scores,) = score_candidates(trained("2-level"), ["w1"], [[]])
    assert len(scores.log_probability) == 0


def test_sources_keep_their_order():
    """fairseq's collater sorts by length."""
    model = trained("2-level")
    batch = model.sources(["w1", "w2 w3 <q> w4", "w5 w6"])
    first = batch["net_input"]["src_tokens"]
    assert [int(row[row.ne(DICTIONARY.pad())][0]) for row in first] == [
        DICTIONARY.index(word) for word in ("w1", "w2", "w5")
    ]
    assert batch["net_input"]["src_lengths"].tolist() == [2, 5, 3]
