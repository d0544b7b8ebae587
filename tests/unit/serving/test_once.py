"""Results that a batch computes once."""

from mtn_serving.once import Once


def test_each_result_is_computed_once():
    asked = []

    def length(text):
        asked.append(text)
        return len(text) or None

    lengths = Once(length)
    assert [lengths[each] for each in ("ab", "", "ab", "")] == [2, None, 2, None]
    assert asked == ["ab", ""]
