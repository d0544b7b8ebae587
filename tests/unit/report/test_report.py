"""mtn-report on evaluations with known numbers: the content of each cell, and refused input."""

import json
import logging
import re
import struct
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
import sessions
import torch
from report_experiments import (
    ANSWERS,
    STATS,
    Experiment,
    evaluated,
    evaluation,
    training_log,
    write_json,
)
from scoring_logs import write_log

from mtn_fairseq.checkpoints import loading
from mtn_fairseq.modules.attention_weights import session_attention
from mtn_preprocess.errors import InputError
from mtn_report import attention, pictures
from mtn_report.command import main
from mtn_report.document import Cell, Document, Paragraph, Table
from mtn_report.html_page import to_html
from mtn_report.manifest import read_manifest
from mtn_report.markdown import to_markdown
from mtn_report.pictures import styles
from mtn_report.run_scores import Figure
from mtn_report.samples import Session
from mtn_report.training_log import Curve, read_curve

HEAD = (
    "|  | scored on | layers | runs | MB | 1-gram | 2-gram | 3-gram | 4-gram | BLEU | exact "
    "| MRR@10 |"
)


@pytest.fixture
def experiment(tmp_path):
    return Experiment(tmp_path)


@pytest.fixture
def report(experiment, capfd):
    """Write the report of the experiment and read one of its files."""
    pytest.importorskip("matplotlib")

    def write(name="report.md"):
        main([experiment.write(), "--output", str(experiment.folder / "out")])
        return (experiment.folder / "out" / name).read_text(encoding="utf-8")

    yield write
    logging.disable(logging.NOTSET)  # the command assumes its own process


def section(text, title):
    """The lines of a section."""
    _, _, rest = text.partition(f"\n## {title}")
    assert rest, f"no section {title}"
    return rest.split("\n## ")[0].splitlines()


# --- tables ---------------------------------------------------------------------------------------


def test_models_on_raw_text_with_unk_and_as_in_the_paper(report):
    lines = section(report(), "Models (the paper's Table 2)")
    assert lines[2] == HEAD
    assert lines[4:9] == [
        "| echo | raw text |  |  |  | 19.0 | 18.0 | 17.0 | 16.0 | 10.12 | 5.0 | 6.0 |",
        r"|  | with \<unk\> |  |  |  | 20.0 | 19.0 | 18.0 | 17.0 | 10.62 | 5.2 | 6.2 |",
        "| MTN | raw text | – | 1 (seed 1) | – | **39.0** | **38.0** | **37.0** | **36.0** "
        "| **20.12** | **10.0** | **11.0** |",
        r"|  | with \<unk\> |  |  |  | **40.0** | **39.0** | **38.0** | **37.0** | **20.62** "
        "| **10.2** | **11.2** |",
        "|  | the paper's | 3Q, 2S, 3D |  | 407 (101,684,540) | 35.7 | 21.5 | 14.9 | 10.2 | 14.62 "
        "| – | – |",
    ]


def test_rows_of_the_paper_without_a_run_come_last(report):
    lines = section(report(), "Models (the paper's Table 2)")
    rows = [line for line in lines if re.match(r"\| \w", line) and "| the paper's |" in line]
    assert [row.split(" | ")[0] for row in rows] == [
        "| Seq2Seq Attn.",
        "| H-LSTM",
        "| M-NSRF",
        "| Transformer",
    ]
    assert (
        "| H-LSTM | the paper's | – |  | 475 (118,662,540) | 26.5 | 10.6 | 6.3 | 4.5 | 7.26 "
        in (rows[1])
    )


def test_several_runs_are_a_mean_and_a_range(experiment, report):
    experiment.evaluate(
        "more.json", evaluated("mtn-2", 44), evaluated("mtn-3", 45), evaluated("unasked", 1)
    )
    experiment.manifest["evaluations"].append("more.json")
    experiment.mtn["runs"] += [{"seed": n, "scores": f"mtn-{n}"} for n in (2, 3)]
    text = report()
    (row,) = [line for line in section(text, "Models") if line.startswith("| MTN")]
    assert row.startswith("| MTN | raw text | – | 3 (seeds 1, 2, 3) | – | **42.0** (39.0–44.0) | ")
    assert "| **21.62** (20.12–22.62) |" in row
    assert "has the mean over seeds, with the lowest and the highest value." in text
    assert "Not shown: unasked. They are evaluated, but no run in report.json names" in text


