"""`mtn-judge sample` and `count`: a blind form, and verdicts counted per system."""

import csv
import json
import random
import re
from collections import Counter

import pytest
from scoring_logs import Answer, write_log, write_text

from mtn_evaluation.commands import judge
from mtn_evaluation.commands.judge import main
from mtn_evaluation.judging.sample import _draw
from mtn_evaluation.judging.verdicts import wilson
from mtn_preprocess.errors import InputError

PAIRS = 30
STATED = "Suggest counts with nbest=10: 30 pairs\n"


@pytest.fixture
def text(tmp_path):
    """Thirty pairs of ten people; each suggestion starts with its system's name."""
    answers = [Answer(f"s{i} <q> t{i}", f"secret{i}", []) for i in range(PAIRS)]
    write_text(tmp_path / "test", answers)
    for name in ("one", "two"):
        lists = [
            a._replace(ranked=[f"{name}{i}", f"{name}{i}", "more"]) for i, a in enumerate(answers)
        ]
        lists[7] = lists[7]._replace(ranked=[""])
        write_log(tmp_path / f"{name}.log", lists, STATED)
    return tmp_path


def sample(folder, *flags, form="form.tsv"):
    logs = [f"{name}={folder}/{name}.log" for name in ("one", "two")]
    main(["sample", *logs, "--test", f"{folder}/test", "--output", f"{folder}/{form}", *flags])
    return rows_of(folder / form), json.loads((folder / "form.key.json").read_text())


def rows_of(form):
    with open(form, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, dialect=csv.excel_tab))


def fill(folder, rows, judge, form="form.tsv"):
    """`judge`: row -> (verdict, kind)"""
    with open(folder / form, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), dialect=csv.excel_tab)
        writer.writeheader()
        for row in rows:
            verdict, kind = judge(row)
            writer.writerow({**row, "verdict": verdict, "kind": kind})


def counted(folder):
    main(["count", f"{folder}/form.tsv", "--json", f"{folder}/counts.json"])
    result = json.loads((folder / "counts.json").read_text())
    return {system["name"]: system for system in result["systems"]}


# --- the form -------------------------------------------------------------------------------------


def test_the_reader_sees_neither_the_next_query_nor_the_system(text):
    rows, key = sample(text, "--lists", "30")
    assert "secret" not in (text / "form.tsv").read_text() + json.dumps(key)
    assert not {"one", "two"} & {cell for row in rows for cell in row.values()}
    assert len(rows) == 60 and {(row["verdict"], row["kind"]) for row in rows} == {("", "")}
    # Each pair has both lists, and the key maps them to systems.
    for drawn in key["pairs"]:
        index = drawn["line"] - 1
        here = {row["list"]: row for row in rows if row["pair"] == str(drawn["pair"])}
        assert sorted(here) == ["A", "B"] and sorted(drawn["systems"].values()) == ["one", "two"]
        for letter, row in here.items():
            name = drawn["systems"][letter]
            assert row["session"] == f"s{index}  →  t{index}"
            shown = [f"{name}{index}", "more"] if index != 7 else []  # each suggestion once
            assert [row[str(n)] for n in range(1, 11)] == [*shown, *[""] * (10 - len(shown))]
    assert sorted(drawn["line"] for drawn in key["pairs"]) == list(range(1, PAIRS + 1))
    # The letters carry no information: each system is A in some pairs.
    assert {drawn["systems"]["A"] for drawn in key["pairs"]} == {"one", "two"}


def test_the_key_has_no_queries(text):
    _, key = sample(text, "--lists", "5")
    written = json.dumps(key).replace(str(text), "")
    assert not re.search(r"\b(s|t|one|two)\d|more|secret", written)


def test_one_pair_per_person(text):
    (text / "test.user").write_text("".join(f"{i % 10}\n" for i in range(PAIRS)))
    _, key = sample(text, "--lists", "10")
    assert sorted((drawn["line"] - 1) % 10 for drawn in key["pairs"]) == list(range(10))
    assert key["drawn"] == "one pair per person"
    with pytest.raises(InputError, match="--lists 11, but the test text has 10 people"):
        sample(text, "--lists", "11", form="other.tsv")
    assert not (text / "other.tsv").exists() and not (text / "other.key.json").exists()


