"""The best possible scores, checked by enumerating whole sessions and on large logs."""

from collections import Counter, defaultdict
from math import sqrt

import pytest
from sample_log_helpers import pairs_of, sessions_of

from mtn_sample_log import BestPossible, LogWriter, Process
from mtn_sample_log.best_possible import ImpossiblePair
from mtn_sample_log.process import SESSION_LENGTHS
from mtn_sample_log.topics import Family, Member, Topic
from mtn_sample_log.world import World

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def best():
    return BestPossible()


@pytest.fixture(scope="module")
def pairs():
    """About 60,000 pairs of a log with a different seed."""
    return pairs_of(sessions_of(LogWriter(seed=20060301).rows(4000)))


@pytest.fixture(scope="module")
def rates(best, pairs):
    return best.measure(pairs)


@pytest.fixture(scope="module")
def tiny():
    """Two families of two, one aspect, and a site that both share."""
    families = (
        Family("fruit", (Member("fig", "figg"), Member("plum", "plumm"))),
        Family("trees", (Member("oak", "oack"), Member("elm", "ellm"))),
    )
    return Process(World([Topic("or", ("google",), ("price",), families)]))


def all_sessions(process, length):
    """Every session of this length with its probability, from the law in words."""
    sessions = {(text,): p for text, p in process.first_queries().items()}
    for _ in range(length - 1):
        sessions = {
            (*session, text): p * chance
            for session, p in sessions.items()
            for text, chance in process.next_queries(session).items()
        }
    return sessions


def test_equals_enumeration_of_whole_sessions(tiny):
    joint, whole, total = defaultdict(lambda: defaultdict(float)), defaultdict(float), 0.0
    for length in (3, 4, 5):
        for session, p in all_sessions(tiny, length).items():
            for t in range(1, length):
                mass = SESSION_LENGTHS[length] * p
                joint[session[t - 1]][session[t]] += mass
                whole[session[:t], session[t]] += mass
                total += mass
    best = BestPossible(tiny)
    for last, law in joint.items():
        likeliest = max(law.values()) / sum(law.values())
        assert best.last_query([last]).probability == pytest.approx(likeliest)
    by_prefix = defaultdict(float)
    for (prefix, _), mass in whole.items():
        by_prefix[prefix] = max(by_prefix[prefix], mass)
    expected = sum(by_prefix.values()) / total
    last_only = sum(max(law.values()) for law in joint.values()) / total
    assert best.expected_rates() == pytest.approx((expected, last_only))


def test_one_pair_per_session_by_hand(tiny):
    """With sessions of exactly two queries the last query is the whole session."""
    best = BestPossible(tiny, shortest=2, longest=2)
    for text in tiny.first_queries():
        assert best.last_query([text]) == pytest.approx(best.whole_session([text]))


def test_gap(best):
    whole, last = best.expected_rates()
    assert 0.50 <= whole <= 0.65
    assert 0.25 <= last <= 0.35
    assert whole - last >= 0.2


def test_last_query_law_agrees_with_frequencies(best, pairs):
    following = defaultdict(Counter)
    for prefix, text in pairs:
        following[prefix[-1]][text] += 1
    squares = []
    for last, counts in following.items():
        n = sum(counts.values())
        if n >= 50:
            query, p = best.last_query([last])
            squares.append((counts[query] - n * p) ** 2 / (n * p * (1 - p)))
    assert len(squares) > 200
    assert max(squares) < 5**2
    # Each square has mean 1 and variance about 2.
    assert abs(sum(squares) / len(squares) - 1) < 5 * sqrt(2 / len(squares))


def test_first_queries_agree_with_frequencies(best, pairs):
    law = best.process.first_queries()
    counts = Counter(prefix[0] for prefix, _ in pairs if len(prefix) == 1)
    assert set(counts) <= set(law)
    assert sum(counts.values()) > 15_000
    kinds = {"head": 0.08, "alone": 0.42 * 0.8, "misspelt": 0.42 * 0.2, "aspect": 0.5}
    found = Counter()
    for text, count in counts.items():
        query = best.process.world.read([text]).queries[0]
        found[{"entity": "alone", "typo": "misspelt"}.get(query.kind, query.kind)] += count
    n = sum(found.values())
    for kind, p in kinds.items():
        assert abs(found[kind] - n * p) < 5 * sqrt(n * p * (1 - p)), kind


def test_ideal_predictors_reach_their_expectation(best, pairs, rates):
    assert rates.pairs == len(pairs)
    assert rates.skipped == 0, "every prefix of a prepared session is possible"
    error = 4 * 0.5 / sqrt(len(pairs))
    assert abs(rates.actual_whole_session - rates.expected_whole_session) < error
    assert abs(rates.actual_last_query - rates.expected_last_query) < error
    assert abs(rates.actual_last_and_place - rates.expected_last_and_place) < error
    # The means over pairs are near the population's; the bound is wider because sessions of one
    # user are similar.
    assert best.expected_rates() == pytest.approx(
        (rates.expected_whole_session, rates.expected_last_query), abs=2 * error
    )


def test_no_predictor_from_the_last_query_does_better(pairs, rates):
    """Not even one fitted to the answers, apart from its gain by overfitting."""
    following = defaultdict(Counter)
    for prefix, text in pairs:
        following[prefix[-1]][text] += 1
    hindsight = sum(max(counts.values()) for counts in following.values()) / len(pairs)
    assert rates.actual_last_query <= hindsight < rates.actual_last_query + 0.02


def test_no_predictor_from_the_last_query_and_its_place_does_better(pairs, rates):
    following = defaultdict(Counter)
    for prefix, text in pairs:
        following[prefix[-1], len(prefix)][text] += 1
    hindsight = sum(max(counts.values()) for counts in following.values()) / len(pairs)
    assert rates.actual_last_and_place <= hindsight < rates.actual_last_and_place + 0.03
    assert rates.actual_last_query < rates.actual_last_and_place < rates.actual_whole_session


def test_impossible_pairs(best):
    pairs = [(["london"], "london hotels"), (["london"], "unheard of"), (["hm"], "london")]
    with pytest.raises(ImpossiblePair, match=r"pair 2: .*'unheard of'"):
        best.measure(pairs)
    rates = best.measure(pairs, skip_impossible=True)
    assert (rates.pairs, rates.skipped) == (1, 2)
    with pytest.raises(ValueError, match="no pairs"):
        best.measure(pairs[1:], skip_impossible=True)
    with pytest.raises(ValueError, match="unheard of"):
        best.last_query(["unheard of"])
