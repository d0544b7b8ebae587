"""Word pieces in fairseq: encoding and decoding, the --bpe, the dictionary and the task."""

import io

import pytest
import sentencepiece
from fairseq import options, tasks
from fairseq.data import Dictionary, encoders
from hypothesis import given
from hypothesis import strategies as st

import mtn_fairseq  # noqa: F401  (registers the task and the --bpe)
from mtn_fairseq.data.session_dictionary import build_session_dictionary
from mtn_fairseq.data.session_sentencepiece import SessionSentencepiece, SessionSentencepieceConfig
from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import encode_query, is_separator
from mtn_preprocess.text.text_checks import check_pairs
from mtn_preprocess.text.word_pieces import MODEL, PieceEncoder, decode_pieces

WORDS = {"flight": 30, "flights": 20, "hotels": 9, "hotel": 8, "paris": 3, "london": 2, "bob": 50}
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>", "<q>", "<session>", "<unit3>", "madeupword0001"]


def write_model(path, words, size):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(f"{word}\t{count}" for word, count in words.items()),
        input_format="tsv",
        model_writer=model,
        vocab_size=size,
        character_coverage=1.0,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    path.write_bytes(model.getvalue())
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model") / MODEL, WORDS, 22)


@pytest.fixture(scope="module")
def encode(model):
    return PieceEncoder(model)


# --- encoding and decoding ------------------------------------------------------------------------


def test_example(encode):
    pieces = encode("flights paris <q> london hotels <session> bob <unit3> <unit12> flight")
    tokens = pieces.split()
    assert [token for token in tokens if token[0] == "<"] == [
        "<q>",
        "<session>",
        "<unit3>",
        "<unit12>",
    ]
    assert tokens[0] == "▁flights"
    assert len(tokens) > 12, "some word is cut"
    assert decode_pieces(pieces) == (
        "flights paris <q> london hotels <session> bob <unit3> <unit12> flight"
    )


# Anything except spaces and the word mark, mostly letters that the model partly knows.
typed_words = st.one_of(
    st.text("flightsbo<q>\\_0", min_size=1),
    st.text(st.characters(blacklist_categories=["Z", "C"], blacklist_characters="▁"), min_size=1),
    st.sampled_from(SYMBOLS),
    st.builds("{}{}{}".format, st.sampled_from("\\bx<"), st.sampled_from(SYMBOLS), st.text("bx0")),
)
queries = st.lists(typed_words, min_size=1, max_size=5).map(
    lambda words: encode_query(" ".join(words))
)


@given(st.data())
def test_decoding_restores_the_text(encode, data):
    """Sessions of any level: decoding restores the text, and no symbol is added or lost."""
    text = data.draw(queries)
    for separator, query in data.draw(
        st.lists(st.tuples(st.sampled_from(["<q>", "<session>", "<unit3>"]), queries), max_size=3)
    ):
        text = f"{text} {separator} {query}"
    pieces = encode(text)
    assert decode_pieces(pieces) == text
    assert list(filter(is_separator, pieces.split())) == list(filter(is_separator, text.split()))
    fairseqs = {"<s>", "<pad>", "</s>", "<unk>", *(f"madeupword{i:04}" for i in range(10))}
    assert not fairseqs & set(pieces.split())
    assert all(unit.startswith("▁") for unit in units(pieces))