def test_a_figure_that_one_run_lacks_is_omitted(experiment, report):
    experiment.evaluate("more.json", evaluated("mtn-2", 44, mrr=False))
    experiment.manifest["evaluations"].append("more.json")
    experiment.mtn["runs"].append({"seed": 2, "scores": "mtn-2"})
    (row,) = [line for line in section(report(), "Models") if line.startswith("| MTN")]
    assert row.endswith("| 10.5 (10.0–11.0) | – |".replace("10.5", "**10.5**"))


def test_figure_over_runs():
    assert Figure.of([1.0, 4.0, 2.5]) == Figure(2.5, 1.0, 4.0, 3)
    assert Figure.of([0.0]) == Figure(0.0, 0.0, 0.0, 1)
    assert Figure.of([]) is None and Figure.of([1.0, None]) is None


def test_baselines_are_in_every_table_of_scores(experiment, report):
    experiment.mtn["group"] = ["main", "ablation", "variant", "beyond"]
    text = report()
    for title in ("Models", "Layers", "Variants", "Beyond the paper"):
        rows = [line for line in section(text, title) if line.startswith("| echo | raw text")]
        assert len(rows) == 1, title
    positions = "\n".join(section(text, "By position"))
    assert len(re.findall(r"^\| [23]? ?\| echo \| 1 \| \d", positions, re.MULTILINE)) == 4
    assert "| 2 | echo | 1 | 19.0 | 18.0 | 17.0 | 16.0 | 10.12 | 5.0 | 6.0 |" in positions
    assert "|  | MTN |  | 40.0 | 39.0 | 38.0 | 37.0 | 20.62 | 10.2 | 11.2 |" in positions


def test_kinds_of_next_queries(experiment, report):
    lines = section(report(), "By kind")
    assert (
        "| asked in training | echo | 1 | 19.0 | 18.0 | 17.0 | 16.0 | 10.12 | 5.0 | 6.0 |" in lines
    )
    assert "| shares no word | echo | 1 | 19.0 | 18.0 | 17.0 | 16.0 | 10.12 | 5.0 | 6.0 |" in lines
    file = experiment.folder / "scores.json"
    result = json.loads(file.read_text())
    for system in result["systems"]:
        del system["groups"]["seen"]
    write_json(file, result)
    omitted = (
        "Not shown: the evaluations have no groups by seen and unseen next queries; run "
        "mtn-evaluate with --train."
    )
    assert omitted in section(report(), "By kind")


def compared(figure, difference, low, high, text="raw"):
    of = {"system": "all of mtn", "baseline": "echo", "text": text, "figure": figure, "p": 0.5}
    return {**of, "difference": difference, "low": low, "high": high}


def test_differences(experiment, report):
    assert "## Differences" not in report()
    found = [compared("bleu", 2.5, 0.25, 5), compared("exact", -1, -2, 0.5)]
    found += [compared("mrr@10", -3, -5, -1), compared("bleu", 9, 1, 11, text="unk")]
    experiment.evaluate(
        "scores.json", evaluated("echo", 20), evaluated("mtn-1", 40), comparisons=found
    )
    text = report()
    assert "## Differences" not in text  # no system names these comparisons
    omitted = 'Not shown: comparisons with {}. No system in report.json names them in "compared".'
    assert omitted.format("all of mtn, echo") in section(text, "Notes")
    experiment.mtn["compared"] = "all of mtn"  # its baseline does not
    text = report()
    assert omitted.format("echo") in section(text, "Differences")
    assert text.count("Not shown: comparisons with") == 1
    experiment.echo["compared"] = "echo"
    text = report()
    assert "Not shown: comparisons with" not in text
    lines = section(text, "Differences")
    assert (
        "| MTN | – | – | – | – | **+2.50** (+0.25 … +5.00) | -1.00 (-2.00 … +0.50) "
        "| **-3.00** (-5.00 … -1.00) |" in lines
    )
    assert any(
        line.startswith("Each system minus echo, raw text; with several runs, the mean")
        for line in lines
    )
    assert any("| **+9.00** (+1.00 … +11.00) |" in line for line in lines)


def test_intervals_name_what_was_resampled(experiment, report):
    experiment.mtn["compared"], experiment.echo["compared"] = "mtn-1", "echo"
    found = {**compared("bleu", 2.5, 0.25, 5), "system": "mtn-1"}
    systems = evaluated("echo", 20), evaluated("mtn-1", 40)
    result = evaluation(*systems, comparisons=[found])
    said = {}
    for unit in ("people", "pairs", None):  # older versions do not write the unit
        bootstrap = {} if unit is None else {"bootstrap": {"unit": unit, "units": 2}}
        write_json(experiment.folder / "scores.json", {**result, **bootstrap})
        said[unit] = report()
    assert "by paired bootstrap of people. Bold" in said["people"]
    assert "by paired bootstrap of pairs. Bold" in said["pairs"]
    assert "by paired bootstrap. Bold" in said[None]


