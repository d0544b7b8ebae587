"""A search ends when it has the likeliest hypotheses, not when it has enough of any."""

from itertools import product
from math import inf

import pytest
import torch
from beam_answers import answers, restless
from sessions import ALL_MODELS, DICTIONARY, batch, build, random_sessions

from mtn_fairseq.generation.ended_hypotheses import EndedHypotheses
from mtn_fairseq.generation.narrow_beam_search import NarrowSequenceGenerator

PAD, EOS = DICTIONARY.pad(), DICTIONARY.eos()


def one_session(first, length_power=0.0):
    """Beam 2. Two hypotheses of one word end, while a likelier third one continues."""
    ended = EndedHypotheses(1, 2, first, length_power, EOS, torch.device("cpu"))
    tokens, scores = torch.tensor([[EOS, 7], [EOS, 8]]), torch.tensor([[-2.0], [-3.5]])
    yes = torch.tensor([[True, True]])
    ended.add(yes, torch.tensor([[-3.0, -4.0]]), torch.tensor([[0, 1]]), tokens, scores)
    return ended


def test_continues_while_an_unfinished_hypothesis_is_likelier():
    ended = one_session(first=False)
    assert ended.are_enough(torch.tensor([-0.3])).tolist() == [False]
    tokens, scores = torch.tensor([[EOS, 9, 10]]), torch.tensor([[-0.1, -0.3]])
    ends, row = torch.tensor([[True, False]]), torch.tensor([[0, 0]])
    ended.add(ends, torch.tensor([[-0.5, -3.2]]), row, tokens, scores)
    assert ended.are_enough(torch.tensor([-2.9])).tolist() == [False]
    assert ended.are_enough(torch.tensor([-3.2])).tolist() == [True]
    best, second = ended.ranked()[0]
    assert best["tokens"].tolist() == [9, 10, EOS]
    assert best["positional_scores"].tolist() == pytest.approx([-0.1, -0.2, -0.2])
    assert second["tokens"].tolist() == [7, EOS]  # -4 is not among the two likeliest any more
    assert [float(each["score"]) for each in (best, second)] == pytest.approx([-0.5, -3.0])


def test_as_in_fairseq_the_first_ones_are_enough():
    ended = one_session(first=True)
    assert ended.are_enough(torch.tensor([-0.3])).tolist() == [True]
    assert [each["tokens"].tolist() for each in ended.ranked()[0]] == [[7, EOS], [8, EOS]]


def test_length_ranks_what_is_returned():
    """-3.9 for three tokens is -1.3 per token: less likely than -3 for two, but ranked higher."""
    ended = one_session(first=False, length_power=1.0)
    assert [float(each["score"]) for each in ended.ranked()[0]] == pytest.approx([-1.5, -2.0])
    tokens, scores = torch.tensor([[EOS, 9, 10]]), torch.tensor([[-1.0, -2.0]])
    ends, row = torch.tensor([[True, False]]), torch.tensor([[0, 0]])
    ended.add(ends, torch.tensor([[-3.9, -inf]]), row, tokens, scores)
    found = [(each["tokens"].tolist(), float(each["score"])) for each in ended.ranked()[0]]
    assert found == [([9, 10, EOS], pytest.approx(-1.3)), ([7, EOS], pytest.approx(-1.5))]


def test_a_session_without_hypotheses_is_not_done():
    ended = EndedHypotheses(2, 1, False, 1.0, EOS, torch.device("cpu"))
    assert ended.are_enough(torch.tensor([-inf, -1.0])).tolist() == [False, False]


@pytest.mark.parametrize("name", ["2-level", "last-query", "hlstm"])
def test_finds_the_likeliest_of_all_queries(name):
    """Beam search against every query of one or two words, scored one by one."""
    model = restless(build(*ALL_MODELS[name])[1], ends=1)
    words = [index for index in range(len(DICTIONARY)) if index not in (PAD, EOS)]
    queries = [*([word] for word in words), *map(list, product(words, words))]
    for session in random_sessions(5, 3):
        src_tokens, src_lengths = batch([session])
        prev = torch.tensor([[EOS, *query, *[PAD] * (2 - len(query))] for query in queries])
        with torch.no_grad():
            copies = len(prev)
            logits, _ = model(src_tokens.repeat(copies, 1), src_lengths.repeat(copies), prev)
        steps = logits.log_softmax(2)
        likelihood = [
            sum(float(steps[i, at, word]) for at, word in enumerate([*query, EOS]))
            for i, query in enumerate(queries)
        ]
        expected = sorted(zip(likelihood, queries), reverse=True)[:5]
        options = {"beam_size": 60, "len_penalty": 0.0, "max_len": 3}
        found = answers(NarrowSequenceGenerator, model, [session], **options)[0][:5]
        assert [tokens[:-1] for tokens, *_ in found] == [query for _, query in expected]
        assert [score for _, score, _ in found] == pytest.approx([p for p, _ in expected], abs=1e-4)


def test_no_worse_than_fairseqs_stop_and_often_better():
    better = 0
    for ends in (1, 2, 4):
        model = restless(build(*ALL_MODELS["2-level"])[1], ends=ends)
        sessions = random_sessions(3, 12)
        likeliest, first = (
            answers(
                NarrowSequenceGenerator,
                model,
                sessions,
                beam_size=3,
                len_penalty=0.0,
                stop_at_first=first,
            )
            for first in (False, True)
        )
        for ours, fairseqs in zip(likeliest, first):
            assert len(ours) == len(fairseqs) == 3
            assert all(a[1] >= b[1] - 1e-6 for a, b in zip(ours, fairseqs))
            better += ours[0][1] > fairseqs[0][1] + 1e-3
    assert better


def test_more_hypotheses_than_words():
    """If the dictionary is smaller than the beam, nothing continues after an end."""
    model = restless(build(*ALL_MODELS["2-level"])[1])
    found = answers(
        NarrowSequenceGenerator, model, random_sessions(12, 2), beam_size=2 * len(DICTIONARY)
    )
    for answer in found:
        assert len(answer) == len(DICTIONARY) - 1
        assert all(EOS not in tokens[:-1] and score > -inf for tokens, score, _ in answer)