def units(line):
    """The queries of a line, split at the separators."""
    queries = [[]]
    for token in line.split():
        if is_separator(token):
            queries.append([])
        else:
            queries[-1].append(token)
    return [" ".join(query) for query in queries]


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_piece_is_never_a_symbol(tmp_path, symbol):
    """Unknown characters stay together: here all characters of a symbol."""
    encode = PieceEncoder(write_model(tmp_path / MODEL, {"b": 9, "bb": 9}, 5))
    assert symbol not in encode("b" + symbol).split()
    assert "\\" + symbol in encode("b" + symbol).split()
    assert decode_pieces(encode("b" + symbol)) == "b" + symbol


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ("s ▁hotel s", "s hotels"),  # an undertrained model may suggest this
        ("▁ ▁ ▁paris ▁", "paris"),
        ("▁paris <q> s <q> <q> ▁x", "paris <q> s <q> <q> x"),
        ("▁flig <unk> s ▁ <<unk>>", "flig<unk>s <<unk>>"),
        ("cheap flights <q> paris", "cheap flights <q> paris"),  # words stay unchanged
        ("", ""),
    ],
)
def test_any_tokens_can_be_decoded(pieces, words):
    assert decode_pieces(pieces) == words


@pytest.mark.parametrize("content", [None, b"", b"no model"])
def test_a_bad_model_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / MODEL).write_bytes(content)
    with pytest.raises(InputError, match="model") as error:
        PieceEncoder(tmp_path / MODEL)
    assert "\n" not in str(error.value)


# --- the --bpe ------------------------------------------------------------------------------------


def test_bpe_by_name(model, encode):
    parser = options.get_interactive_generation_parser()
    flags = ["--bpe", "session_sentencepiece", "--sentencepiece-model", str(model), "some/folder"]
    bpe = encoders.build_bpe(options.parse_args_and_arch(parser, flags))
    assert bpe.encode("flights <q> paris") == encode("flights <q> paris")
    assert bpe.decode("▁flight s <q> ▁paris") == "flights <q> paris"


def test_bpe_keeps_prepared_text(model):
    bpe = SessionSentencepiece(SessionSentencepieceConfig(sentencepiece_model=str(model)))
    assert bpe.encode("▁flight s <q> ▁p aris") == "▁flight s <q> ▁p aris"


@pytest.mark.parametrize("symbol", ["<s>", "<pad>", "</s>", "<unk>", "madeupword0001"])
def test_bpe_encodes_typed_symbols_like_prepared_text(model, encode, symbol):
    bpe = SessionSentencepiece(SessionSentencepieceConfig(sentencepiece_model=str(model)))
    typed = bpe.encode(f"\ufeffbob {symbol}\0 <q> bob")
    assert typed == encode(rf"bob \{symbol} <q> bob") == bpe.encode(rf"bob \{symbol} <q> bob")


def test_long_words_are_not_cached(model):
    encoder = PieceEncoder(model)
    assert decode_pieces(encoder(f"bob {'bob' * 50} bob")) == f"bob {'bob' * 50} bob"
    assert encoder._cut_once.cache_info().currsize == 1


def test_bpe_without_a_model_only_decodes():
    bpe = SessionSentencepiece(SessionSentencepieceConfig())
    assert bpe.decode("▁flight s") == "flights"
    assert bpe.encode("▁flight s") == "▁flight s"
    with pytest.raises(InputError, match=r"copy sentencepiece\.model .* data folder"):
        bpe.encode("flights")


# --- the dictionary and the task ------------------------------------------------------------------


@pytest.fixture
def text(tmp_path, model, encode):
    """A training split in pieces; returns the paths that fairseq-preprocess passes on."""
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / MODEL).write_bytes(model.read_bytes())
    for name, line in {
        "train.session": "flights paris",
        "train.next": "hotels paris",
        "train.whole": "flights paris <q> hotels paris",
    }.items():
        (folder / name).write_text(encode(line) + "\n", encoding="utf-8")
    return [str(folder / "train.session"), str(folder / "train.next")]


def test_text_in_pieces_passes_the_checks(text):
    assert check_pairs(text[0][: -len(".session")]) == 1


