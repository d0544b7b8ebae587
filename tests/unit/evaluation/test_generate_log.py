"""Reading logs: in any order, but never incomplete."""

import gzip
import io
import os
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_logs import CLOSING, Answer, lines_of, log_text, write_log

from mtn_evaluation import read_generate_log, read_system
from mtn_preprocess.errors import InputError

ANSWERS = [
    Answer("a", "b", ["b", "c"]),
    Answer("a <q> b", "c d", ["x", "c d"]),
    Answer("é <session> a", "<<unk>> 中", ["", "<unk> 中"]),
]


def read(tmp_path, text, pairs=None):
    path = tmp_path / "generate.log"
    path.write_text(text, encoding="utf-8")
    return read_system(str(path), pairs=pairs)


def refused(tmp_path, text, message, pairs=None):
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path, text, pairs)
    assert str(tmp_path / "generate.log") in str(error.value)
    return error.value


def test_a_log(tmp_path):
    log = read(tmp_path, "INFO: loading\n" + log_text(ANSWERS), pairs=3)
    assert [(p.session, p.next_query, p.ranked) for p in log.pairs] == ANSWERS
    assert log.nbest == 2
    assert log.pairs[0].token_scores == "-0.5000 -1.0000"
    assert read_generate_log(str(tmp_path / "generate.log")) == log.pairs


a_word = st.sampled_from(["a", "b", "<unk>", "ü", "D-1"])
a_line = st.lists(a_word, min_size=1, max_size=4).map(" ".join)
some_answers = st.lists(
    st.builds(Answer, a_line, a_line, st.lists(a_line, min_size=1, max_size=4)),
    min_size=1,
    max_size=6,
)


@given(some_answers, st.randoms(use_true_random=False))
def test_pairs_may_be_in_any_order_and_interleaved(tmp_path_factory, answers, shuffler):
    queues = [lines_of(i, answer).splitlines(keepends=True) for i, answer in enumerate(answers)]
    mixed = []
    while any(queues):
        mixed.append(shuffler.choice([queue for queue in queues if queue]).pop(0))
    log = read(tmp_path_factory.mktemp("log"), "".join(mixed) + CLOSING, pairs=len(answers))
    assert [(p.session, p.next_query, p.ranked) for p in log.pairs] == answers


@given(some_answers, st.integers(0, 10**6))
def test_a_dropped_or_doubled_pair_is_refused(tmp_path_factory, answers, seed):
    folder = tmp_path_factory.mktemp("log")
    chosen = seed % len(answers)
    blocks = [lines_of(i, answer) for i, answer in enumerate(answers)]
    doubled = [*blocks, blocks[chosen]]
    random.Random(seed).shuffle(doubled)
    refused(folder, "".join(doubled) + CLOSING, f"pair {chosen} a second time")
    del blocks[chosen]
    found = "no suggestions" if not blocks else f"pair {chosen} is missing"
    refused(folder, "".join(blocks) + CLOSING, found, pairs=len(answers))


@given(some_answers, st.data())
def test_a_log_cut_off_anywhere_is_refused(tmp_path_factory, answers, data):
    whole = log_text(answers)
    last = whole.rindex("beam=")
    end = data.draw(st.integers(0, last), label="end")
    refused(tmp_path_factory.mktemp("log"), whole[:end], "cut off|without|no score|other")


@given(some_answers, st.data())
def test_any_lost_line_is_refused(tmp_path_factory, answers, data):
    lines = log_text(answers).splitlines(keepends=True)
    lost = data.draw(st.integers(0, len(lines) - 1), label="lost")
    text = "".join(lines[:lost] + lines[lost + 1 :])
    refused(tmp_path_factory.mktemp("log"), text, "missing|should follow|cut off", len(answers))


def test_pairs_are_named(tmp_path):
    answers = [Answer("a", "b", ["b"])] * 9
    text = "".join(lines_of(i, answers[i]) for i in (0, 8)) + CLOSING
    refused(tmp_path, text, r"7 pairs \(1, 2, 3, 4, 5, …\) are missing .*of 9", pairs=9)
    refused(tmp_path, log_text(answers), r"pair 8 is not in the test text, which has 8", pairs=8)
    refused(tmp_path, log_text(answers), "pair 9 is missing", pairs=10)