def test_without_people_pairs_are_drawn(text):
    with pytest.raises(InputError, match="--lists 31, but the test text has 30 pairs"):
        sample(text, "--lists", "31")
    _, key = sample(text, "--lists", "30")
    assert key["drawn"] == "pairs"


def test_the_seed_decides(text):
    drawn = []
    for seed in ("1", "1", "2"):
        for name in ("form.tsv", "form.key.json"):
            (text / name).unlink(missing_ok=True)
        drawn.append(sample(text, "--lists", "9", "--seed", seed))
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0][1]["form"] != drawn[2][1]["form"]


def test_all_pairs_are_equally_likely():
    """300 draws of 3 of 30 pairs: about 30 times each."""
    found = Counter(i for seed in range(300) for i in _draw(30, None, 3, random.Random(seed)))
    assert sorted(found) == list(range(30)) and all(10 < count < 60 for count in found.values())


def test_lists_are_shown_as_typed_and_cut_to_nbest(tmp_path):
    r"""Escapes are removed, and quotation marks survive the table."""
    answers = [Answer('\\<q> "a', "x", ['"b" c', "=d", "\\<unk>"])]
    write_text(tmp_path / "test", answers)
    for name in ("one", "two"):
        write_log(tmp_path / f"{name}.log", answers, STATED)
    rows, _ = sample(tmp_path, "--lists", "1", "--nbest", "2")
    assert [row["session"] for row in rows] == ['<q> "a'] * 2
    assert [(row["1"], row["2"]) for row in rows] == [('"b" c', "=d")] * 2
    assert "3" not in rows[0]


def test_a_form_is_never_overwritten(text):
    for name in ("form.tsv", "form.key.json"):
        (text / name).write_text("hours of work")
        with pytest.raises(InputError, match=rf"{name}: there already, and may be filled in"):
            sample(text, "--lists", "5")
        assert (text / name).read_text() == "hours of work"
        (text / name).unlink()


def test_no_key_is_left_without_its_form(text, monkeypatch):
    def full(path, content):
        if path.endswith(".tsv"):
            raise InputError("cannot be written", "free some space", path)
        write(path, content)

    write = judge.write_result_file
    monkeypatch.setattr(judge, "write_result_file", full)
    with pytest.raises(InputError, match="cannot be written"):
        sample(text, "--lists", "5")
    assert not (text / "form.key.json").exists()
    monkeypatch.undo()
    sample(text, "--lists", "5")


# --- counting -------------------------------------------------------------------------------------


def test_verdicts_are_counted_per_system(text, capfd):
    """The reader likes `one`, and finds two kinds of fault in the first list of `two`."""
    rows, _ = sample(text, "--lists", "30")

    def judge(row):
        if not row["1"]:
            return "Harmless ", ""
        if row["1"].startswith("one"):
            return "useful", ""
        return "bad", "generic, Broken" if row["1"] == "two0" else "generic"

    fill(text, rows, judge)
    found = counted(text)
    counts = {
        name: [system[verdict]["count"] for verdict in ("useful", "harmless", "bad")]
        for name, system in found.items()
    }
    assert counts == {"one": [29, 1, 0], "two": [0, 1, 29]}
    assert {name: system["empty"] for name, system in found.items()} == {"one": 1, "two": 1}
    kinds = {kind: count for kind, count in found["two"]["kinds"].items() if count}
    assert kinds == {"generic": 29, "broken": 1} and not any(found["one"]["kinds"].values())
    assert found["two"]["bad"]["share"] == pytest.approx(100 * 29 / 30)
    assert (found["two"]["bad"]["low"], found["two"]["bad"]["high"]) == wilson(29, 30)
    printed = capfd.readouterr().out
    assert "|one|30|1|29(83…99%)|1(1…17%)|0(0…11%)|" in printed.replace(" ", "")
    assert not any(query in printed for query in ("two0", "more", "s1", "secret"))


def test_the_order_of_rows_and_a_spreadsheets_marks_do_not_matter(text):
    rows, _ = sample(text, "--lists", "6")
    fill(text, rows, lambda row: ("useful" if row["1"].startswith("one") else "harmless", ""))
    expected = counted(text)
    random.Random(1).shuffle(rows)
    fill(text, rows, lambda row: ("useful" if row["1"].startswith("one") else "harmless", ""))
    content = (text / "form.tsv").read_bytes().replace(b"\n", b"\r\n").replace(b"\r\r", b"\r")
    (text / "form.tsv").write_bytes(b"\xef\xbb\xbf" + content + b"\t\t\t\r\n")
    assert counted(text) == expected