def with_perplexity(name, first, value, tokens):
    return {**evaluated(name, first), "perplexity": {"file": "x", "value": value, "tokens": tokens}}


def test_perplexities_of_systems_that_have_one(experiment, report):
    assert "Perplexity" not in report()
    systems = [evaluated("echo", 20), with_perplexity("mtn-1", 40, 1234.5, 6)]
    systems += [with_perplexity("mtn-2", 41, 1235.25, 6), with_perplexity("other", 30, 9.5, 6)]
    experiment.evaluate("scores.json", *systems)
    experiment.mtn["runs"].append({"seed": 2, "scores": "mtn-2"})
    other = {"label": "other", "group": "beyond", "runs": [{"scores": "other"}]}
    experiment.manifest["systems"].append(other)
    lines = section(report(), "Perplexity of the next queries")
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "|  | runs | perplexity | tokens |"
    assert table[2:] == [
        "| MTN | 2 (seeds 1, 2) | 1,234.88 (1,234.50–1,235.25) | 6 |",
        "| other | 1 | 9.50 | 6 |",
    ]
    differ = "Perplexities over different numbers of tokens are not comparable."
    assert differ not in lines
    systems[3]["perplexity"]["tokens"] = 7  # for example word pieces
    experiment.evaluate("scores.json", *systems)
    lines = section(report(), "Perplexity of the next queries")
    assert "| other | 1 | 9.50 | 7 |" in lines and differ in lines
    systems[2]["perplexity"] = None
    experiment.evaluate("scores.json", *systems)
    lines = section(report(), "Perplexity of the next queries")
    assert "Not shown: MTN. Some runs have no perplexity." in lines
    assert differ not in lines  # because there is only one row


def test_the_ablation_has_the_papers_layers(experiment, report):
    experiment.mtn["group"] = "ablation"
    lines = section(report(), "Layers")
    assert "|  | the paper's | 3Q, 2S, 3D |  | – | – | – | – | – | 14.62 | – | – |" in lines
    assert "| Transformer | the paper's | 4Q, 4D |  | – | – | – | – | – | 13.90 | – | – |" in lines
    assert "| Transformer | the paper's | 5Q, 5D |  | – | – | – | – | – | 13.89 | – | – |" in lines


def test_data_of_another_log_are_shown_without_the_papers(experiment, report):
    experiment.manifest["stats"] = "stats.json"
    lines = section(report(), "Data")
    assert lines[2] == "|  | sessions | share | pairs |"
    assert lines[4:7] == [
        "| Training | 940 | 94.0 % | 2,400 |",
        "| Validation | 25 | 2.5 % | 60 |",
        "| Test | 35 | 3.5 % | 90 |",
    ]
    assert lines[8] == "Words seen at least 8 times in training: 1,234."


def test_data_beside_the_papers(experiment, report):
    """If the statistics say that the log is the paper's."""
    write_json(experiment.folder / "stats.json", {**STATS, "paper": {"vocabulary": 76_604}})
    experiment.manifest["stats"] = "stats.json"
    lines = section(report(), "Data")
    assert lines[4:7] == [
        "| Training | 940 | 1,628,433 | 94.0 % | 90.0 % | 2,400 | 4,285,507 |",
        "| Validation | 25 | 90,932 | 2.5 % | 5.0 % | 60 | 238,890 |",
        "| Test | 35 | 90,507 | 3.5 % | 5.0 % | 90 | 238,289 |",
    ]
    assert "1,234. The paper's vocabulary: 76,604. The paper's text gives the split as" in lines[8]


# --- samples --------------------------------------------------------------------------------------


def with_samples(experiment, lines):
    experiment.manifest.update(test="test", sample_lines=lines)
    experiment.echo["runs"][0]["suggestions"] = "echo.log"


def test_only_named_sessions_are_shown(experiment, report):
    with_samples(experiment, [2])
    text = report()
    lines = section(text, "Sample suggestions")
    assert "paris hotels  ›  london  ›  next query: london hotels" in lines
    assert r"| echo | london | a\|b \*\<unk\>\* | x |" in lines  # each suggestion once
    assert "rome" not in text and "Line 1" not in text