@pytest.mark.parametrize("threshold", [0, 8])
def test_every_piece_is_in_the_dictionary(text, encode, tmp_path, threshold):
    """Else `london`, not in the training text, would be <unk> although its letters are known."""
    dictionary = build_session_dictionary(text, 1, threshold, -1, 8)
    assert (dictionary.index("<q>"), dictionary.index("<session>")) == (4, 5)
    line = encode("london hotels <q> bob")
    assert dictionary.unk() not in dictionary.encode_line(line, add_if_not_exist=False)
    dictionary.save(str(tmp_path / "dict.session.txt"))
    assert Dictionary.load(str(tmp_path / "dict.session.txt")).symbols == dictionary.symbols
    assert len(dictionary) % 8 == 0
    assert not [word for word in dictionary.symbols if "<unk>" in word and word != "<unk>"]


def test_the_model_is_saved_beside_the_dictionary(text, tmp_path, model):
    build_session_dictionary(text, 1, 0, -1, 8).save(str(tmp_path / "dict.session.txt"))
    assert (tmp_path / MODEL).read_bytes() == model.read_bytes()


def test_a_model_beside_text_in_words_is_ignored(text, tmp_path):
    for path in map(str, (*text, text[0].replace(".session", ".whole"))):
        with open(path, "w", encoding="utf-8") as file:
            file.write("flights\n")
    dictionary = build_session_dictionary(text, 1, 0, -1, 1)
    assert dictionary.symbols[4:] == ["<q>", "<session>", "flights"]
    dictionary.save(str(tmp_path / "dict.session.txt"))
    assert not (tmp_path / MODEL).exists()


def make_task(folder, *flags):
    parser = options.get_interactive_generation_parser("session_to_query")
    args = options.parse_args_and_arch(parser, [str(folder), "--task", "session_to_query", *flags])
    return tasks.setup_task(args), args


@pytest.fixture
def data(text, tmp_path):
    """A data folder with the dictionaries of text in pieces, and the model."""
    dictionary = build_session_dictionary(text, 1, 0, -1, 8)
    for language in ("session", "next"):
        dictionary.save(str(tmp_path / f"dict.{language}.txt"))
    return tmp_path


def test_the_task_needs_no_flag(data, encode):
    task, args = make_task(data)
    bpe = task.build_bpe(args)
    line = "london hotels <q> flights paris"
    indices = task.source_dictionary.encode_line(bpe.encode(line), add_if_not_exist=False)
    assert bpe.encode(line) == encode(line)
    assert bpe.decode(task.source_dictionary.string(indices)) == line


def test_the_task_decodes_without_the_model(data):
    (data / MODEL).unlink()
    task, args = make_task(data)
    assert task.build_bpe(args).decode("▁flight s") == "flights"


def test_the_task_uses_the_requested_bpe(data, model, tmp_path):
    other = write_model(tmp_path / "other.model", WORDS, 19)
    flags = ["--bpe", "session_sentencepiece", "--sentencepiece-model", str(other)]
    task, args = make_task(data, *flags)
    assert task.build_bpe(args).encode("hotels") == PieceEncoder(other)("hotels")
    assert PieceEncoder(other)("hotels") != PieceEncoder(model)("hotels")


def test_the_task_refuses_a_bpe_that_splits_separators(data, model):
    flags = ["--bpe", "sentencepiece", "--sentencepiece-model", str(model)]
    task, args = make_task(data, *flags)
    with pytest.raises(InputError, match="does not keep <q>"):
        task.build_bpe(args)


def test_text_in_words_has_no_bpe(tmp_path):
    dictionary = Dictionary()
    for word in ("<q>", "<session>", "flights"):
        dictionary.add_symbol(word)
    for language in ("session", "next"):
        dictionary.save(str(tmp_path / f"dict.{language}.txt"))
    task, args = make_task(tmp_path)
    assert task.build_bpe(args) is None
    assert task.cfg.eval_bleu_remove_bpe is None


@pytest.mark.parametrize(
    ("flags", "used"), [([], "sentencepiece"), (["--eval-bleu-remove-bpe=@@ "], "@@ ")]
)
def test_validation_compares_words(data, flags, used):
    task, _ = make_task(data, *flags)
    assert task.cfg.eval_bleu_remove_bpe == used
