"""How queries are shown: as most people typed them, with the command and by hand."""

import pyarrow as pa
import pytest
from preparation_helpers import TRAIN_ONLY, contents, lines, run, session_rows

from mtn_preprocess import form_counts
from mtn_preprocess.errors import InputError
from mtn_preprocess.form_counts import FormCounts
from mtn_preprocess.sessions import SCHEMA
from mtn_preprocess.text.display_forms import display_form, read_forms, write_forms
from mtn_preprocess.text.text_settings import TextSettings
from mtn_preprocess.text.typed_queries import QueryReader

URL, OTHER = "www.ebay.com", "www ebay.com"


def shown(*batches, read=None):
    """The displayed forms for batches of (user, query, form), each a session."""
    counts = FormCounts()
    for batch in batches:
        columns = [
            [user for user, *_ in batch],
            range(len(batch)),
            [[query] for _, query, _ in batch],
            [[form] for *_, form in batch],
        ]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA)]
        counts.add(pa.record_batch(arrays, schema=SCHEMA))
    return list(counts.shown(read or QueryReader()))


def asked(form, *users, query="www ebay com"):
    return [(user, query, form) for user in users]


def test_the_form_of_most_people():
    assert shown(asked(URL, *"abc") + asked(OTHER, *"de") + asked("", *"fg")) == [
        ("www ebay com", URL)
    ]
    assert shown(asked(URL, *"ab") + asked("", *"cde")) == []
    assert shown() == shown(asked("", *"abc")) == []


def test_people_are_counted_not_repetitions():
    """A person who types a form repeatedly counts once."""
    assert shown(asked(URL, *"aaaaab") + asked("", *"cde")) == []
    assert shown(asked(URL, *"aaaaaa")) == []


def test_ties_go_to_the_plain_form_then_to_the_alphabet():
    assert shown(asked(URL, *"ab") + asked("", *"cd")) == []
    found = [("www ebay com", OTHER)]
    assert shown(asked(URL, *"ab") + asked(OTHER, *"cd")) == found
    assert shown(asked(OTHER, *"cd") + asked(URL, *"ab")) == found


@pytest.mark.parametrize("most", [0, 1, 1 << 21])
def test_counts_of_batches_are_added_up(monkeypatch, most):
    monkeypatch.setattr(form_counts, "_MAX_ROWS", most)
    batches = [asked(URL, "a"), asked("", "b"), asked(URL, "c"), asked("a!", "d", "e", query="a")]
    assert shown(*batches) == [("a", "a!"), ("www ebay com", URL)]


def test_a_form_with_personal_data_is_kept_however_few_typed_it():
    """So that its words make no other text: the query itself has lost the sign of an address."""
    query, form = "invoice anna keller huber de", "invoice anna.keller@huber.de"
    assert shown(asked(form, "a", query=query)) == [(query, form)]
    assert shown(asked("invoice: huber", "a", query="invoice huber")) == []


def test_a_shown_form_must_be_read_as_the_query_again():
    assert shown(asked("something else", *"abc")) == []


@pytest.mark.parametrize(
    ("typed", "form"),
    [
        ("WWW.eBay.com", "www.ebay.com"),
        (" a \t  b", "a b"),
        ("e\u0301!", "é!"),
        ("a\u202eb", ""),  # would reverse the following text
        ("a\x07b", ""),
    ],
)
def test_forms(typed, form):
    assert display_form(typed) == form


def test_the_file(tmp_path):
    assert read_forms(tmp_path) == {}
    write_forms(tmp_path, [("a", "a!"), ("é b", "é-b")])
    assert read_forms(tmp_path) == {"a": "a!", "é b": "é-b"}
    for line in ("a", "a\tb\tc", "\tb", "a\t", "a\tb\u202e"):
        (tmp_path / "display.tsv").write_text(f"x\tx!\n{line}\n", encoding="utf-8")
        with pytest.raises(InputError, match=r"display.tsv:2: not a query and how it is shown"):
            read_forms(tmp_path)


# --- by the command -------------------------------------------------------------------------------


def log_of(*sessions):
    rows = "".join(
        session_rows(f"u{number}", "2006-03-01 10:00", *queries)
        for number, queries in enumerate(sessions)
    )
    return "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + rows


def test_the_forms_of_a_log(tmp_path):
    sessions = [
        ("www.eBay.com", "Bob's pizza", "weather"),
        ("www.ebay.com", "bob s pizza", "Weather"),
        ("www ebay com", "bob's  pizza", "weather!"),
    ]
    folder = run(tmp_path, log_of(*sessions), *TRAIN_ONLY)
    assert lines(folder / "display.tsv") == ["bob s pizza\tbob's pizza", f"www ebay com\t{URL}"]


def test_masked_text_is_not_shown(tmp_path):
    sessions = [("call 555-1234", "Bob@x.org", "a!")] * 3
    flags = ["--mask-numbers", "--mask-emails"]
    folder = run(tmp_path, log_of(*sessions), *TRAIN_ONLY, *flags)
    assert lines(folder / "train.whole")[0] == "call <number> <q> <email> <q> a"
    assert lines(folder / "display.tsv") == ["a\ta!"]
    assert not any(b"bob" in text or b"555" in text for text in contents(folder).values())


def test_only_training_sessions_count(tmp_path):
    """Split by user: the forms of users outside training are not in the table."""
    sessions = [("www.ebay.com", f"only-{number}", "c") for number in range(40)]
    folder = run(tmp_path, log_of(*(2 * sessions)), "--split", "50,25,25", "--split-by", "user")
    known = read_forms(folder)
    asked = {query for line in lines(folder / "train.whole") for query in line.split(" <q> ")}
    assert known["www ebay com"] == URL and set(known) <= asked
    assert 1 < len(known) < 40


def test_the_character_rule_decides_what_needs_a_form(tmp_path):
    log = log_of(*[("learn C++", ".net", "o'brien")] * 2)
    aol = run(tmp_path, log, *TRAIN_ONLY)
    assert read_forms(aol) == {"learn c": "learn c++", "net": ".net", "o brien": "o'brien"}
    symbols = run(tmp_path, log, *TRAIN_ONLY, "--characters", "symbols", output="symbols")
    assert read_forms(symbols) == {}
    assert lines(symbols / "train.whole")[0] == "learn c++ <q> .net <q> o'brien"
    assert QueryReader(TextSettings("symbols"))("LEARN c++!") == "learn c++"


def test_the_file_is_empty_if_all_queries_are_typed_plainly(tmp_path):
    folder = run(tmp_path, log_of(("a", "b", "c")), *TRAIN_ONLY)
    assert (folder / "display.tsv").read_bytes() == b""