def test_samples_come_in_the_order_of_the_manifest(experiment, report):
    with_samples(experiment, [2, 1])
    lines = section(report(), "Sample suggestions")
    assert [line for line in lines if line.startswith("###")] == ["### Line 2", "### Line 1"]


def test_the_next_query_is_marked(experiment, report):
    with_samples(experiment, [1])
    assert "| echo | **✓ london** | rome | paris |" in section(report(), "Sample")


def test_without_named_lines_no_query_is_shown(experiment, report):
    with_samples(experiment, [])
    text = report() + report("report.html")
    assert not any(word in text for word in ("london", "rome", "hotels"))


def test_a_log_of_other_queries_is_refused(experiment, report):
    with_samples(experiment, [1])
    other = ANSWERS[1]._replace(next_query="berlin")
    write_log(experiment.folder / "echo.log", [ANSWERS[0], other])
    with pytest.raises(InputError, match=r"echo.log: T-1 is not the next query of .*test.next:2"):
        report()


# --- attention ------------------------------------------------------------------------------------


def sample(line, *queries):
    return Session(line, " <q> ".join(queries), list(queries), "w9")


def test_attention_of_sessions_with_several_queries(monkeypatch):
    task, model = sessions.build(*sessions.MTN_MODELS["2-level"])
    monkeypatch.setattr(loading, "load_model", lambda *paths: (model, task))
    long = [f"w{i}" for i in range(sessions.SIZES[1] + 1)]
    shown = [sample(3, "w1 w2", "w3"), sample(4, "w1"), sample(9, *long)]
    two, many = attention.read_attention(Path("x.pt"), Path("data"), shown)
    assert (two.line, two.queries) == (3, ["w1 w2", "w3"])
    # As in generation: sessions too large for the model lose their oldest queries.
    assert (many.line, many.queries) == (9, long[1:])
    source = torch.tensor([sessions.W + 1, sessions.W + 2, sessions.Q, sessions.W + 3, 2])
    expected = session_attention(model.encoder, source)
    assert all((a == b.numpy()).all() for a, b in zip(two.layers, expected))
    assert len(two.layers) == 2 and two.layers[0][0, 1] == 0 < two.layers[0][1, 0]


def test_a_model_without_a_session_level_has_none(monkeypatch):
    for name in ("1-level", "transformer"):
        task, model = sessions.build(*sessions.ALL_MODELS[name])
        monkeypatch.setattr(loading, "load_model", lambda *paths, found=(model, task): found)
        with pytest.raises(InputError, match=r"x\.pt: the model has no session level; give a"):
            attention.read_attention(Path("x.pt"), Path("data"), [sample(1, "w1", "w2")])


# --- what is not shown ----------------------------------------------------------------------------


def test_each_section_reports_missing_input(experiment, report):
    del experiment.manifest["evaluations"]
    for system in experiment.manifest["systems"]:
        system["runs"] = [{}]
    text = report()
    titles = ("Data", "Models", "BLEU", "Layers", "By kind", "By position", "Learning", "Sample")
    for title in (*titles, "Attention"):
        assert section(text, title)[2].startswith("Not shown: "), title
    assert not list((experiment.folder / "out").glob("*.png"))


def test_a_system_without_scores_is_reported(experiment, report):
    experiment.manifest["systems"].append({"label": "later", "group": "main", "runs": [{}]})
    assert 'Not shown: later: no "scores" in report.json.' in section(report(), "Models")[-3:]


def test_dashes_for_mrr_are_explained(experiment, report):
    assert "Without MRR@10" not in report()
    experiment.evaluate("scores.json", evaluated("echo", 20), evaluated("mtn-1", 40, mrr=False))
    assert "\nWithout MRR@10: MTN. It needs mtn-evaluate --at 10, and 10 suggestions" in report()


def test_a_section_by_position_needs_the_groups(experiment, report):
    systems = [evaluated("echo", 20), evaluated("mtn-1", 40)]
    del systems[1]["groups"]["position"]
    experiment.evaluate("scores.json", *systems)
    omitted = "Not shown: the evaluations have no groups by position; run mtn-evaluate again."
    assert section(report(), "By position")[2] == omitted


def test_stats_without_sessions_are_not_shown(experiment, report):
    nothing = {name: {"sessions": 0, "pairs": 0} for name in STATS["splits"]}
    write_json(experiment.folder / "stats.json", {**STATS, "splits": nothing})
    experiment.manifest["stats"] = "stats.json"
    assert section(report(), "Data")[2] == "Not shown: stats.json counts no sessions."


