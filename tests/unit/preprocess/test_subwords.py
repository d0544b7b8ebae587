"""`log_to_sessions.py --sentencepiece`: what the model depends on, and the text in pieces."""

import random
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_preprocess.errors import InputError
from mtn_preprocess.log_to_sessions import main
from mtn_preprocess.subwords import count_words, encode_in_subwords, train_model
from mtn_preprocess.text.session_text import split_units
from mtn_preprocess.text.text_checks import check_pairs
from mtn_preprocess.text.text_settings import TextSettings
from mtn_preprocess.text.typed_queries import QueryReader
from mtn_preprocess.text.word_pieces import MODEL, PieceEncoder, decode_pieces

SPLITS = ("train", "valid", "test")
TYPED = ["Cheap flights to Paris", "bob@mail.com", "flight 1234", "madeupword0001", "Zürich 東京"]


def write_log(path, extra=(), seed=1):
    """25 users with random queries."""
    draw = random.Random(seed)
    words = ["cheap", "flights", "flight", "paris", "hotel", "hotels", "london", "cake", "cakes"]
    rows = []
    for user in range(25):
        for i in range(4):
            typed = f"{draw.choice(words)} {draw.choice(words)} {draw.choice([*TYPED, *extra])}"
            rows += [f"{user}\t{typed}\t2006-03-{day:02} 10:0{i}:00\t\t" for day in (1, 2)]
    path.write_text("\n".join(sorted(rows)) + "\n", encoding="utf-8")
    return path


def prepare(log, output, *flags):
    main([str(log), "--output", str(output), "--split", "60,20,20", "--seed", "3", *flags])
    return {path.name: path.read_bytes() for path in output.iterdir()}


TEXT = [f"{split}.{end}" for split in SPLITS for end in ("session", "next")] + ["train.whole"]
MASKED = ["--mask-numbers", "--mask-emails"]


@pytest.mark.parametrize("history", ["0", "2"], ids=["2 levels", "3 levels"])
def test_the_text_is_the_same_in_other_tokens(tmp_path, history):
    log = write_log(tmp_path / "log.tsv")
    words = prepare(log, tmp_path / "words", "--history", history, *MASKED)
    pieces = prepare(log, tmp_path / "pieces", "--history", history, *MASKED, "--sentencepiece=40")
    assert set(pieces) == {*words, MODEL}
    cut = 0
    for name in TEXT:
        before, after = words[name].decode().split("\n"), pieces[name].decode().split("\n")
        assert [decode_pieces(line) for line in after] == before
        assert all(line.startswith("▁") for line in after[:-1])
        assert [re.findall("<q>|<session>", line) for line in after] == [
            re.findall("<q>|<session>", line) for line in before
        ]
        cut += len(" ".join(after).split()) - len(" ".join(before).split())
    assert cut > 100
    assert (b"<session>" in pieces["train.session"]) == (history == "2")
    assert b"\xe2\x96\x81<number>" in pieces["train.whole"], "a mask is one piece"
    assert b"\xe2\x96\x81<email>" in pieces["train.whole"]
    for split in SPLITS:
        assert check_pairs(str(tmp_path / "pieces" / split)) > 5


def test_two_runs_are_the_same_byte_for_byte(tmp_path):
    log = write_log(tmp_path / "log.tsv")
    one, two = (prepare(log, tmp_path / name, "--sentencepiece", "45") for name in "ab")
    assert one == two


def test_valid_and_test_text_make_no_difference(tmp_path):
    for name, others in {"a": "hotel", "b": "strange ǅ words"}.items():
        (tmp_path / name).mkdir()
        for file in TEXT:
            line = "cheap flights <q> cheap cakes" if file.startswith("train") else others
            (tmp_path / name / file).write_text(line + "\n", encoding="utf-8")
        encode_in_subwords(tmp_path / name, 16, TEXT)
    assert (tmp_path / "a" / MODEL).read_bytes() == (tmp_path / "b" / MODEL).read_bytes()
    assert (tmp_path / "b/test.next").read_text(encoding="utf-8").count("ǅ") == 1


