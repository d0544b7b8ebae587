"""The dictionary of session data: fixed separators, words counted once per query."""

import pytest
from fairseq.binarizer import FileBinarizer, VocabularyDatasetBinarizer
from fairseq.data import Dictionary

from mtn_fairseq.data.session_dictionary import (
    SessionDictionary,
    build_session_dictionary,
    find_separators,
    fingerprint,
)
from mtn_fairseq.tasks.session_to_query import SessionToQueryTask
from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import (
    SYMBOLS,
    TextSettings,
    read_settings,
    write_settings,
)


def write(folder, sessions, queries, whole=None):
    """Write a training split as text; returns the paths that fairseq-preprocess passes."""
    (folder / "train.session").write_text("\n".join(sessions) + "\n", encoding="utf-8")
    (folder / "train.next").write_text("\n".join(queries) + "\n", encoding="utf-8")
    if whole is not None:
        (folder / "train.whole").write_text("\n".join(whole) + "\n", encoding="utf-8")
    return [str(folder / "train.session"), str(folder / "train.next")]


@pytest.fixture
def files(tmp_path):
    """One session of four queries, unrolled, and one of two."""
    return write(
        tmp_path,
        ["a", "a <q> b", "a <q> b <q> c", "d"],
        ["b", "c", "a", "d d"],
        ["a <q> b <q> c <q> a", "d <q> d d"],
    )


def make(files, threshold=-1, nwords=-1, padding_factor=1):
    return build_session_dictionary(files, 1, threshold, nwords, padding_factor)


@pytest.mark.parametrize("threshold", [-1, 0, 2, 1000])
@pytest.mark.parametrize("nwords", [-1, 7, 1])
def test_separators_have_fixed_places(files, threshold, nwords):
    dictionary = make(files, threshold, nwords)
    assert (dictionary.index("<q>"), dictionary.index("<session>")) == (4, 5)
    assert (dictionary[4], dictionary[5]) == ("<q>", "<session>")


@pytest.mark.parametrize("padding_factor", [1, 8])
@pytest.mark.parametrize("threshold", [-1, 3])
def test_a_saved_dictionary_is_read_by_any_task(files, tmp_path, threshold, padding_factor):
    dictionary = make(files, threshold, padding_factor=padding_factor)
    dictionary.save(str(tmp_path / "dict.session.txt"))
    loaded = Dictionary.load(str(tmp_path / "dict.session.txt"))
    assert loaded.symbols == dictionary.symbols
    assert loaded == dictionary
    assert len(loaded) % padding_factor == 0


def test_words_are_counted_once_per_query(files):
    """From `train.whole`: `a` occurs five times in the pairs, twice in the sessions."""
    dictionary = make(files)
    counts = dict(zip(dictionary.symbols, dictionary.count))
    assert {word: counts[word] for word in "abcd"} == {"a": 2, "b": 1, "c": 1, "d": 3}
    assert counts["<q>"] == 4
    assert dictionary.symbols[6:] == ["d", "a", "b", "c"]  # most frequent first, then by name


def test_threshold_and_nwords(files):
    assert make(files, threshold=2).symbols[6:] == ["d", "a"]
    assert make(files, nwords=7).symbols[6:] == ["d"]


def test_without_whole_sessions_prefixes_are_counted_with_a_warning(tmp_path, caplog):
    files = write(tmp_path, ["a", "a <q> b"], ["b", "c"])
    dictionary = make(files)
    assert dictionary.count[dictionary.index("a")] == 2
    assert dictionary.count[dictionary.index("b")] == 2
    assert "train.whole" in caplog.text


def test_higher_separators_are_kept(tmp_path):
    """Even if they are rare, and in the order of their levels, not of their indices."""
    history = "a a <q> a <unit4> a <q> b <session> a <unit3> a"
    files = write(tmp_path, [history], ["a"], [history])
    dictionary = make(files, threshold=5)
    assert dictionary.symbols[4:7] == ["<q>", "<session>", "a"]
    assert set(dictionary.symbols[7:]) == {"<unit3>", "<unit4>"}
    names = [dictionary[index] for index in find_separators(dictionary, "dict.session.txt")]
    assert names == ["<q>", "<session>", "<unit3>", "<unit4>"]


def test_padding_factor(files):
    dictionary = make(files, padding_factor=8)
    assert len(dictionary) == 16  # 4 special, 2 separators, 4 words
    assert dictionary.symbols[10:] == [f"madeupword{i:04d}" for i in range(6)]


def test_escaped_words_are_words(tmp_path):
    files = write(tmp_path, ["\\<q> \\<unk>"], ["\\</s>"], ["\\<q> \\<unk> <q> \\</s>"])
    dictionary = make(files)
    assert dictionary.symbols[4:] == ["<q>", "<session>", "\\</s>", "\\<q>", "\\<unk>"]
    assert dictionary.count[dictionary.unk()] == 1  # its initial count