def test_missing_last_pairs_are_found_if_their_number_is_known(tmp_path):
    """Otherwise a log ends with its highest pair number."""
    assert len(read(tmp_path, log_text(ANSWERS[:2])).pairs) == 2
    refused(tmp_path, log_text(ANSWERS[:2]), "pair 2 is missing", pairs=3)


def test_damaged_lines(tmp_path):
    block = lines_of(0, Answer("a", "b", ["b c"]))
    for spoiled, message in {
        block.replace("D-0\t-0.5\tb c\n", "D-0\t-0.5\tb cINFO\n"): ":4: D-0 has other words",
        block.replace("D-0\t-0.5\tb c\n", "D-0\t-0.5 b c\n"): ":4: no score and suggestion",
        block.replace("H-0\t-0.5\tb c\n", "H-0\tb\tb c\n"): ":3: no score and suggestion",
        block.replace("T-0\tb\n", "T-0\n"): ":2: a line without its text",
        block + "S-0\ta\n": ":6: pair 0 a second time",
        block + "T-0\tb\n": ":6: pair 0 a second time",
        block.replace("P-0", "H-0"): ":5: H-0 where P-0 should follow",
        # Two processes wrote to one file: a line of one starts inside a line of the other.
        block.replace("H-0\t-0.5\tb c\nD", "H-0\t-0.5\tb cD"): ":4: P-0 where D-0 should follow",
    }.items():
        assert spoiled != block
        refused(tmp_path, spoiled + CLOSING, message)


def test_impossible_pair_numbers(tmp_path):
    """Such a number causes neither Python's error for many digits nor an endless loop."""
    digits = "9" * 5_000
    text = log_text(ANSWERS)
    refused(
        tmp_path, f"S-{digits}\tx\n{text}", r":1: a pair number of 5,000 digits; generate again"
    )
    closing = f"Yardstick echo with nbest={digits}: 2 pairs\n"
    refused(tmp_path, log_text(ANSWERS, closing), "it was cut off")
    last = len(ANSWERS)
    message = rf"{10**17 + 1 - last} pairs \({last}, {last + 1}, .*, …\) are missing"
    refused(tmp_path, f"S-{10**17}\tx\n{text}", message)


def test_suggestions_of_fairseq_must_be_best_first(tmp_path):
    """A yardstick's scores need not decrease."""
    block = lines_of(0, Answer("a", "b", ["b", "c"]))
    rising = block.replace("H-0\t-1.5", "H-0\t-0.25").replace("D-0\t-1.5", "D-0\t-0.25")
    refused(tmp_path, rising + CLOSING, ":6: a suggestion with a higher score than the one before")
    closing = "Yardstick last with nbest=2: 1 pairs\n"
    assert read(tmp_path, rising + closing).pairs[0].ranked == ["b", "c"]
    first_lost = block.replace("".join(block.splitlines(True)[2:5]), "")
    assert read(tmp_path, first_lost + CLOSING).pairs[0].ranked == ["c"]  # cannot be detected


def test_a_shard_without_pairs_changes_nothing(tmp_path):
    whole, empty = tmp_path / "whole.log", tmp_path / "empty.log"
    empty.write_text(CLOSING)
    paths = write_log(whole, ANSWERS[:2]), str(empty)
    assert read_system(*paths) == read_system(paths[0])
    assert read_system(*paths).nbest == 2


def test_a_log_that_cannot_be_read(tmp_path, monkeypatch):
    packed = tmp_path / "generate.log.gz"
    packed.write_bytes(gzip.compress(log_text(ANSWERS).encode()))
    with pytest.raises(InputError, match=rf"generate.log.gz: compressed; give <\(zcat {packed}\)"):
        read_system(str(packed))
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        read_system(str(tmp_path / ("a" * 300)))
    monkeypatch.setattr(sys, "stdin", None)  # as after `<&-`
    with pytest.raises(InputError, match="-: standard input is closed"):
        read_system("-")


def test_files_without_suggestions(tmp_path):
    refused(tmp_path, "", "cut off")
    refused(tmp_path, CLOSING, "no suggestions in it; give the output of fairseq-generate")
    with pytest.raises(InputError, match="no such file"):
        read_system(str(tmp_path / "none.log"))
    (tmp_path / "generate.log").write_bytes(log_text(ANSWERS[:1]).encode() + b"\xff\n")
    with pytest.raises(InputError, match=r"generate.log:10: not UTF-8 at byte 1"):
        read_system(str(tmp_path / "generate.log"))


