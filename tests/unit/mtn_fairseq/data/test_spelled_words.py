"""Unknown words survive binarisation; a model that does not copy reads `<unk>`."""

import tracemalloc

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary, indexed_dataset
from hypothesis import given
from hypothesis import strategies as st

from mtn_fairseq.data.flat_lines import FlatLines, read_lines
from mtn_fairseq.data.open_lines import OpenLines
from mtn_fairseq.data.session_dictionary import SessionDictionary
from mtn_fairseq.data.spelled_words import MAX_LENGTH, UNKNOWN_WORDS, UnknownWords, without_letters

KNOWN = ["<q>", "<session>", "red", "car"]
WORD = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Z"), blacklist_characters=" \ufeff"),
    min_size=1,
    max_size=8,
).filter(lambda word: word.split() == [word] and not word.startswith("<"))
LINE = st.lists(st.one_of(st.sampled_from(KNOWN), WORD), min_size=1, max_size=8).map(" ".join)


def dictionary():
    made = SessionDictionary()
    for word in KNOWN:
        made.add_symbol(word)
    return made


def encode(line, made, **options):
    return made.encode_line(line, add_if_not_exist=False, **options).long()


def test_by_hand():
    made = dictionary()  # <s> <pad> </s> <unk> <q> <session> red car: digits begin at 8
    assert encode("red é car", made).tolist() == [6, 3, *(8 + d for d in (12, 3, 10, 9)), 7, 2]
    opened = OpenLines([encode("red é car", made)], len(made))
    assert opened[0].tolist() == [6, 3, 7, 2] and opened.sizes.tolist() == [4]


@given(LINE)
def test_without_copying_it_is_fairseqs_line(line):
    plain = Dictionary()
    for word in KNOWN:
        plain.add_symbol(word)
    made = dictionary()
    opened = OpenLines([encode(line, made)], len(made))
    assert opened[0].tolist() == plain.encode_line(line, add_if_not_exist=False).tolist()
    bulk = opened.read_lines(0, 1)
    assert bulk.tokens.tolist() == opened[0].tolist() and bulk.sizes.tolist() == [len(opened[0])]


@given(st.lists(LINE, min_size=1, max_size=5))
def test_learned_words_can_be_shown(lines):
    made = dictionary()
    opened = OpenLines([encode(line, made) for line in lines], len(made), made.unknown_words)
    opened.learn_words()
    assert [made.string(line) for line in opened] == [" ".join(line.split()) for line in lines]
    assert opened.sizes.tolist() == [len(line.split()) + 1 for line in lines]
    assert [made.string(line.int()) for line in opened] == lines  # fairseq-generate's 32 bits


@given(LINE, LINE)
def test_equal_words_have_equal_indices_learned_or_not(one, other):
    for learned in (False, True):
        made = dictionary()
        words = made.unknown_words
        opened = OpenLines([encode(one, made), encode(other, made)], len(made), words)
        if learned:
            opened.learn_words()
        pairs = [
            (text, index)
            for line, indices in zip((one, other), opened)
            for text, index in zip(line.split(), indices.tolist())
        ]
        for text, index in pairs:
            assert (index >= UNKNOWN_WORDS) == (text not in KNOWN)
            for other_text, other_index in pairs:
                assert (text == other_text) == (index == other_index)


def test_learned_words_are_forgotten_at_the_limit():
    words = UnknownWords()
    words.learn("a")
    shown = words.index("a")
    words.forget_if_many()
    assert words[shown] == "a"  # few words are kept
    for number in range(300_000):
        words.learn(str(number))
    words.forget_if_many()
    assert words.index("a") < shown
    with pytest.raises(KeyError):
        words[shown]


def test_long_words_are_forgotten_sooner():
    """The memory is limited, not the number: 20,000 words of 20 KB took 403 MB."""
    words = UnknownWords()
    tracemalloc.start()
    for number in range(20_000):
        words.learn(f"{number:020000}")
        words.forget_if_many()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 1 << 27
    assert words[words.index(f"{number:020000}")] == f"{number:020000}"


@pytest.mark.parametrize("letter, most", [("x", MAX_LENGTH), ("é", MAX_LENGTH // 2)])
def test_a_very_long_word_is_not_spelled_out(letter, most):
    made = dictionary()
    assert len(encode(f"red {letter * most} car", made)) == 4 + 2 * MAX_LENGTH
    assert encode(f"red {letter * (most + 1)} car", made).tolist() == [6, 3, 7, 2]


def test_spelled_words_fit_into_fairseqs_files(tmp_path):
    """With the largest dictionary that fairseq writes in two bytes per token."""
    made = dictionary()
    while len(made) < 65_499:
        made.add_symbol(f"w{len(made)}")
    line = encode("\N{LATIN SMALL LETTER Y WITH DIAERESIS}ﬀ car", made)
    builder = indexed_dataset.make_builder(str(tmp_path / "a.bin"), "mmap", vocab_size=len(made))
    builder.add_item(line)
    builder.finalize(str(tmp_path / "a.idx"))
    stored = indexed_dataset.make_dataset(str(tmp_path / "a"), "mmap")
    assert stored._index.dtype == np.uint16
    opened = OpenLines(stored, len(made), made.unknown_words).learn_words()
    assert made.string(opened[0]) == "ÿﬀ car"


def test_options_of_fairseqs_encoder():
    made = dictionary()
    seen = []
    options = {"consumer": lambda word, index: seen.append((word, index))}
    spelled = encode("red x car", made, reverse_order=True, **options)
    assert seen == [("car", 7), ("x", 3), ("red", 6)]
    assert spelled.tolist() == [7, 3, 8 + 7, 8 + 8, 6, 2]
    assert encode("red x", made, append_eos=False).tolist() == [6, 3]  # words to be generated
    assert made.encode_line("red <unk>").tolist() == [6, 3, 2]  # fairseq's own: nothing to spell
    assert made.encode_line("red x").tolist() == [6, 8, 2]  # added to the dictionary


def test_many_lines_at_once():
    lines = FlatLines(np.array([6, 3, 9, 9, 2, 7, 2, 3, 8, 8, 2]), np.array([5, 2, 4]))
    found = without_letters(lines, 8)
    assert found.tokens.tolist() == [6, 3, 2, 7, 2, 3, 2] and found.sizes.tolist() == [3, 2, 2]
    opened = OpenLines([torch.tensor(part) for part in ([6, 3, 9, 9, 2], [7, 2])], 8)
    assert read_lines(opened, 0, 2).sizes.tolist() == [3, 2]
