"""Differences of two systems: against sacrebleu's test, by hand, and for equal systems."""

import math

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from mtn_evaluation import compare, pair_rows
from mtn_evaluation.suggestion_scores import figures

WORDS = [*"abcdefgh"]


def a_query(random):
    return " ".join(random.choice(WORDS, size=random.integers(4, 8)))


def some_systems(pairs, *copied):
    """Next queries, and for each system a list whose first `right` suggestions are correct."""
    random = np.random.default_rng(3)
    asked = [a_query(random) for _ in range(pairs)]
    systems = [
        [query if i < right else a_query(random) for i, query in enumerate(asked)]
        for right in copied
    ]
    return asked, systems


def by_figure(differences):
    return {difference.figure: difference for difference in differences}


@pytest.mark.parametrize("copied", [(10, 14), (10, 30), (20, 20)])
def test_bleu_like_sacrebleu(copied, monkeypatch):
    """Same resamples, so the same p; and the interval contains sacrebleu's mean."""
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    asked, (one, other) = some_systems(60, *copied)
    metric = BLEU(tokenize="none", smooth_method="none", force=True, references=[asked])
    _, results = PairedTest(
        [("one", one), ("other", other)], {"BLEU": metric}, None, test_type="bs", n_samples=300
    )()
    theirs = results["BLEU"]
    rows = [pair_rows([[s] for s in system], asked, at=[]) for system in (one, other)]
    (found,) = compare(rows[0], rows[1:], at=[], samples=300, seed=7)
    bleu = by_figure(found)["bleu"]
    assert bleu.p == pytest.approx(theirs[1].p_value)
    assert bleu.difference == pytest.approx(theirs[1].score - theirs[0].score)
    assert bleu.low < theirs[1].mean - theirs[0].mean < bleu.high


def test_exact_match_by_hand():
    """One pair of four differs. Drawn 0 to 4 times, it makes a difference of 0 to 100 points."""
    asked = ["a"] * 4
    one, other = ["a", "x", "x", "x"], ["a", "a", "x", "x"]
    rows = [pair_rows([[s] for s in system], asked, at=[1]) for system in (one, other)]
    (found,) = compare(rows[0], rows[1:], at=[1], samples=4000, seed=1)
    exact = by_figure(found)["exact"]
    assert exact.difference == 25
    assert exact == by_figure(found)["mrr@1"]._replace(figure="exact")
    # P(0 times) = (3/4)^4 = 0.316, P(at least 3 times) = 0.051, P(4 times) = 0.004
    assert (exact.low, exact.high) == (0, 75)


def test_a_system_does_not_differ_from_itself():
    asked, (one,) = some_systems(30, 10)
    rows = pair_rows([[s] for s in one], asked, at=[1])
    (found,) = compare(rows, [rows], at=[1], samples=50)
    assert {d.figure for d in found} >= {"bleu", "1-gram", "exact", "mrr@1", "hit@1"}
    for difference in found:
        assert (difference.difference, difference.low, difference.high) == (0, 0, 0)
        assert difference.p == 1


def test_figures_that_one_system_lacks_are_not_compared():
    asked = ["a b c d"] * 3
    ranked = [["x", "a b c d"]] * 3
    short = pair_rows(ranked, asked, at=[2, 5], nbest=2)
    long = pair_rows(ranked, asked, at=[2, 5], nbest=5)
    for baseline, system in ((short, long), (long, short)):
        (found,) = compare(baseline, [system], at=[2, 5], samples=20)
        assert {"mrr@2", "hit@2"} <= set(by_figure(found))
        assert not {"mrr@5", "hit@5", "length"} & set(by_figure(found))
        assert all(math.isfinite(number) for d in found for number in d[1:])


def test_only_the_seed_decides_not_other_systems():
    asked, systems = some_systems(40, 10, 20, 30)
    rows = [pair_rows([[s] for s in system], asked, at=[1]) for system in systems]
    one, two = compare(rows[0], rows[1:], at=[1], samples=70, seed=5)
    assert compare(rows[0], rows[2:], at=[1], samples=70, seed=5) == [two]
    assert compare(rows[0], rows[1:2], at=[1], samples=70, seed=6) != [one]
    (reverse,) = compare(rows[1], rows[:1], at=[1], samples=70, seed=5)
    for there, back in zip(one, reverse):
        assert (back.difference, back.low, back.high) == pytest.approx(
            (-there.difference, -there.high, -there.low)
        )