def test_the_sizes_of_queries_are_reported(tmp_path, capsys):
    log = write_log(tmp_path / "log.tsv")
    files = prepare(log, tmp_path / "text", "--sentencepiece", "45")
    lines = files["train.whole"].decode().splitlines()
    lengths = sorted(len(query.split()) for line in lines for query in split_units(line, 1))
    told = re.search(r"word pieces: 45; .* up to (\d+), all (\d+)", capsys.readouterr().out)
    usual, longest = int(told[1]), int(told[2])
    assert longest == lengths[-1]
    assert sum(n <= usual for n in lengths) >= 0.99 * len(lengths)
    assert sum(n < usual for n in lengths) < 0.99 * len(lengths)


# --- the model ------------------------------------------------------------------------------------

WORDS = Counter({"flights": 50, "flight": 40, "paris": 20, "<number>": 5, "<email>": 1, "hotel": 9})


def test_words_are_counted_but_not_separators(tmp_path):
    (tmp_path / "train.whole").write_text("a b <q> b <q> \\<q>\nc <q> a\n", encoding="utf-8")
    assert count_words(tmp_path / "train.whole") == {"a": 2, "b": 2, "c": 1, "\\<q>": 1}


def test_the_order_of_words_makes_no_difference():
    backwards = Counter(dict(reversed(list(WORDS.items()))))
    assert list(backwards) != list(WORDS)
    assert train_model(WORDS, 18) == train_model(backwards, 18)


def test_counts_make_a_difference():
    assert train_model(WORDS, 18) != train_model(WORDS + Counter({"flights": 500}), 18)


def test_only_the_most_frequent_words_are_used(monkeypatch, tmp_path):
    monkeypatch.setattr("mtn_preprocess.subwords._MAX_WORDS", 2)
    words = Counter({letter * 3: count for count, letter in enumerate("abcdefghij")})
    (tmp_path / MODEL).write_bytes(train_model(words, 4))
    assert set("".join(PieceEncoder(tmp_path / MODEL).pieces())) == {"▁", "i", "j"}


def test_reported_bounds_of_the_size_are_right():
    with pytest.raises(InputError, match=r"too few .*; choose --sentencepiece \d+ or more$") as few:
        train_model(WORDS, 3)
    with pytest.raises(InputError, match=r"more than .*; choose --sentencepiece \d+ or l") as many:
        train_model(WORDS, 5000)
    least, most = (int(re.search(r"\d+", error.value.remedy)[0]) for error in (few, many))
    assert 3 < least < most < 5000
    assert train_model(WORDS, least) and train_model(WORDS, most)
    for size in (least - 1, most + 1):
        with pytest.raises(InputError):
            train_model(WORDS, size)


def test_other_errors_of_sentencepiece_are_one_line():
    with pytest.raises(InputError) as error:
        train_model(Counter(), 10)
    assert "\n" not in str(error.value)


def test_a_failed_run_leaves_no_folder(tmp_path):
    log = write_log(tmp_path / "log.tsv")
    with pytest.raises(InputError, match="choose --sentencepiece"):
        prepare(log, tmp_path / "text", "--sentencepiece", "5000")
    assert [path.name for path in tmp_path.iterdir()] == ["log.tsv"]


def test_without_a_training_split():
    with pytest.raises(InputError, match="give the train split a share"):
        encode_in_subwords("unused", 60, ["test"])


@pytest.fixture(scope="module")
def encode(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / MODEL
    path.write_bytes(train_model(WORDS, 18))
    return PieceEncoder(path)


@given(
    st.one_of(
        st.text(), st.text("flightsPARIS 0123@.\\<>▁"), st.from_regex(r"\w* madeupword\d{4}\w*")
    )
)
def test_every_query_of_a_log_is_restored(encode, typed):
    query = QueryReader(TextSettings(mask_numbers=True, mask_emails=True))(typed)
    pieces = encode(query)
    assert decode_pieces(pieces) == query
    assert len(pieces.split(" ")) >= len(query.split(" "))
    assert not re.search(r"(?<!\S)(<[^ ]*|madeupword\d{4})(?!\S)", pieces)


@pytest.mark.parametrize("mask", ["<number>", "<email>"])
def test_masks_are_one_piece(encode, mask):
    assert encode(f"flight {mask}") == f"▁flight ▁{mask}"