def test_it_is_what_the_task_builds(files):
    built = SessionToQueryTask.build_dictionary(files, threshold=2, padding_factor=8)
    assert built.symbols == make(files, threshold=2, padding_factor=8).symbols


@pytest.mark.parametrize(
    "sessions, queries, message",
    [
        (["a", "b <q>"], ["b", "c"], r"train\.session:2: empty query"),
        (["a", "b"], ["b"], r"train\.session:2: 2 lines, but .*train\.next has 1"),
    ],
)
def test_bad_text_is_refused_before_anything_is_written(tmp_path, sessions, queries, message):
    with pytest.raises(InputError, match=message):
        make(write(tmp_path, sessions, queries, ["a <q> b"]))


def test_whole_sessions_that_are_not_utf8(files, tmp_path):
    (tmp_path / "train.whole").write_bytes(b"a <q> b\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"train\.whole:2: not UTF-8"):
        make(files)


def test_a_dictionary_of_another_task():
    dictionary = Dictionary()
    dictionary.add_symbol("a")
    dictionary.add_symbol("<session>")
    with pytest.raises(
        InputError, match=r"^data/dict\.en\.txt: no <q> in the dictionary.*; .*task"
    ):
        find_separators(dictionary, "data/dict.en.txt")


def test_higher_separators_are_kept_though_whole_sessions_have_none(tmp_path):
    files = write(tmp_path, ["a <unit3> b", "c"], ["d", "e"], ["b <q> d", "c <q> e"])
    dictionary = make(files, threshold=2)
    assert find_separators(dictionary, "dict") == [4, 5, dictionary.index("<unit3>")]
    assert dictionary.index("<unit3>") != dictionary.unk()


def test_validation_text_beside_the_training_text_is_checked_too(files, tmp_path):
    (tmp_path / "valid.session").write_bytes(b"a\n\xff\n")
    (tmp_path / "valid.next").write_text("b\nb\n")
    with pytest.raises(InputError, match=r"valid\.session:2: not UTF-8"):
        make(files)


def test_symbols_are_not_counted_as_words(files, tmp_path):
    (tmp_path / "train.whole").write_text("a <q> b\nc <pad>\n")
    with pytest.raises(InputError, match=r"train\.whole:2: <pad> in the text"):
        make(files)


def test_an_empty_test_set_is_refused(files, tmp_path):
    for side in ("session", "next"):
        (tmp_path / f"test.{side}").touch()
    with pytest.raises(InputError, match=r"test\.session: no pairs; "):
        make(files)


@pytest.mark.parametrize("symbol", [*Dictionary().symbols, "madeupword0000", "\ufeff\0<pad>"])
def test_no_word_of_a_line_becomes_a_symbol(symbol):
    """It is an ordinary word, whichever command encodes it."""
    dictionary = SessionDictionary()
    for word in ("<q>", "w1", "madeupword0000"):
        dictionary.add_symbol(word)
    line = dictionary.encode_line(f"w1 {symbol} <q> w1", add_if_not_exist=False).tolist()
    escaped = "\\" + symbol.replace("\ufeff", "").replace("\0", "")
    digits = [7 + int(digit, 16) for digit in escaped.encode().hex()]
    assert line == [5, 3, *digits, 4, 5, 2]
    word = dictionary.encode_line(symbol, add_if_not_exist=False, append_eos=False)
    assert word.tolist() == [3]  # a word to be generated
    dictionary.add_symbol(r"\<pad>")
    assert dictionary.encode_line("<pad>", add_if_not_exist=False).tolist() == [7, 2]


@pytest.mark.parametrize("symbol", ["<session>", "<unit3>", "<unit4>"])
def test_a_separator_that_the_dictionary_lacks_is_a_word(symbol):
    """In typed text; `<unit4>` is no separator without `<unit3>`."""
    dictionary = with_separators("<q>", "w1", "<unit4>")
    line = dictionary.encode_line(f"w1 {symbol} <q> w1", add_if_not_exist=False).tolist()
    digits = [7 + int(digit, 16) for digit in f"\\{symbol}".encode().hex()]
    assert line == [5, 3, *digits, 4, 5, 2]


def test_text_of_four_levels_is_binarised(tmp_path):
    files = write(tmp_path, ["a <q> b <session> c <unit3> d"], ["a"])
    dictionary = make(files)
    summary = binarise_file(files[0], dictionary, tmp_path / "out")
    assert summary.num_replaced == 0 and summary.num_tok == 8
    dictionary = make(write(tmp_path, ["a <unit4> d"], ["a"]))
    with pytest.raises(InputError, match=r"train\.session:1: <unit4> in the text, a separator of"):
        binarise_file(files[0], dictionary, tmp_path / "out")


def with_separators(*words):
    dictionary = SessionDictionary()
    for word in words:
        dictionary.add_symbol(word)
    return dictionary


def binarise_file(path, dictionary, output):
    binarizer = VocabularyDatasetBinarizer(dictionary)
    return FileBinarizer.multiprocess_dataset(
        str(path), "mmap", binarizer, str(output), vocab_size=len(dictionary)
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("", r"test\.session: no pairs; "),
        ("w1\nw1 <unk>\n", r"test\.session:2: <unk> in the text"),
        ("\ufeffw1\n", r"test\.session:1: a byte order mark"),
        (
            "w1 <q> w1\nw1 <unit3> w1\n",
            r"test\.session:2: <unit3> in the text, a separator .*; .* `\\<unit3>`",
        ),
    ],
)
def test_text_is_checked_wherever_it_is_binarised(tmp_path, text, message):
    """Also with --srcdict, and in another folder than the training text."""
    path = tmp_path / "test.session"
    path.write_text(text, encoding="utf-8")

    def binarise(dictionary):
        binarise_file(path, dictionary, tmp_path / "out")

    with pytest.raises(InputError, match=message):
        binarise(with_separators("<q>", "<session>", "<unit4>"))
    assert not list(tmp_path.glob("out*"))
    binarise(Dictionary())  # text of other tasks is not checked