def test_runs_are_compared_by_their_means():
    """Each run's differences scatter around that of the means, which is less uncertain."""
    asked, systems = some_systems(80, 20, 30, 26, 34)
    rows = [pair_rows([[s] for s in system], asked, at=[1]) for system in systems]
    apart = [by_figure(found) for found in compare(rows[0], rows[1:], at=[1], samples=200, seed=5)]
    (found,) = compare(rows[0], [np.stack(rows[1:])], at=[1], samples=200, seed=5)
    for figure, difference in by_figure(found).items():
        mean = sum(run[figure].difference for run in apart) / 3
        assert difference.difference == pytest.approx(mean)
    exact = by_figure(found)["exact"]
    assert exact.difference == pytest.approx(100 * (30 + 26 + 34 - 3 * 20) / 3 / 80)
    assert exact.low > min(run["exact"].low for run in apart)
    one = compare(rows[0], rows[1:2], at=[1], samples=200, seed=5)
    assert compare(rows[0][None], [np.stack(rows[1:2] * 2)], at=[1], samples=200, seed=5) == one


def test_equal_runs_have_no_difference_despite_rounding():
    """The mean of three equal figures may differ from the figure in its last bit."""
    uneven = 0
    for right in range(1, 40):
        asked, (system,) = some_systems(87, right)
        rows = pair_rows([[s] for s in system], asked, at=[1])
        figure = figures(rows.sum(axis=0), len(rows), [1])["exact"]
        uneven += np.mean([figure] * 3) != figure
        (found,) = compare(rows, [np.stack([rows] * 3)], at=[1], samples=20, seed=5)
        for difference in found:
            assert difference[1:] == (0, 0, 0, 1)
    assert uneven  # otherwise this test shows nothing


# --- people ---------------------------------------------------------------------------------------


def test_people_with_one_pair_each_are_resampled_like_pairs():
    """The numbers of the people do not matter."""
    asked, systems = some_systems(40, 10, 20, 30)
    rows = [pair_rows([[s] for s in system], asked, at=[1]) for system in systems]
    people = np.random.default_rng(1).permutation(40) * 7
    for given in (people, people.tolist(), range(40)):
        found = compare(rows[0], rows[1:], at=[1], samples=70, seed=5, people=given)
        assert found == compare(rows[0], rows[1:], at=[1], samples=70, seed=5)


def test_pair_order_and_people_numbers_do_not_matter():
    """Only the order of the people's first pairs matters, because it numbers the draws."""
    asked, (one, other) = some_systems(30, 5, 15)
    rows = [pair_rows([[s] for s in system], asked, at=[1]) for system in (one, other)]
    people = np.repeat([4, 9, 2, 7, 1, 3], 5)
    (found,) = compare(rows[0], rows[1:], at=[1], samples=50, seed=5, people=people)
    (renamed,) = compare(rows[0], rows[1:], at=[1], samples=50, seed=5, people=people + 100)
    order = np.arange(30).reshape(6, 5).T.ravel()  # round robin over the people
    mixed = [each[order] for each in rows]
    (again,) = compare(mixed[0], mixed[1:], at=[1], samples=50, seed=5, people=people[order])
    assert found == renamed == again


def test_two_people_by_hand():
    """One person with one correct pair, one with three wrong: resamples of 2, 4 or 6 pairs."""
    asked = ["a"] * 4
    baseline = pair_rows([["x"]] * 4, asked, at=[])
    system = pair_rows([["a"], ["x"], ["x"], ["x"]], asked, at=[])
    (found,) = compare(baseline, [system], at=[], samples=200, seed=1, people=[1, 2, 2, 2])
    exact = by_figure(found)["exact"]
    # The first person twice: 100 percent of two pairs. The second twice: none of six.
    assert (exact.difference, exact.low, exact.high) == (25, 0, 100)


def test_similar_pairs_of_a_person_widen_the_interval():
    """Ten equal pairs per person count as one: the interval is that of 30 pairs, not 300."""
    asked, (one, other) = some_systems(30, 5, 15)
    rows = [pair_rows([[s] for s in system], asked, at=[1]) for system in (one, other)]
    tenfold = [np.repeat(each, 10, axis=0) for each in rows]
    people = np.repeat(np.arange(30), 10)

    def width(rows, people=None):
        (found,) = compare(rows[0], rows[1:], at=[1], samples=400, seed=5, people=people)
        return by_figure(found)["exact"].high - by_figure(found)["exact"].low

    assert width(tenfold, people) == pytest.approx(width(rows))
    assert width(tenfold) < width(rows) / 2.5  # about the square root of ten
