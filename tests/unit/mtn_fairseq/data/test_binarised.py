"""Damaged binarised files give a one-line error with the file and the remedy."""

import random
import shutil

import numpy as np
import pytest
import torch
from fairseq.data import indexed_dataset

from mtn_fairseq.data.binarised import load_pairs
from mtn_fairseq.data.session_dictionary import SessionDictionary
from mtn_fairseq.data.spelled_words import is_well_spelled
from mtn_preprocess.errors import InputError

PREFIX = "test.session-next"
LINES = ["red car", "üx <q> car"]


@pytest.fixture(scope="module")
def dictionary():
    made = SessionDictionary()
    for word in ("<q>", "<session>", "red", "car"):
        made.add_symbol(word)
    return made


def write(folder, dictionary, lines=LINES, kind="mmap"):
    for side in ("session", "next"):
        path = str(folder / f"{PREFIX}.{side}")
        builder = indexed_dataset.make_builder(f"{path}.bin", kind, len(dictionary))
        for line in lines:
            builder.add_item(dictionary.encode_line(line, add_if_not_exist=False))
        builder.finalize(f"{path}.idx")
    return folder


def load(folder, dictionary, impl=None):
    return load_pairs(str(folder), "test", ("session", "next"), dictionary, impl, combine=False)


@pytest.fixture(params=["mmap", "cached"])
def files(request, tmp_path, dictionary):
    """The intact files of the sessions."""
    write(tmp_path, dictionary, kind=request.param)
    source, _ = load(tmp_path, dictionary)
    assert len(source) == len(LINES)
    return {end: tmp_path / f"{PREFIX}.session.{end}" for end in ("idx", "bin")}


def refused(folder, dictionary, end, impl=None):
    with pytest.raises(InputError, match=rf"^{folder}/{PREFIX}\.session.*; .*{end}") as error:
        load(folder, dictionary, impl)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("end", ["idx", "bin"])
def test_every_cut_is_found(files, dictionary, end):
    path = files[end]
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        refused(path.parent, dictionary, "fairseq-preprocess again")
    path.write_bytes(whole + b"\0")
    refused(path.parent, dictionary, "fairseq-preprocess again")


def test_every_flipped_bit_of_an_index_is_found(files, dictionary):
    path = files["idx"]
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        refused(path.parent, dictionary, "fairseq-preprocess again")


def test_a_flipped_bit_of_data_is_found_or_is_another_word(files, dictionary):
    """Reading the lines never gives a traceback, or a line without `</s>`."""
    path = files["bin"]
    whole = path.read_bytes()
    found = 0
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            source, _ = load(path.parent, dictionary)
        except InputError as error:
            assert f"{PREFIX}.session:" in str(error) and str(error).endswith("preprocess again")
            found += 1
            continue
        for i in range(len(source)):
            line = source[i]
            assert line[-1] == dictionary.eos() and line.max() < len(dictionary) + 16
            assert is_well_spelled(line.numpy(), len(dictionary), dictionary.unk())
    assert found > 4 * len(whole)  # more than half


def test_the_line_is_named(files, dictionary):
    path = files["bin"]
    content = bytearray(path.read_bytes())
    content[-1] ^= 0x40  # of the last `</s>`
    path.write_bytes(content)
    message = refused(path.parent, dictionary, "fairseq-preprocess again")
    assert message.startswith(f"{path.parent}/{PREFIX}.session:2: damaged line")


def test_lines_of_a_larger_dictionary(files, dictionary):
    larger = SessionDictionary()
    for word in ("<q>", "<session>", *map(str, range(40)), "red", "car"):
        larger.add_symbol(word)
    kind = "mmap" if files["idx"].read_bytes().startswith(b"MM") else "cached"
    folder = write(files["idx"].parent, larger, kind=kind)
    assert "another dictionary" in refused(folder, dictionary, "fairseq-preprocess again")


def test_symbols_within_a_line(tmp_path, dictionary):
    """Stock fairseq-preprocess creates them from text that contains `<pad>`."""
    for symbol in ("<s>", "<pad>", "</s>"):
        write(tmp_path, dictionary)
        path = str(tmp_path / f"{PREFIX}.session")
        builder = indexed_dataset.make_builder(f"{path}.bin", "mmap", len(dictionary))
        for line in ("red car", f"red {symbol} car"):
            words = [dictionary.index(word) for word in line.split()]
            builder.add_item(torch.tensor([*words, dictionary.eos()]))
        builder.finalize(f"{path}.idx")
        assert ".session:2: damaged line" in refused(tmp_path, dictionary, "preprocess again")


def test_an_empty_split(tmp_path, dictionary):
    write(tmp_path, dictionary, lines=[])
    assert ".session.idx: no pairs; " in refused(tmp_path, dictionary, "preprocess again")


def test_files_of_another_kind(files, dictionary):
    is_mmap = files["idx"].read_bytes().startswith(b"MM")
    asked, kind = ("lazy", "mmap") if is_mmap else ("mmap", "cached")
    message = refused(files["idx"].parent, dictionary, "or nothing", impl=asked)
    assert message.endswith(f"not a file for --dataset-impl {asked}; pass {kind}, or nothing")


def test_raw_text_is_checked_as_text(tmp_path, dictionary):
    for side in ("session", "next"):
        (tmp_path / f"{PREFIX}.{side}").write_text("red car\ncar\n", encoding="utf-8")
    source, _ = load(tmp_path, dictionary, impl="raw")
    assert source[1].tolist() == [7, 2]
    (tmp_path / f"{PREFIX}.session").write_text("red car\ncar <pad>\n", encoding="utf-8")
    assert ".session:2: <pad> in the text" in refused(tmp_path, dictionary, "escaped")


def test_half_of_the_files(files, dictionary):
    shutil.move(str(files["idx"]), str(files["idx"]) + ".lost")
    with pytest.raises(InputError, match="no binarised session-next pairs; run fairseq-preproc"):
        load(files["idx"].parent, dictionary)


@pytest.mark.parametrize(
    "letters, good",
    [
        ("c3a9", True),
        ("61", True),
        ("", True),
        ("c3", False),  # half a character
        ("a9", False),
        ("6", False),
        ("20", False),  # a space would split the word
        ("0a", False),
    ],
)
def test_what_is_spelled(letters, good):
    digits = [20 + int(digit, 16) for digit in letters]
    line = np.array([5, 3, *digits, 3, 20 + 6, 20 + 1, 2], dtype=np.uint16)
    assert is_well_spelled(line, 20, unk=3) is good
    assert is_well_spelled(np.append(line[:1], line), 20, unk=3) is good
    if digits:
        assert not is_well_spelled(line[2:], 20, unk=3)  # nothing before it
        line[1] = 6
        assert not is_well_spelled(line, 20, unk=3)  # a known word before it


def test_a_character_cannot_span_two_words():
    line = np.array([3, 20 + 0xC, 20 + 3, 3, 20 + 0xA, 20 + 9, 2])
    assert not is_well_spelled(line, 20, unk=3)


def test_random_bytes(files, dictionary):
    rng = random.Random(3)
    for path in files.values():
        whole = path.read_bytes()
        path.write_bytes(bytes(rng.randrange(256) for _ in whole))
        refused(path.parent, dictionary, "preprocess again")
        path.write_bytes(whole)
