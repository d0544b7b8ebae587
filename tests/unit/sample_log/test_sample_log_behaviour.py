"""The law of the sample log's sessions: cases computed by hand, and properties of every prefix."""

import re
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from mtn_sample_log import Process
from mtn_sample_log.behaviour import Behaviour
from mtn_sample_log.query import ASPECT, COMPARE, ENTITY, HEAD, SITE, TYPO, Query, Shape
from mtn_sample_log.topics import TOPICS
from mtn_sample_log.world import World

pytestmark = pytest.mark.unit
PROCESS = Process()
OPENINGS = sorted(PROCESS.first_queries())


@st.composite
def prefixes(draw, longest=7):
    """A session that the process can issue; rare moves are as likely as common ones."""
    prefix = [draw(st.sampled_from(OPENINGS))]
    for _ in range(draw(st.integers(0, longest - 1))):
        prefix.append(draw(st.sampled_from(sorted(PROCESS.next_queries(prefix)))))
    return prefix


def test_after_one_query_by_hand():
    """Two members, one aspect, one site: "a hotels" has exactly these five continuations."""
    law = Behaviour(Shape(2, 1, 1)).next_queries((Query(ASPECT, 0, 0),))
    # Thread 0.48: the other member. Else: drop 2.5, generalise 1.5, switch 2, keep 2, interrupt 3
    other = 0.48 + 0.52 * 2 / 11
    assert law == pytest.approx(
        {
            Query(ENTITY, 1): other * 0.8,
            Query(TYPO, 1): other * 0.2,
            Query(ENTITY, 0): 0.52 * 2.5 / 11,
            Query(HEAD): 0.52 * 1.5 / 11,
            Query(ASPECT, 1, 0): 0.52 * 2 / 11,
            Query(SITE, 0): 0.52 * 3 / 11,
        }
    )


def test_aspect_is_carried_over_by_hand():
    """ "a hotels", "b": the thread is "b hotels"; without the first query it is unknown."""
    law = Behaviour(Shape(2, 1, 1)).next_queries((Query(ASPECT, 0, 0), Query(ENTITY, 1)))
    # thread 0.68: carry. Else: specify 2 + 3, generalise 1.5, compare 1, interrupt 2.5
    assert law == pytest.approx(
        {
            Query(ASPECT, 1, 0): 0.68 + 0.32 * 5 / 10,
            Query(HEAD): 0.32 * 1.5 / 10,
            Query(COMPARE, 0, 1): 0.32 * 1 / 10,
            Query(SITE, 0): 0.32 * 2.5 / 10,
        }
    )


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        ("london hotels | paris", "paris hotels"),  # repeat the earlier aspect
        ("london museums | paris", "paris museums"),
        ("london hotels | pariss", "paris hotels"),  # correct the spelling and repeat it
        ("pariss", "paris"),  # correct the spelling; no aspect to carry
        ("london | paris", "london to paris"),  # compare
        ("london | paris | paris map", "london map"),  # come back
        ("london map | paris map", "rome map"),  # the next member …
        ("london map | paris map | london hotels", "paris hotels"),
        ("london map | paris map | rome map | barcelona map", "london hotels"),  # … if any is left
        ("rome map | rome hotels", "rome flights"),  # the most popular aspect …
        ("rome flights | rome hotels", "rome map"),  # … not yet asked
        ("rome map | european cities", "barcelona map"),
        ("rome map | rome hotels | mapquest", "rome flights"),  # the thread goes on
        ("paris map | rome | rome map | barcelona | barcelona map", "paris to barcelona"),
    ],
)
def test_thread(session, expected):
    law = PROCESS.next_queries(session.split(" | "))
    assert max(law, key=law.get) == expected
    assert law[expected] > 0.6


def test_first_queries_sum_to_one():
    assert fsum(PROCESS.first_queries().values()) == pytest.approx(1, abs=1e-12)


@examples(300)
@given(prefixes())
def test_next_queries_are_a_law(prefix):
    law = PROCESS.next_queries(prefix)
    assert fsum(law.values()) == pytest.approx(1, abs=1e-12)
    assert min(law.values()) > 0
    assert prefix[-1] not in law, "a successive repeat would be dropped by preparation"


def test_wording():
    texts = [text for phrases in PROCESS.world.families for text in phrases.queries]
    assert all(re.fullmatch(r"[a-z0-9]+( [a-z0-9]+){0,4}", text) for text in texts)
    assert 500 <= len({word for text in texts for word in text.split()}) <= 900


@pytest.mark.parametrize(
    "prefix",
    [
        [],
        [""],
        ["no such query"],
        ["mapquest"],  # no session starts with a site
        ["london", "honda civic"],  # two families
        ["london", "london"],  # a repeat
        ["london", "london hotels", "paris to rome"],  # comparison with a member not visited
    ],
)
def test_impossible_prefix_is_named(prefix):
    with pytest.raises(ValueError, match=re.escape(repr(prefix))):
        PROCESS.next_queries(prefix)


def test_world_refuses_ambiguous_words():
    with pytest.raises(ValueError, match="more than one family"):
        World([TOPICS[0], TOPICS[0]])
