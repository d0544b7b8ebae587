"""Queries that are never shown and never answered."""

from typing import Counter

import pytest

from mtn_serving.candidates import BEAM, Candidate
from mtn_serving.display_rules import ABUSE, DisplayFilter, DisplayRules, OwnText


def candidates(*texts):
    return [Candidate(text, BEAM) for text in texts]


@pytest.mark.parametrize(
    "query",
    [
        "child porn",
        "childporn",
        "kiddie sex",
        "preteen models",
        "nude little girls",
        "young nude girls",
        "12 yr old nude",
        "12yo porn",
        "<number> year old nude",
    ],
)
@pytest.mark.parametrize("rules", [DisplayRules(), DisplayRules(explicit=(), personal_data=True)])
def test_never_shown_and_never_answered(query, rules):
    """Whatever the rules allow, and even for the person's own query."""
    display = DisplayFilter(rules)
    assert not display.shown(candidates(query, "maps"), OwnText(["news", query]))
    held_back: Counter[str] = Counter()
    shown = display.shown(candidates(query, "maps"), OwnText(["news"], [query]), held_back)
    assert [each.text for each in shown] == ["maps"] and held_back == {ABUSE: 1}


@pytest.mark.parametrize(
    "query",
    [
        "child care",
        "sex education for kids",
        "lolita nabokov",
        "preteen clothes",
        "young girls dresses",
        "25 year old wine",
        "naked juice",
        "schoolgirl costume",
        "baby shower",
    ],
)
def test_harmless_queries_with_similar_words(query):
    rules = DisplayRules(explicit=())
    assert DisplayFilter(rules).shown(candidates(query), OwnText(["news"]))
