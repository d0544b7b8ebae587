"""`PREFIX.history` beside the pairs: mtn-suggest and mtn-fit-ranker use or ignore it."""

import pytest
from optional_parts import need_lightgbm
from test_next_queries import table_of

from mtn_evaluation import read_system
from mtn_preprocess.errors import InputError
from mtn_serving.commands.fit_ranker import main as fit_ranker
from mtn_serving.commands.personal_pairs import PersonalPairs
from mtn_serving.commands.suggest import main as suggest
from mtn_serving.engine import HistorySize
from mtn_serving.request import MAX_HISTORY

NOTHING = HistorySize(0, 0)


def write(folder, name="test", session="x\nx <q> y\n", asked="y\nz\n", history=None):
    files = {"session": session, "next": asked, "history": history}
    for ending, text in files.items():
        if text is not None:
            (folder / f"{name}.{ending}").write_text(text, encoding="utf-8")
    return str(folder / name)


def lines(prefix, use_history=True, model_reads=NOTHING):
    notes = []
    found = PersonalPairs(prefix, use_history, model_reads, notes.append)
    return [each.line for batch in found.batches() for each in batch], notes


def test_histories_come_before_sessions(tmp_path):
    prefix = write(tmp_path, history="\na <q> b <session> c\n")
    assert lines(prefix) == (
        ["x", "a <q> b <session> c <session> x <q> y"],
        ["1 of 2 pairs are of people with a history"],
    )
    assert lines(prefix, use_history=False) == (["x", "x <q> y"], [])
    (found,) = PersonalPairs(prefix, True, NOTHING, print).batches()
    assert [tuple(each.pair) for each in found] == [("x", "y"), ("x <q> y", "z")]


def test_each_pair_has_its_own_history_in_many_batches(tmp_path):
    numbers = range(100)
    session = "".join(f"x{number}\n" for number in numbers)
    history = "".join(f"h{number}\n" if number % 3 else "\n" for number in numbers)
    found, _ = lines(write(tmp_path, session=session, asked="y\n" * 100, history=history))
    assert found == [f"h{n} <session> x{n}" if n % 3 else f"x{n}" for n in numbers]


def test_word_pieces_are_joined(tmp_path):
    prefix = write(tmp_path, session="▁x ▁y z\n", asked="▁y\n", history="▁a b <session> ▁c\n")
    assert lines(prefix)[0] == ["ab <session> c <session> x yz"]


def test_histories_in_the_session_file(tmp_path):
    prefix = write(tmp_path, session="a <session> x\nx <q> y\n")
    assert lines(prefix)[0] == ["a <session> x", "x <q> y"]
    assert lines(prefix, use_history=False)[0] == ["x", "x <q> y"]
    write(tmp_path, session="a <session> x\nx <q> y\n", history="b <session> a\n\n")
    assert lines(prefix)[0] == ["b <session> a <session> x", "x <q> y"]  # the whole history, once


def test_truncated_histories_are_counted(tmp_path):
    long = " <session> ".join(["a"] * (MAX_HISTORY + 1))
    prefix = write(tmp_path, history=f"{long}\nb <q> c <session> d\n")
    _, notes = lines(prefix, model_reads=HistorySize(2, 1))
    assert notes == [
        "2 of 2 pairs are of people with a history",
        "1 histories are cut to their last 200 sessions",
        "2 histories are cut for the model, to their last 2 sessions of 1 queries",
    ]


@pytest.mark.parametrize(
    "history, message",
    [
        ("a\n", r"test\.history:2: line missing, .*test\.session has 2; line n must belong"),
        ("a\n\nb\n", r"test\.history:3: a line too many, .*test\.session has 2; .*--no-history"),
    ],
)
def test_line_n_must_belong_to_pair_n(tmp_path, history, message):
    prefix = write(tmp_path, history=history)
    with pytest.raises(InputError, match=message):
        lines(prefix)
    assert lines(prefix, use_history=False)[0] == ["x", "x <q> y"]


# --- the commands ---------------------------------------------------------------------------------


@pytest.fixture
def counts(tmp_path):
    table_of([["x", "y"], ["y", "z"]]).save(tmp_path / "counts")
    return ["--counts", str(tmp_path / "counts")]


def first_suggestions(capsys, tmp_path, flags):
    suggest(flags)
    captured = capsys.readouterr()
    (tmp_path / "log").write_text(captured.out, encoding="utf-8")
    system = read_system(str(tmp_path / "log"))
    return [(pair.session, pair.ranked[0]) for pair in system.pairs], captured.err


def test_mtn_suggest_over_a_test_set(counts, tmp_path, capsys):
    prefix = write(tmp_path, history="x <q> mine\n\n")
    found, said = first_suggestions(capsys, tmp_path, [*counts, "--test", prefix])
    assert found == [("x", "mine"), ("x <q> y", "z")]  # sessions as in their file
    assert "mtn-suggest: 1 of 2 pairs are of people with a history\n" in said
    flags = [*counts, "--test", prefix, "--no-history"]
    assert first_suggestions(capsys, tmp_path, flags)[0] == [("x", "y"), ("x <q> y", "z")]


def test_mtn_suggest_for_typed_lines(counts, capsys):
    suggest([*counts, "--session", "X <q> Mine! <session> x", "--nbest", "1", "--json"])
    found = capsys.readouterr().out
    assert '"session": "x <q> mine! <session> x"' in found and '"text": "mine!"' in found
    with pytest.raises(SystemExit):
        suggest([*counts, "--session", "x", "--no-history"])
    assert "--no-history is for --test" in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags, hits",
    [
        ([], {"with their past": "100.00", "as strangers": "0.00"}),
        (["--no-history"], {"as strangers": "0.00"}),
    ],
)
def test_mtn_fit_ranker(counts, tmp_path, capsys, flags, hits):
    """One table of scores with histories, and one as if everybody were a stranger."""
    need_lightgbm()
    people = [f"own {number % 5}" for number in range(60)]
    write(
        tmp_path,
        "valid",
        session="x\n" * 60,
        asked="".join(f"{own}\n" for own in people),
        history="".join(f"x <q> {own} <session> y\n" for own in people),
    )
    ranker = str(tmp_path / "ranker")
    valid = str(tmp_path / "valid")
    fit_ranker([*counts, "--valid", valid, "--output", ranker, *flags])
    report = capsys.readouterr().out
    assert ("… without history" in report) == ("with their past" in hits)
    lines = [(line[:20].strip(), line[20:].split()) for line in report.splitlines()]
    names = [name for name, cells in lines if "hit@10" in cells]
    place = dict(lines)[names[0]].index("hit@10")
    assert dict(zip(names, (cells[place] for name, cells in lines if name == "ranker"))) == hits
