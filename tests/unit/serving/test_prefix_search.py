"""Searching by prefix, compared with brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_next_queries import table_of

from mtn_serving import most_frequent
from mtn_serving.completion.next_words import next_words
from mtn_serving.completion.typing_errors import corrected_prefixes, with_other_accents
from mtn_serving.most_frequent import MostFrequent
from mtn_serving.text_pool import TextPool


@pytest.mark.parametrize("block", [1, 3, 256])
@given(st.lists(st.integers(0, 5), max_size=80), st.integers(1, 9), st.data())
def test_the_most_frequent_of_a_range(block, counts, most, data):
    """The same as sorting the range: largest count first, ties by the smaller number."""
    start = data.draw(st.integers(0, len(counts)))
    numbers = range(start, data.draw(st.integers(start, len(counts))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(most_frequent, "_BLOCK", block)
        found = MostFrequent(np.array(counts, dtype=np.uint32)).of(numbers, most)
    assert found == sorted(numbers, key=lambda number: (-counts[number], number))[:most]


def test_words_after_a_word():
    table = table_of([["x", "a bc"], ["x", "a bc"], ["x", "a bd"], ["x", "a c"], ["x", "b be"]])
    assert next_words(table, "a", "b", 9) == ["bc", "bd"]
    assert next_words(table, "a", "", 2) == ["bc", "bd"]
    assert next_words(table, "bc", "", 9) == []  # the edge of a query is no word
    assert next_words(table, "a", "x", 9) == [] == next_words(table, "never", "b", 9)


def errors_of(prefix):
    """All texts that are one error away, by brute force."""
    letters = "abé "
    found = set()
    for place in range(1, len(prefix)):
        before, behind = prefix[:place], prefix[place:]
        found.add(before + behind[1:] if behind[1:] else prefix)
        found.add(before + behind[1:2] + behind[:1] + behind[2:])
        for letter in letters if before[-1] != " " else "":  # a first letter is taken as right
            found.add(before + letter + behind)
            if behind[1:]:
                found.add(before + letter + behind[1:])
    return found - {prefix}


TEXTS = st.text(alphabet="abé ", min_size=1, max_size=7)


@given(st.lists(TEXTS, max_size=12), st.text(alphabet="abé ", min_size=4, max_size=6))
def test_one_typing_error(texts, prefix):
    wanted = {each for each in errors_of(prefix) if any(text.startswith(each) for text in texts)}
    assert corrected_prefixes(TextPool.of(texts), prefix) == sorted(wanted)


def test_no_letter_is_put_before_the_first_of_a_word():
    pool = TextPool.of(["bosch bettwäsche", "bosch ersatzteile"])
    assert corrected_prefixes(pool, "bosch e") == []
    assert corrected_prefixes(pool, "bosch bt") == ["bosch bet"]


def plain(text):
    return text.translate(str.maketrans("éêñ", "een"))


ACCENTED = st.text(alphabet="beéênñ ", min_size=1, max_size=5)


@given(st.lists(ACCENTED, max_size=12), ACCENTED)
def test_other_accents(texts, prefix):
    starts = {text[: len(prefix)] for text in texts if len(text) >= len(prefix)}
    wanted = {each for each in starts if plain(each) == plain(prefix)} - {prefix}
    assert with_other_accents(TextPool.of(texts), prefix) == sorted(wanted)


def test_letters_that_only_resemble_accented_ones_are_kept():
    texts = ["\uac01", "\uac00", "\u0131", "i", "\u094d", "\u093c"]  # syllables, letters, marks
    for prefix in texts:
        assert with_other_accents(TextPool.of(texts), prefix) == []