def test_wilson_by_hand():
    """Of 10, 5: (0.5 + 0.192 ± 1.96 · sqrt(0.025 + 0.0096)) / 1.384."""
    assert wilson(5, 10) == pytest.approx((23.66, 76.34), abs=0.01)
    assert wilson(0, 10) == pytest.approx((0, 27.75), abs=0.01)
    assert wilson(10, 10) == pytest.approx((72.25, 100), abs=0.01)
    assert wilson(14, 60) == pytest.approx((14.44, 35.42), abs=0.02)


def good(row):
    return "useful", ""


BAD_ROWS = {
    "no verdict": (lambda row: ("", ""), "no verdict; write one of useful, harmless, bad"),
    "another verdict": (lambda row: ("good", ""), "verdict 'good'; write one of"),
    "no kind": (lambda row: ("bad", ""), "bad, and no kind of badness; write one of generic"),
    "another kind": (lambda row: ("bad", "ugly"), "kind 'ugly'; write one of generic"),
    "kind of a good one": (lambda row: ("useful", "generic"), "a kind of badness, and the verdict"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_errors_name_the_line(text, what):
    judge, message = BAD_ROWS[what]
    rows, _ = sample(text, "--lists", "3")
    fill(text, rows, lambda row: judge(row) if row is rows[2] else good(row))
    with pytest.raises(InputError, match=f"form.tsv:4: {message}"):
        counted(text)
    assert not (text / "counts.json").exists()


def test_lost_duplicated_and_foreign_rows(text):
    rows, _ = sample(text, "--lists", "3")
    fill(text, rows[:-1], good)
    with pytest.raises(InputError, match=r"form.tsv: 1 lists are missing, 3B first"):
        counted(text)
    fill(text, [*rows, rows[0]], good)
    with pytest.raises(InputError, match=r"form.tsv:8: the list of line 2 again"):
        counted(text)
    fill(text, [*rows, {**rows[0], "pair": "4"}], good)
    with pytest.raises(InputError, match=r"form.tsv:8: a list that was not drawn"):
        counted(text)
    fill(text, [{**rows[0], "pair": "?"}], good)
    with pytest.raises(InputError, match=r"form.tsv:2: not the number of a pair"):
        counted(text)
    for name in ("form.tsv", "form.key.json"):
        (text / name).unlink()
    sample(text, "--lists", "3", "--seed", "2")
    fill(text, rows, good)
    with pytest.raises(InputError, match=r"form.tsv:2: not a row of the form of .*form.key.json"):
        counted(text)


def test_files_that_are_not_a_form_or_key(text):
    rows, _ = sample(text, "--lists", "3")
    fill(text, rows, good)
    key = (text / "form.key.json").read_text()
    for damaged in (
        "[]",
        "{}",
        key.replace('"schema": 1', '"schema": 2'),
        key.replace('"A"', '"C"', 1),
    ):
        (text / "form.key.json").write_text(damaged)
        with pytest.raises(InputError, match=r"not a key of mtn-judge sample|not drawn"):
            counted(text)
    (text / "form.key.json").write_text(key)
    for content, message in (
        (b"a\tb\n", "form.tsv:1: no column form, pair, list, verdict, kind"),
        (b"", "form.tsv:1: no column"),
        (b"\xff", "form.tsv: not UTF-8"),
        (b"form\tpair\tlist\tverdict\tkind\nx\t1\n", "form.tsv:2: columns are missing"),
    ):
        (text / "form.tsv").write_bytes(content)
        with pytest.raises(InputError, match=message):
            counted(text)
    (text / "form.tsv").unlink()
    with pytest.raises(InputError, match=r"form\.tsv: cannot be read"):
        counted(text)


def test_logs_of_another_test_set_are_refused(text):
    write_log(text / "two.log", [Answer("a", "b", ["c"])] * PAIRS, STATED)
    with pytest.raises(InputError, match="T-0 is not the next query"):
        sample(text, "--lists", "3")