@pytest.mark.parametrize("end", [b"", b"\xff\n"], ids=["whole", "not UTF-8"])
def test_a_log_may_be_a_pipe(end):
    """Like the shell's `<(zcat generate.log.gz)`: read once, so errors cannot name the line."""
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:
        pipe.write(log_text(ANSWERS[:2]).encode() + end)
    if end:
        with pytest.raises(InputError, match=rf"/dev/fd/{reading}: not UTF-8"):
            read_system(f"/dev/fd/{reading}")
    else:
        assert len(read_system(f"/dev/fd/{reading}").pairs) == 2
    os.close(reading)


def test_word_pieces_become_words(tmp_path):
    """With our task, D, S and T have words and H has pieces; in other logs all may have pieces."""
    text = (
        "S-0\tparis hotels\nT-0\thotels <<unk>>\nH-0\t-1\t▁hotel s ▁<unk> x\n"
        "D-0\t-1\thotels <unk>x\nP-0\t-1\n"
        "S-1\t▁paris <q> ▁hotel s\nT-1\t▁hotel s\nH-1\t-1\t▁hotel s\nD-1\t-1\t▁hotel s\nP-1\t-1\n"
    )
    one, other = read(tmp_path, text + CLOSING).pairs
    assert one.ranked == ["hotels <unk>x"]
    assert other[:3] == ("paris <q> hotels", "hotels", ["hotels"])


def test_maximum_list_length(tmp_path):
    """For models it is the longest list; count-based logs state it in the last line."""
    assert read(tmp_path, log_text(ANSWERS)).nbest == 2
    counted = "Yardstick last with nbest=10: 3 pairs\n"
    assert read(tmp_path, log_text(ANSWERS, counted)).nbest == 10


def test_shards(tmp_path):
    blocks = [lines_of(i, answer) for i, answer in enumerate(ANSWERS)]
    paths = [str(tmp_path / name) for name in ("one.log", "two.log")]
    for path, content in zip(paths, (blocks[1], blocks[2] + blocks[0])):
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(content + CLOSING)
    assert [p.ranked for p in read_system(*paths, pairs=3).pairs] == [a.ranked for a in ANSWERS]
    with pytest.raises(InputError, match=r"two.log:1: pair 2 a second time"):
        read_system(*paths, paths[1])
    with pytest.raises(InputError, match=r"2 pairs \(0, 2\) are missing .*give all shards"):
        read_system(paths[0], pairs=3)


def test_the_folder_of_results_path(tmp_path):
    with pytest.raises(InputError, match="0 files generate-"):
        read_system(str(tmp_path))
    write_log(tmp_path / "generate-test.txt", ANSWERS)
    assert len(read_system(str(tmp_path)).pairs) == 3
    write_log(tmp_path / "generate-valid.txt", ANSWERS)
    with pytest.raises(InputError, match=r"2 files generate-.*name the one"):
        read_system(str(tmp_path))


def test_standard_input(tmp_path, monkeypatch):
    write_log(tmp_path / "generate.log", ANSWERS)
    with open(tmp_path / "generate.log", "rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        assert len(read_system("-").pairs) == 3
        assert os.fstat(stream.fileno())  # the caller's stream stays open


def test_parts_of_different_nbest_get_the_smallest(tmp_path):
    parts = []
    for number, answer in enumerate(ANSWERS[:2]):
        path = tmp_path / f"part{number}.log"
        shown = answer._replace(ranked=answer.ranked[: 2 - number])
        path.write_text(lines_of(number, shown) + CLOSING, encoding="utf-8")
        parts.append(str(path))
    assert read_system(*parts).nbest == 1
    assert read_system(parts[0]).nbest == 2


def test_the_last_line_of_another_part_does_not_close_a_part(tmp_path):
    first, second = (lines_of(i, answer) for i, answer in enumerate(ANSWERS[:2]))
    assert read(tmp_path, first + CLOSING + second + CLOSING, pairs=2).nbest == 2
    cut = second[: second.rindex("H-1")]
    refused(tmp_path, first + CLOSING + cut, "it was cut off", pairs=2)


def test_a_number_is_written_in_digits(tmp_path):
    log = read(tmp_path, "S-²\tx\n" + log_text(ANSWERS), pairs=3)
    assert [pair.session for pair in log.pairs] == [answer.session for answer in ANSWERS]
