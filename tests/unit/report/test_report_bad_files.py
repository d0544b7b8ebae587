"""Invalid files of mtn-report: a one-line error with file and remedy each."""

import json

import pytest
from report_experiments import (
    STATS,
    Experiment,
    evaluated,
    evaluation,
    training_log,
    write_json,
)

from mtn_preprocess.errors import InputError
from mtn_report.manifest import read_manifest
from mtn_report.run_scores import read_evaluations
from mtn_report.sections import build_document
from mtn_report.training_log import read_curve

NAN = float("nan")


@pytest.fixture
def experiment(tmp_path):
    return Experiment(tmp_path)


def read(experiment):
    return read_evaluations(read_manifest(experiment.write()))


def refused(experiment, reason, found=read):
    with pytest.raises(InputError) as error:
        found(experiment)
    message = str(error.value)
    assert reason in message and "\n" not in message
    message.encode("utf-8")
    return message


# --- an evaluation --------------------------------------------------------------------------------


def system(result):
    return result["systems"][1]


COMPARISON = {"system": "mtn-1", "baseline": "echo", "text": "raw", "figure": "bleu"}
UNSHAPED = {
    "test": (lambda r: r.update(test={}), "test: pairs"),
    "test no object": (lambda r: r.update(test=None), "test"),
    "no words": (lambda r: r["test"].update(words=0), "test: unknown_words"),
    "fingerprint": (lambda r: r["test"].update(sha256=None), "test: sha256"),
    "signature": (lambda r: r.update(signature=None), "signature"),
    "notes": (lambda r: r.update(notes=None), "notes"),
    "systems": (lambda r: r.update(systems=None), "systems"),
    "no name": (lambda r: r.update(systems=[{}]), "systems: name of system 1"),
    "no figures": (lambda r: system(r).pop("raw"), "mtn-1: raw"),
    "figures no object": (lambda r: system(r).update(unk=["bleu"]), "mtn-1: unk"),
    "text": (lambda r: system(r)["raw"].update(bleu="9"), "mtn-1: raw: bleu"),
    "nan": (lambda r: system(r)["unk"].update(exact=NAN), "mtn-1: unk: exact"),
    "truth": (lambda r: system(r)["raw"].update(bleu=True), "mtn-1: raw: bleu"),
    "no groups": (lambda r: system(r).pop("groups"), "mtn-1: groups"),
    "groups no list": (
        lambda r: system(r)["groups"].update(seen=None),
        "mtn-1: groups by seen",
    ),
    "empty group": (
        lambda r: system(r)["groups"].update(position=[{}]),
        "mtn-1: groups by position",
    ),
    "nan in a group": (
        lambda r: system(r)["groups"]["position"][0]["raw"].update(bleu=NAN),
        "mtn-1: groups by position: raw: bleu",
    ),
    "perplexity": (lambda r: system(r).update(perplexity=3.5), "mtn-1: perplexity"),
    "nan as perplexity": (
        lambda r: system(r).update(perplexity={"value": NAN, "tokens": 3}),
        "mtn-1: value of perplexity",
    ),
    "perplexity of what": (
        lambda r: system(r).update(perplexity={"value": 3.5}),
        "mtn-1: tokens of perplexity",
    ),
    "comparisons": (lambda r: r.update(comparisons=None), "comparisons"),
    "empty comparison": (lambda r: r.update(comparisons=[{}]), "comparisons"),
    "no difference": (lambda r: r.update(comparisons=[COMPARISON]), "comparisons"),
    "bootstrap": (lambda r: r.update(bootstrap=["people"]), "bootstrap"),
    "unit": (lambda r: r.update(bootstrap={"unit": 3}), "bootstrap: unit"),
    "runs": (lambda r: r.update(runs=["mtn-1"]), "runs"),
    "runs of no list": (lambda r: r.update(runs={"mtn": "mtn-1"}), "runs"),
}


@pytest.mark.parametrize("name", UNSHAPED)
def test_an_evaluation_of_the_wrong_shape_is_refused(experiment, name):
    change, place = UNSHAPED[name]
    result = evaluation(evaluated("echo", 20), evaluated("mtn-1", 40))
    change(result)
    write_json(experiment.folder / "scores.json", result)
    reason = f"scores.json: missing or invalid entry: {place}; evaluate again with "
    refused(experiment, f"{reason}mtn-evaluate --json")


def test_the_written_shape_is_accepted(experiment):
    result = evaluation(evaluated("echo", 20), evaluated("mtn-1", 40), unknown_words=None)
    difference = {**COMPARISON, "difference": 1, "low": 0.5, "high": 2, "p": 0.1}
    result.update(comparisons=[difference], runs={})
    system(result).update(unk=None, perplexity={"file": "x", "value": 3, "tokens": 4})
    write_json(experiment.folder / "scores.json", result)
    assert read(experiment).of_name["mtn-1"] == json.loads(json.dumps(system(result)))


# --- several of them ------------------------------------------------------------------------------


def test_the_same_next_queries_after_other_sessions_are_refused(experiment):
    experiment.evaluate("b.json", evaluated("b", 30), sessions_sha256="aaa")
    experiment.evaluate("c.json", evaluated("c", 30), sessions_sha256="aaa")
    experiment.manifest["evaluations"] += ["b.json", "c.json"]
    assert set(read(experiment).of_name) == {"echo", "mtn-1", "b", "c"}
    # The first of the three was made before sessions had a fingerprint.
    experiment.evaluate("c.json", evaluated("c", 30), sessions_sha256="bbb")
    message = refused(experiment, "b.json, but not its next queries; evaluate all systems on ")
    assert "/c.json: its sessions differ from those of " in message