def test_without_a_dictionary_there_are_scores_on_raw_text_only(experiment, report):
    systems = [evaluated("echo", 20), evaluated("mtn-1", 40)]
    for system in systems:
        del system["unk"]
        for group in system["groups"]["position"]:
            del group["unk"]
    experiment.evaluate("scores.json", *systems, unknown_words=None)
    text = report()
    assert "| echo | raw text" in text and r"| with \<unk\>" not in text
    assert len(re.findall("<details>", text)) == 1


# --- refused --------------------------------------------------------------------------------------

WRONG = {
    "no schema": (lambda m: m.pop("schema"), "`schema` must be 1"),
    "misspelt": (
        lambda m: m.update(sample_line=[1]),
        "unknown entry `sample_line`; choose from schema, ",
    ),
    "misspelt in a run": (
        lambda m: m["systems"][1]["runs"][0].update(checkpiont="x"),
        "system MTN: run 1: unknown entry `checkpiont`",
    ),
    "no systems": (lambda m: m.pop("systems"), "no `systems`"),
    "no label": (lambda m: m["systems"][0].pop("label"), "system 1: no `label`"),
    "one label twice": (
        lambda m: m["systems"][0].update(label="MTN"),
        "two systems with `label` 'MTN'",
    ),
    "no group": (
        lambda m: m["systems"][0].pop("group"),
        "system echo: no `group`; choose from main, ",
    ),
    "odd group": (
        lambda m: m["systems"][0].update(group="mian"),
        "`group` is 'mian'; choose from main, ",
    ),
    "odd row": (
        lambda m: m["systems"][1].update(paper="bert"),
        "`paper` is 'bert'; choose from seq",
    ),
    "no runs": (lambda m: m["systems"][1].update(runs=[]), "system MTN: no `runs`"),
    "odd type": (lambda m: m.update(sample_lines=["1"]), "`sample_lines` is ['1']; write a list"),
    "truth": (lambda m: m["systems"][1]["runs"][0].update(seed=True), "`seed` is True; write"),
    "line 0": (lambda m: m.update(sample_lines=[0]), "`sample_lines` below 1"),
    "line 3": (lambda m: m.update(test="test", sample_lines=[3]), "3 is beyond the 2 lines"),
    "no such file": (lambda m: m.update(stats="none.json"), "`stats`: no such file: "),
    "no test text": (
        lambda m: m.update(test="none"),
        "none.session; create it, or remove the entry",
    ),
    "nobody to look at": (
        lambda m: m.update(attention="GPT"),
        "no system 'GPT'; choose from echo, MTN",
    ),
    "other tokens": (
        lambda m: (m.update(attention="MTN"), m["systems"][1].update(data=".")),
        "MTN has its own `data`, with other tokens",
    ),
    "not evaluated": (
        lambda m: m["systems"][1]["runs"][0].update(scores="mtn-9"),
        "MTN: no system 'mtn-9' in the evaluations; choose from echo, mtn-1",
    ),
    "one run twice": (
        lambda m: m["systems"][1]["runs"].append({"scores": "mtn-1"}),
        "the scores 'mtn-1' are also those of MTN; give each run its own",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_manifests_are_refused_with_file_and_remedy(experiment, report, name):
    change, reason = WRONG[name]
    change(experiment.manifest)
    with pytest.raises(InputError) as error:
        report()
    assert str(error.value).startswith(f"{experiment.folder}/report.json: ")
    assert reason in str(error.value)
    assert not (experiment.folder / "out").exists()


def test_a_manifest_that_is_not_json_or_missing(experiment):
    path = Path(experiment.write()) / "report.json"
    path.write_text('{"schema": 1,\n oops}', encoding="utf-8")
    with pytest.raises(InputError, match=r"report\.json:2: not JSON"):
        read_manifest(str(path))
    monsters = {
        "[" * 100_000 + "]" * 100_000: "lists or objects nested too deeply",
        "1" * 5_000: r"not JSON \(a number of 5,000 digits\)",
    }
    for monster, reason in monsters.items():
        path.write_text(monster, encoding="utf-8")
        with pytest.raises(InputError, match=rf"report\.json: {reason}; write it again$"):
            read_manifest(str(path))
    path.unlink()
    with pytest.raises(InputError, match=r"report\.json: no such file; give a report\.json"):
        read_manifest(str(experiment.folder))


@pytest.mark.parametrize(
    "changes, reason",
    [
        (
            {"sha256": "f00"},
            "more.json: its test set differs from that of .*scores.json; evaluate all",
        ),
        ({"unknown_words": 3}, "more.json: its dictionary differs from that of .*scores.json"),
        ({"unknown_sha256": "f00"}, "more.json: its dictionary differs from that of .*scores.json"),
    ],
    ids=["test set", "dictionary", "dictionary of as many unknown words"],
)
def test_evaluations_that_do_not_compare_are_refused(experiment, report, changes, reason):
    experiment.evaluate("more.json", evaluated("mtn-2", 44), **changes)
    experiment.manifest["evaluations"].append("more.json")
    with pytest.raises(InputError, match=reason):
        report()


def test_duplicate_and_missing_comparisons_are_refused(experiment, report):
    one = {"system": "mtn-1", "baseline": "echo", "text": "raw", "figure": "bleu"}
    found = {**one, "difference": 1.0, "low": 0.5, "high": 1.5, "p": 0.01}
    experiment.mtn["compared"], experiment.echo["compared"] = "mtn-1", "echo"
    evaluation = json.loads((experiment.folder / "scores.json").read_text())
    write_json(experiment.folder / "scores.json", {**evaluation, "comparisons": [found]})
    assert "+1.00" in report()
    write_json(experiment.folder / "scores.json", {**evaluation, "comparisons": [found, found]})
    with pytest.raises(InputError, match="the same comparison twice"):
        report()
    write_json(experiment.folder / "scores.json", {**evaluation, "comparisons": [found]})
    experiment.mtn["compared"] = "mtnn"
    with pytest.raises(InputError, match="`compared` is 'mtnn', the name of no comparison"):
        report()
    write_json(experiment.folder / "scores.json", {**evaluation, "comparisons": []})
    assert (
        "Not shown: the evaluations have no comparisons. Run mtn-evaluate with --base" in report()
    )


def test_one_name_in_two_evaluations_is_refused(experiment, report):
    experiment.evaluate("more.json", evaluated("mtn-1", 44))
    experiment.manifest["evaluations"].append("more.json")
    with pytest.raises(
        InputError, match=r"more.json: system 'mtn-1' is also in another evaluation"
    ):
        report()


def test_another_test_text_than_the_evaluated_one_is_refused(experiment, report):
    with_samples(experiment, [1])
    (experiment.folder / "test.next").write_text("rome\nrome\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"test: not the test text of the evaluations"):
        report()


@pytest.mark.parametrize("content", [[], {"schema": 2, "systems": []}, {"schema": 1}])
def test_a_file_that_is_not_an_evaluation_is_refused(experiment, report, content):
    write_json(experiment.folder / "scores.json", content)
    with pytest.raises(InputError, match=r"scores.json: not an evaluation of schema 1"):
        report()


@pytest.mark.parametrize("content", [[], {}, {"splits": {"train": STATS["splits"]["train"]}}])
def test_a_file_that_is_not_statistics_is_refused(experiment, report, content):
    write_json(experiment.folder / "stats.json", content)
    experiment.manifest["stats"] = "stats.json"
    with pytest.raises(InputError, match=r"stats.json: no counts of train, valid and test"):
        report()


def test_a_file_that_is_not_a_checkpoint_is_refused(experiment, report):
    (experiment.folder / "model.pt").write_text("no model", encoding="utf-8")
    experiment.mtn["runs"][0]["checkpoint"] = "model.pt"
    experiment.manifest["data"] = "."
    with pytest.raises(InputError, match=r"model.pt: .*or no checkpoint at all, 8 bytes"):
        report()


def test_without_matplotlib_the_error_has_the_remedy(experiment, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"need matplotlib; pip install 'matplotlib>=3\.7'$"):
        main([experiment.write(), "--output", str(experiment.folder / "out")])


# --- learning curves ------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["simple", "json"])
def test_curves_from_either_format(tmp_path, style):
    path = tmp_path / "train.log"
    path.write_text(training_log([3.25, 2.5], style), encoding="utf-8")
    curve = read_curve(path)
    assert curve.validation == [(100, 3.25), (200, 2.5)]
    assert curve.training == [(100, 3.75), (200, 3.0)]


def test_cross_entropy_logs_only_one_loss(tmp_path):
    path = tmp_path / "train.log"
    text = training_log([3.25]).replace("loss=9, nll_loss", "loss").replace("loss 9 | nll_", "")
    path.write_text(text, encoding="utf-8")
    assert "nll" not in text and "best_loss 9" in text
    assert read_curve(path) == ([(100, 3.75)], [(100, 3.25)])


def test_the_last_value_of_a_repeated_update_counts(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(training_log([3.0, 2.0]) + training_log([2.75]), encoding="utf-8")
    assert read_curve(path).validation == [(100, 2.75), (200, 2.0)]


@pytest.mark.parametrize("style", ["simple", "json"])
def test_a_truncated_log_has_no_wrong_point(tmp_path, style):
    path = tmp_path / "train.log"
    text = training_log([3.25, 2.5], style)
    whole = {100: 3.25, 200: 2.5}
    for end in range(len(training_log([3.25], style)), len(text)):
        for behind in ("", training_log([3.25], style)):  # resumed after the truncated line
            path.write_text(text[:end] + behind, encoding="utf-8")
            assert set(read_curve(path).validation) <= set(whole.items())


def test_updates_and_losses_that_are_not_finite_are_dropped(tmp_path):
    path = tmp_path / "train.log"
    text = training_log([3.25, float("nan"), float("inf"), 2.5])
    path.write_text(text + training_log([1.0]).replace("100", "nan"), encoding="utf-8")
    assert read_curve(path) == ([(100, 3.75), (400, 3.0)], [(100, 3.25), (400, 2.5)])


def with_training_logs(experiment, *logs):
    """One training log per seed."""
    experiment.mtn["runs"] += [{"seed": n} for n in range(2, len(logs) + 1)]
    for run, log in zip(experiment.mtn["runs"], logs):
        run["training_log"] = f"train-{run['seed']}.log"
        (experiment.folder / run["training_log"]).write_text(log, encoding="utf-8")


def drawn_losses(monkeypatch):
    """The arguments of all drawn lines of losses."""
    lines = []
    drawn = pictures._loss_line

    def draw(axes, updates, losses, label, look):
        lines.append((label, list(updates), list(losses)))
        drawn(axes, updates, losses, label, look)

    monkeypatch.setattr(pictures, "_loss_line", draw)
    return lines


def test_runs_without_a_common_update_have_one_line_each(experiment, report, monkeypatch):
    other = training_log([5.0, 4.0]).replace("100", "150").replace("200", "250")
    with_training_logs(experiment, training_log([3.0, 2.0]), other)
    lines = drawn_losses(monkeypatch)
    said = section(report(), "Learning curves")
    assert lines == [
        ("MTN", [100, 200], [3.0, 2.0]),
        ("", [150, 250], [5.0, 4.0]),
        ("MTN", [100, 200], [3.5, 2.5]),
        ("", [150, 250], [5.5, 4.5]),
    ]
    assert "MTN: one line per run, because no update has the validation loss of all runs." in said
    assert "MTN: one line per run, because no update has the training loss of all runs." in said


def test_runs_with_common_updates_are_one_mean(experiment, report, monkeypatch):
    with_training_logs(experiment, training_log([3.0, 2.0, 1.0]), training_log([5.0, 4.0]))
    lines = drawn_losses(monkeypatch)
    said = "\n".join(section(report(), "Learning curves"))
    assert lines == [("MTN", [100, 200], [4.0, 3.0]), ("MTN", [100, 200], [4.5, 3.5])]
    assert "one line per run" not in said and "Not shown" not in said


def test_runs_that_diverged_are_not_in_the_curves(experiment, report, monkeypatch):
    nan = float("nan")
    with_training_logs(experiment, training_log([3.0, 2.0]), training_log([nan, nan]))
    lines = drawn_losses(monkeypatch)
    omitted = (
        "Not shown: MTN, {} of 2 runs. No validation loss is a finite number: the training "
        "diverged."
    )
    said = section(report(), "Learning curves")
    assert omitted.format(1) in said and len(lines) == 2
    assert lines[0] == ("MTN", [100, 200], [3.0, 2.0])
    first = experiment.folder / experiment.mtn["runs"][0]["training_log"]
    first.write_text(training_log([nan]), encoding="utf-8")
    said = section(report(), "Learning curves")
    assert omitted.format(2) in said and not any("curves.png" in line for line in said)


def test_a_log_without_validation_is_refused(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(training_log([]), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"train.log: no validation loss; give the complete output"
    ):
        read_curve(path)


def test_curves_over_other_tokens_are_not_drawn(experiment, report):
    (experiment.folder / "train.log").write_text(training_log([3, 2]), encoding="utf-8")
    experiment.mtn["runs"][0]["training_log"] = "train.log"
    pieces = {**experiment.mtn, "label": "pieces", "group": "variant", "data": "."}
    pieces["runs"] = [{"training_log": "train.log"}]
    plain = {**pieces, "label": "plain"}
    del plain["data"]
    experiment.manifest["systems"] += [pieces, plain]
    lines = "\n".join(section(report(), "Learning curves"))
    assert 'Not shown: pieces. A system with its own "data" has other tokens' in lines
    assert "updates: MTN](curves.png)" in lines and "updates: plain](curves-others.png)" in lines


# --- pictures and pages ---------------------------------------------------------------------------


def test_pictures_shorten_long_names():
    """matplotlib takes 100 s for a label of 100,000 letters."""

    def drawn(label, query, place):
        look, figure = {label: pictures.Style("#000000", "o", "-")}, Figure.of([1.0])
        return [
            pictures.bleu_chart([(label, {"raw": figure})]),
            pictures.position_chart({"BLEU": {label: {place: figure}}}, look),
            pictures.learning_curves({label: [Curve([], [(1, 2.0)])]}, look),
            pictures.attention_maps([attention.Attention(1, [query], [np.ones((1, 1))])]),
        ]

    cut = drawn("a" * 77 + "…", "b" * 33 + "…", "c" * 11 + "…")
    assert drawn("a" * 2_000, "b" * 2_000, "c" * 2_000) == cut
    whole = drawn("a" * 78, "b" * 34, "c" * 12)
    assert all(one != other for one, other in zip(whole, cut))


def test_every_picture_is_beside_the_markdown_and_in_the_page(experiment, report):
    (experiment.folder / "train.log").write_text(training_log([3, 2]), encoding="utf-8")
    experiment.mtn["runs"][0]["training_log"] = "train.log"
    named = re.findall(r"!\[[^]]+\]\((.+?)\)", report())
    assert named == ["bleu.png", "positions.png", "curves.png"]
    for name in named:
        png = (experiment.folder / "out" / name).read_bytes()
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">I", png[16:20])[0] == 9 * 160
    assert report("report.html").count('src="data:image/png;base64,') == 3


def test_the_page_is_well_formed_and_loads_nothing(experiment, report):
    with_samples(experiment, [1, 2])
    page = report("report.html")
    assert page.startswith("<!DOCTYPE html>\n")
    root = ElementTree.fromstring(page.partition("\n")[2])
    assert root.find("head/title").text == "A & B <i>"
    anchors = {element.get("id") for element in root.iter() if element.get("id")}
    for element in root.iter():
        for name in ("src", "href"):
            link = element.get(name, "")
            assert link == "" or link.startswith("data:image/png;") or link[1:] in anchors
    without_pictures = re.sub(r'base64,[^"]+"', "", page)
    assert not re.search(r"https?:|//|@import|url\(|<script|<link", without_pictures)
    assert len(list(root.iter("table"))) >= 4


def test_the_same_report_has_the_same_bytes(experiment, report):
    first = report("report.html")
    assert report("report.html") == first


def test_markup_in_queries_is_shown_but_has_no_effect():
    typed = "a|b <img src=x> **c** `d` [e](f) \\ & $g$ h_i_j"
    document = Document(typed, [Paragraph(typed), Table(["", "1"], [[Cell("x"), Cell(typed)]], 2)])
    root = ElementTree.fromstring(to_html(document).partition("\n")[2])
    assert [root.find("body/p").text, list(root.iter("td"))[1].text] == [typed, typed]
    assert not list(root.iter("img"))
    row = to_markdown(document).splitlines()[-1]
    assert row == (r"| x | a\|b \<img src=x\> \*\*c\*\* \`d\` \[e\](f) \\ &amp; \$g\$ h\_i\_j |")


@pytest.mark.parametrize("text", ["- a", "+ a", "1. a", "12) a", "===", "a\n- b"])
def test_a_paragraph_never_becomes_a_list_or_heading(text):
    said = to_markdown(Document("title", [Paragraph(text)]))
    shown = said.split("\n\n", 1)[1]
    assert shown != f"{text}\n" and shown.replace("\\", "") == f"{text}\n"


def test_no_two_systems_look_alike():
    looks = styles([f"model {i}" for i in range(24)], [f"baseline {i}" for i in range(24)])
    assert len({(look.colour, look.marker) for look in looks.values()}) == 48