# --- settings of the text -------------------------------------------------------------------------


def test_the_settings_of_the_text_are_saved_beside_it(files, tmp_path):
    """They are copied with --srcdict, too."""
    data, more = tmp_path / "data", tmp_path / "more"
    for folder in (data, more):
        folder.mkdir()
    make(files).save(str(data / "dict.session.txt"))
    assert read_settings(data) is None  # not written by mtn-prepare
    write_settings(tmp_path, TextSettings(SYMBOLS, True))
    make(files).save(str(data / "dict.session.txt"))
    assert read_settings(data) == TextSettings(SYMBOLS, True)
    assert sorted(path.name for path in data.iterdir()) == ["dict.session.txt", "text.json"]
    loaded = SessionToQueryTask.load_dictionary(str(data / "dict.session.txt"))
    loaded.save(str(more / "dict.session.txt"))
    assert read_settings(more) == TextSettings(SYMBOLS, True)


def test_text_of_other_settings_is_not_binarised(files, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "test.session").write_text("a\n")
    write_settings(tmp_path, TextSettings())
    write_settings(other, TextSettings(SYMBOLS))

    def binarise(path):
        FileBinarizer.multiprocess_dataset(
            str(path), "mmap", VocabularyDatasetBinarizer(make(files)), str(tmp_path / "out"), 99
        )

    with pytest.raises(InputError) as error:
        binarise(other / "test.session")
    assert str(error.value) == (
        f"{other}/text.json: its text was prepared with --characters symbols, but that of "
        f"{tmp_path}/text.json with --characters aol; make both from the same prepared text"
    )
    assert not list(tmp_path.glob("out*"))
    (other / "text.json").unlink()
    binarise(other / "test.session")
    binarise(tmp_path / "train.session")


# --- bad files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, message",
    [
        (b"<q> 0\na 5\na 5\n", "3: 'a' a second time"),
        (b"<q> 0\n<pad> 5\n", "2: '<pad>' a second time"),
        (b"<q> 0\na\n", "2: not a word and its count"),
        (b"<q> 0\na x\n", "2: not a word and its count"),
        (b"<q> 0\na 5 x\n", "2: not a word and its count"),
        (b"<q> 0\na " + 5000 * b"1" + b"\n", "2: not a word and its count"),
        (b"<q> 0\n\na 5\n", "2: not a word and its count"),
        (b"<q> 0\n 5\n", "2: not a word and its count"),
        (b"<q> 0\ncaf\xe9 5\n", "2: not UTF-8 at byte 4 of the line"),
        (b"\xef\xbb\xbf<q> 0\n", "1: a byte order mark.*"),
        (b"<q> 0\na\0b 5\n", "2: a NUL character"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, content, message):
    path = tmp_path / "dict.session.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"/dict\.session\.txt:{message}; .*fairseq-preprocess"):
        SessionToQueryTask.load_dictionary(str(path))


def test_a_missing_file_is_refused(tmp_path):
    """Such as --srcdict of fairseq-preprocess."""
    with pytest.raises(InputError, match=r"none\.txt: no such file; .*fairseq-preprocess"):
        SessionToQueryTask.load_dictionary(str(tmp_path / "none.txt"))


def test_valid_files_are_read_as_fairseq_reads_them(tmp_path):
    path = tmp_path / "dict.session.txt"
    path.write_bytes(b"<q> 0\r\na 5 \n#a 3\na 7 #fairseq:overwrite\nb -1")
    loaded = SessionDictionary.load(str(path))
    assert loaded.symbols == Dictionary.load(str(path)).symbols
    assert loaded.symbols[4:] == ["<q>", "a", "#a", "a", "b"]


def test_the_fingerprint_is_of_words_and_their_order(files):
    dictionary = make(files)
    same, fewer, other = make(files, padding_factor=1), make(files, nwords=7), make(files)
    other.symbols[-2:] = reversed(other.symbols[-2:])
    assert fingerprint(same) == fingerprint(dictionary)
    assert len({fingerprint(each) for each in (dictionary, fewer, other)}) == 3