# --- what was compared ----------------------------------------------------------------------------


def with_comparisons(experiment, names, runs):
    difference = {"text": "raw", "figure": "bleu", "difference": 1.0, "low": 0.5, "high": 1.5}
    found = [{**difference, "system": name, "baseline": "echo"} for name in names]
    systems = [evaluated(name, 30) for name in ("echo", "mtn-1", "mtn-2", "other")]
    result = evaluation(*systems, comparisons=found)
    if runs is not None:
        result["runs"] = runs
    write_json(experiment.folder / "scores.json", result)


def test_a_difference_must_be_of_the_shown_runs(experiment):
    experiment.echo["compared"] = "echo"
    experiment.mtn["runs"].append({"seed": 2, "scores": "mtn-2"})
    both = {"mtn": ["mtn-2", "mtn-1"]}
    with_comparisons(experiment, ["mtn", "other"], both)
    experiment.mtn["compared"] = "mtn"
    assert len(read(experiment).comparisons) == 2
    experiment.mtn["compared"] = "other"
    message = refused(experiment, "report.json: MTN: the comparison 'other' is of the runs other, ")
    assert "but this system has mtn-1, mtn-2; compare the same runs" in message
    with_comparisons(experiment, ["mtn-1", "mtn-2"], {})
    experiment.mtn["compared"] = "mtn-1"
    refused(experiment, "'mtn-1' is of the runs mtn-1, but this system has mtn-1, mtn-2")
    with_comparisons(experiment, ["mtn"], {"mtn": ["mtn-1", "other"]})
    experiment.mtn["compared"] = "mtn"
    refused(experiment, "'mtn' is of the runs mtn-1, other, but this system has mtn-1, mtn-2")
    with_comparisons(experiment, ["mtn"], None)  # made by an older version without runs
    assert len(read(experiment).comparisons) == 1


def test_two_systems_with_one_comparison_are_refused(experiment):
    experiment.echo["compared"] = experiment.mtn["compared"] = "mtn-1"
    refused(
        experiment, "report.json: two systems with `compared` 'mtn-1'; a comparison belongs to one"
    )


# --- others ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sessions", [None, "35", 3.5])
def test_stats_without_counts_are_refused(experiment, sessions):
    splits = {**STATS["splits"], "test": {"sessions": sessions, "pairs": 90}}
    if sessions is None:
        del splits["test"]["sessions"]
    write_json(experiment.folder / "stats.json", {**STATS, "splits": splits})
    experiment.manifest = {**experiment.manifest, "stats": "stats.json", "evaluations": []}
    for each in experiment.manifest["systems"]:
        each["runs"] = [{}]
    refused(
        experiment,
        "stats.json: no counts of train, valid and test; give the stats.json of mtn-log-to-session",
        lambda experiment: build_document(read_manifest(experiment.write())),
    )


NESTED, LONG = "[" * 100_000, "7" * 5_000


@pytest.mark.parametrize("content", [NESTED, f'{{"schema": {LONG}}}'])
@pytest.mark.parametrize("name", ["report.json", "scores.json", "stats.json"])
def test_json_that_python_cannot_read_is_refused(experiment, name, content):
    experiment.manifest["stats"] = "stats.json"
    experiment.write()
    (experiment.folder / name).write_text(content)
    digits = "not JSON (a number of 5,000 digits)"
    reason = "lists or objects nested too deeply" if content == NESTED else digits
    refused(
        experiment,
        f"{name}: {reason}; ",
        lambda experiment: build_document(read_manifest(str(experiment.folder))),
    )


def test_a_deeply_nested_line_of_a_training_log_is_skipped(tmp_path):
    nested = '{"a":' * 100_000
    text = training_log([3.25], "json") + f"2026-01-01 | INFO | valid | {nested}\n"
    (tmp_path / "log").write_text(text)
    assert read_curve(tmp_path / "log").validation == [(100, 3.25)]


def test_long_values_are_shortened_in_errors(experiment):
    experiment.mtn["group"] = "x" * 100_000
    assert len(refused(experiment, "`group` is 'xxx")) < 500
    experiment.mtn["group"] = "main"
    experiment.manifest["title"] = [[[[[[[[[["a"]]]]]]]]]]
    refused(experiment, "`title` is [[[[[[[...]]]]]]]; write a text")


def test_names_that_are_too_long_for_files(experiment):
    experiment.manifest["stats"] = "x" * 300
    refused(experiment, "`stats`: no such file: ")
    with pytest.raises(InputError, match=r"xxx: no such file; give a report\.json"):
        read_manifest("x" * 300)


UNSHOWN = {
    "line break in a label": lambda m: m["systems"][1].update(label="MTN\nsmall"),
    "half a character in a label": lambda m: m["systems"][1].update(label="MTN \ud83d"),
    "line break in an architecture": lambda m: m["systems"][1].update(arch="mtn\r\nsmall"),
    "line break in the title": lambda m: m.update(title="a\nb"),
    "half a character below it": lambda m: m.update(about=["well", "not \udcff"]),
}


@pytest.mark.parametrize("name", UNSHOWN)
def test_texts_that_cannot_be_shown_are_refused(experiment, name):
    UNSHOWN[name](experiment.manifest)
    refused(experiment, " has a line break or an unprintable character; remove it")


def test_texts_of_any_language_and_paragraphs_of_lines_are_shown(experiment):
    experiment.manifest["about"] = ["a\nb\tc"]
    experiment.mtn["label"] = "می\u200cروم 模型 👩\u200d💻\u00a0x"
    read(experiment)
