"""A bundle is written atomically, and refused if damaged or if its parts do not fit together."""

import json
import random
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from processes import ROOT, environment
from test_fitting import TABLE, fitted_example
from test_next_queries import flip, table_of

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import TextSettings, read_settings, write_settings
from mtn_serving.bundle.folder import Bundle
from mtn_serving.bundle.manifest import KINDS_OF_PARTS
from mtn_serving.bundle.same_log import known_words
from mtn_serving.bundle.samples import samples_of
from mtn_serving.bundle.trained_on import prepared_text, training_pairs
from mtn_serving.commands.bundle import main as bundle_command
from mtn_serving.commands.bundle import short_names
from mtn_serving.commands.bundle_scores import losses
from mtn_serving.commands.export import main as export
from mtn_serving.commands.export import say_order, say_what_is_odd
from mtn_serving.completion.ranker import CompletionRanker
from mtn_serving.conditions import conditions_of
from mtn_serving.display_rules import DEFAULT
from mtn_serving.engine import Scores
from mtn_serving.next_queries import KIND as COUNTS
from mtn_serving.ranker import Ranker
from mtn_serving.suggester import Suggester

KEPT = ROOT / "tests/kept"
SESSIONS = [["x"], ["x y"], ["a", "x"], ["z", "x y", "b"]]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with counts, a ranker, a text and a bundle; do not change it."""
    folder = tmp_path_factory.mktemp("made")
    TABLE.save(folder / "counts")
    fitted_example().ranker.save(folder / "ranker")
    (folder / "test.session").write_text("x\nx y\nx\n")
    (folder / "test.next").write_text("a\nx\nb\n")
    write_settings(folder, TABLE.text_settings)
    export(f"--counts {folder}/counts --ranker {folder}/ranker --output {folder}/bundle".split())
    return folder


@pytest.fixture
def bundle(made, tmp_path):
    """A copy that tests may change."""
    return shutil.copytree(made / "bundle", tmp_path / "bundle")


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refused(message, run):
    with pytest.raises(InputError, match=message) as error:
        run()
    assert "\n" not in str(error.value)


# --- content --------------------------------------------------------------------------------------


def test_a_bundle_gives_the_same_lists_as_its_parts(made):
    of_parts = Suggester.load(counts=made / "counts", ranker=made / "ranker")
    of_bundle = Suggester.load(made / "bundle")
    expected = of_parts.suggest_many(SESSIONS)
    found = of_bundle.suggest_many(SESSIONS)
    assert [[each.text for each in one] for one in found] == [
        [each.text for each in one] for one in expected
    ]
    scores = [[each.score for one in lists for each in one] for lists in (found, expected)]
    assert np.allclose(*scores, rtol=1e-6) and len(scores[0]) > 6
    assert of_bundle.conditions == of_parts.conditions


def test_equal_parts_make_equal_bundles(made, tmp_path):
    """Whatever their folders are called."""
    export(f"--counts {made}/counts --ranker {made}/ranker --output {tmp_path}/other".split())
    assert content(tmp_path / "other") == content(made / "bundle")


def test_the_manifest_lists_every_file(made):
    opened = Bundle.open(made / "bundle")
    files = content(made / "bundle")
    assert set(files) == {"manifest.json", *opened.manifest["files"]}
    assert opened.parts == ("next-queries", "ranker", "rules")
    assert {"mtn_fairseq", "numpy", "onnxruntime", "python"} <= set(opened.manifest["versions"])
    assert opened.manifest["next-queries"]["queries"] == len(TABLE.queries)
    assert opened.rules().min_users is None and len(opened.rules().explicit) > 100
    endings = {name.rpartition(".")[2] for name in files}
    assert endings == {"json", "md", "npy", "onnx", "txt"}
    assert not [name for name, start in files.items() if start.startswith(b"\x80")]  # no pickle
    card = files["README.md"].decode("utf-8")
    assert 'Suggester.load("BUNDLE")' in card and "- queries: " in card


def test_no_heavy_library_is_imported(made):
    program = (
        "import sys; from mtn_serving import Suggester;"
        f"found = Suggester.load('{made}/bundle').suggest(['x'], n=1);"
        "print(found[0].text, *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment({}), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    suggested, *imported = done.stdout.split()
    heavy = {"torch", "fairseq", "lightgbm", "sklearn", "scipy", "sacrebleu", "pyarrow", "onnx"}
    assert suggested == "a" and not heavy & set(imported)


# --- damaged --------------------------------------------------------------------------------------


def test_every_damaged_file_is_refused(made, bundle):
    rng = random.Random(1)
    files = [path for path in sorted(bundle.rglob("*")) if path.is_file() and path.stat().st_size]
    for path in files:
        whole = path.read_bytes()
        flip(path, rng.randrange(8 * len(whole)))
        refused(f"^{bundle}", lambda: Bundle.open(bundle))
        path.write_bytes(whole[: len(whole) // 2])
        refused(f"^{bundle}", lambda: Suggester.load(bundle))
        path.unlink()
        refused(f"^{bundle}", lambda: Suggester.load(bundle))
        path.write_bytes(whole)
    assert Bundle.open(bundle).version == Bundle.open(made / "bundle").version


@pytest.mark.parametrize(
    "text, message",
    [
        (
            '{"kind": "bundle", "format": 99}',
            "of format 99; this version reads format 1; export it",
        ),
        ('{"kind": "recipes"}', "no manifest.json of a bundle; give a folder of mtn-export"),
        ("[1]", "no manifest.json of a bundle"),
        ("{", "not JSON"),
    ],
)
def test_foreign_manifests(bundle, text, message):
    (bundle / "manifest.json").write_text(text)
    refused(message, lambda: Bundle.open(bundle))


def test_a_folder_without_a_bundle(tmp_path):
    refused("no bundle: it has no manifest.json", lambda: Suggester.load(tmp_path))
    refused("a bundle has a model, counts and rankers of its own; give the bundle alone",
            lambda: Suggester.load(tmp_path, counts=tmp_path))  # fmt: skip


@pytest.mark.parametrize(
    "kind, message",
    [
        ("next queries", "no bundle, but a table of counts; pass it as --counts"),
        ("ranker", "no bundle, but a ranker; pass it as --ranker"),
        ("completion ranker", "a ranker of completions; pass it as --completion-ranker"),
        ("recipes", "no bundle: it has no manifest.json"),
        (["ranker"], "no bundle: it has no manifest.json"),
    ],
)
def test_a_part_of_a_bundle_says_where_it_belongs(kind, message, tmp_path):
    (tmp_path / "header.json").write_text(json.dumps({"kind": kind}))
    refused(message, lambda: Suggester.load(tmp_path))


def test_kinds_of_parts():
    assert KINDS_OF_PARTS.keys() == {
        each.name for each in (COUNTS, Ranker.kind, CompletionRanker.kind)
    }


# --- parts that do not fit together ---------------------------------------------------------------


def test_a_ranker_fitted_with_other_parts(made, tmp_path):
    fitted = fitted_example().ranker
    other = conditions_of(True, True, text=fitted.conditions.text)
    Ranker(fitted.learner, fitted.calibration, other, fitted.facts).save(tmp_path / "ranker")
    flags = f"--counts {made}/counts --ranker {tmp_path}/ranker --output {tmp_path}/bundle"
    refused("^the ranker was fitted with a model; give", lambda: export(flags.split()))
    assert [path.name for path in tmp_path.iterdir()] == ["ranker"]


def test_a_ranker_fitted_on_other_text(made, tmp_path):
    table_of([["x", "b"]] * 3, text=TextSettings()).save(tmp_path / "counts")
    flags = f"--counts {tmp_path}/counts --ranker {made}/ranker --output {tmp_path}/bundle"
    message = r"^ranker/header.json: its text was prepared with .*, but that of next-queries/header"
    refused(message, lambda: export(flags.split()))
    assert [path.name for path in tmp_path.iterdir()] == ["counts"]


def test_the_share_of_words_of_the_counts_known_to_a_model():
    """`red car` is asked 3 times, `tea` once; the model lacks `car`, so it knows 4 of 7 words."""

    class KnowsRedAndTea:
        def sources(self, sessions):
            return sessions

        def scores(self, sources, candidates):
            found = [text.split() for text in candidates[0]]
            tokens = np.array([len(words) + 1 for words in found])
            unknown = np.array([len(set(words) - {"red", "tea"}) for words in found])
            return [Scores(np.zeros(len(found)), tokens, unknown)]

    table = table_of([["red car", "red car"], ["red car", "tea"]])
    assert known_words(SimpleNamespace(table=table, trained=KnowsRedAndTea())) == (
        pytest.approx(4 / 7)
    )
    assert known_words(SimpleNamespace(table=table, trained=None)) is None
    assert known_words(SimpleNamespace(table=None, trained=KnowsRedAndTea())) is None


def test_counts_without_a_word_of_the_model(tmp_path):
    """`hotels` is a word of the model; a bundle that it was updated with stays as it is."""
    model = f"--checkpoint {KEPT}/mtn_copying.pt --data {KEPT}/data-flat"
    text = read_settings(KEPT / "data-flat")
    for name, query in (("some", "hotels"), ("none", "zyx")):
        table_of([["abc", query]] * 3, text=text).save(tmp_path / name)
    export(f"{model} --counts {tmp_path}/some --output {tmp_path}/bundle".split())
    before = content(tmp_path / "bundle")
    assert Bundle.open(tmp_path / "bundle").manifest["next-queries"]["words_known_to_model"] == 0.5
    message = (
        "^the model knows none of the words that people ask most, by the counts; give --counts"
    )
    for flags in (f"--update {tmp_path}/bundle", f"{model} --output {tmp_path}/bundle"):
        refused(message, lambda flags=flags: export(f"{flags} --counts {tmp_path}/none".split()))
        assert content(tmp_path / "bundle") == before


def test_counts_of_another_log_give_a_warning(capsys):
    for known, warned in ((0.39, True), (0.5, False), (None, False)):
        facts = {} if known is None else {"words_known_to_model": known}
        say_what_is_odd({"next-queries": facts})
        assert ("the model knows 39 %" in capsys.readouterr().err) is warned


def test_other_files_are_not_overwritten(made, bundle, tmp_path):
    flags = f"--counts {made}/counts --output {tmp_path}"
    refused("something else is there already, no bundle", lambda: export(flags.split()))
    (bundle / "rules/thesis.txt").write_text("somebody's")
    message = "holds rules/thesis.txt, which mtn-export did not write"
    refused(message, lambda: export(f"--counts {made}/counts --output {bundle}".split()))
    refused(message, lambda: export(["--update", str(bundle), "--min-users", "3"]))
    refused(message, lambda: bundle_command(["verify", str(bundle)]))
    assert (bundle / "rules/thesis.txt").read_text() == "somebody's"


# --- rules and updates ----------------------------------------------------------------------------


def texts(folder, **options):
    return [each.text for each in Suggester.load(folder, **options).suggest(["x"])]


def test_an_update_changes_the_rules(made, bundle, tmp_path):
    before = content(bundle)
    assert texts(bundle)[:2] == ["a", "b"]
    (tmp_path / "blocked").write_text("a\n")
    export(f"--update {bundle} --block-list {tmp_path}/blocked --min-users 2".split())
    after = content(bundle)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"manifest.json", "README.md", "rules/rules.json", "rules/block_list.txt"}
    assert texts(bundle)[0] == "b" and Bundle.open(bundle).rules().min_users == 2
    export(["--update", str(bundle), "--min-users", "1"])  # other rules stay
    assert Bundle.open(bundle).rules().block_list == ("a",)
    export(["--update", str(bundle), "--default-rules"])
    assert content(bundle) == before
    assert Bundle.open(made / "bundle").rules().block_list == DEFAULT.block_list


def test_an_empty_update_is_refused(bundle, capsys):
    before = content(bundle)
    with pytest.raises(SystemExit):
        export(["--update", str(bundle)])
    assert "nothing to update" in capsys.readouterr().err and content(bundle) == before


def test_the_card_says_whether_people_or_times_are_counted(made, tmp_path):
    """`TABLE` has no users, so the threshold applies to times."""
    counted = table_of([["x", "a"]] * 3, users=[1, 2, 3], text=TABLE.text_settings)
    counted.save(tmp_path / "counts")
    export(f"--counts {tmp_path}/counts --output {tmp_path}/bundle --min-users 2".split())
    for folder, word in ((made / "bundle", "times"), (tmp_path / "bundle", "people")):
        assert Bundle.open(folder).manifest["rules"]["counted"] == word
        assert f"at least `min users` {word}" in (folder / "README.md").read_text(encoding="utf-8")


def test_rules_can_be_replaced_on_loading(bundle, tmp_path):
    (tmp_path / "blocked").write_text("b\n")
    export(f"--update {bundle} --block-list {tmp_path}/blocked --min-users 3".split())
    assert "b" not in texts(bundle)
    (tmp_path / "blocked").write_text("a\n")
    given = Suggester.load(bundle, block_list=tmp_path / "blocked").pipeline.display.rules
    assert given.block_list == ("a",) and given.min_users == 3


def test_an_update_replaces_the_counts(bundle, tmp_path):
    before = content(bundle)
    table_of([["x", "c"]] * 9 + [["x", "b"]] * 3, text=TABLE.text_settings).save(tmp_path / "new")
    export(["--update", str(bundle), "--counts", str(tmp_path / "new")])
    after = content(bundle)
    assert {name for name in before if name.startswith("ranker/")} == {
        name for name in after if name.startswith("ranker/") and before[name] == after[name]
    }
    assert "c" in texts(bundle) and "a" not in texts(bundle)


def test_a_refused_update_changes_nothing(bundle, tmp_path):
    before = content(bundle)
    table_of([["x", "b"]], text=TextSettings()).save(tmp_path / "other")
    refused("its text was prepared", lambda: export(
        ["--update", str(bundle), "--counts", str(tmp_path / "other")]))  # fmt: skip
    refused("cannot be read", lambda: export(
        ["--update", str(bundle), "--block-list", str(tmp_path / "none")]))  # fmt: skip
    assert content(bundle) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "other"]


# --- samples --------------------------------------------------------------------------------------


def test_samples_with_a_query_that_may_not_be_shown_are_left_out(bundle, tmp_path, capsys):
    """A bundle has no samples by default, and a sample never has a query that nobody asked."""
    assert Bundle.open(bundle).sample_lines() == []
    (tmp_path / "samples").write_text("X  <q> x y\n\nnobody's\nx <session> A\nx <q> nobody's\n")
    export(f"--update {bundle} --samples {tmp_path}/samples".split())
    opened = Bundle.open(bundle)
    assert opened.sample_lines() == ["x <q> x y", "x <session> a"]
    assert opened.manifest["samples"] == {"sessions": 2, "left_out": {"few users": 2}}
    assert "2 samples are kept; left out, as they may not be shown: few users 2" in (
        capsys.readouterr().err
    )
    found = samples_of(opened.sample_lines(), Suggester.load(bundle).pipeline)
    assert found == [(("x", "x y"), ()), (("a",), (("x",),))]


def test_samples_obey_later_rules(bundle, tmp_path):
    (tmp_path / "samples").write_text("x <q> x y\nx <session> a\n")
    (tmp_path / "blocked").write_text("a\n")
    export(f"--update {bundle} --samples {tmp_path}/samples".split())
    given = Suggester.load(bundle, block_list=tmp_path / "blocked").pipeline
    assert [each.session for each in samples_of(Bundle.open(bundle).sample_lines(), given)] == [
        ("x", "x y")
    ]
    export(f"--update {bundle} --block-list {tmp_path}/blocked".split())
    assert Bundle.open(bundle).sample_lines() == ["x <q> x y"]
    before = Bundle.open(bundle).version
    (tmp_path / "samples").write_text("\n")
    export(f"--update {bundle} --samples {tmp_path}/samples".split())
    opened = Bundle.open(bundle)
    assert opened.sample_lines() == [] and "samples" not in opened.parts
    assert opened.version != before and not (bundle / "samples").exists()


def test_invalid_samples(bundle, tmp_path):
    refused("cannot be read", lambda: export(f"--update {bundle} --samples {tmp_path}/no".split()))
    (tmp_path / "samples").write_text("x\n<q> <q>\n")
    refused("samples.txt:2: a sample without a query", lambda: export(
        f"--update {bundle} --samples {tmp_path}/samples".split()))  # fmt: skip


# --- scores ---------------------------------------------------------------------------------------


def test_scores_of_the_lists(made, tmp_path, capsys):
    """`a` after `x` and `x` after `x y` are right, `b` after `x` is second: 2 of 3."""
    flags = f"--counts {made}/counts --ranker {made}/ranker --test {made}/test"
    export(f"{flags} --output {tmp_path}/bundle".split())
    scores = Bundle.open(tmp_path / "bundle").manifest["scores"]
    assert scores["pairs"] == 3 and scores["lists"]["exact"] == 66.6667
    assert scores["lists"]["mrr@10"] == 83.3333 and scores["lists"]["hit@10"] == 100
    assert "3 pairs of " in capsys.readouterr().err
    bundle_command(["show", str(tmp_path / "bundle")])
    assert "- exact: 66.67" in capsys.readouterr().out
    export(["--update", str(tmp_path / "bundle"), "--min-users", "1"])
    assert "scores were those of the old parts" in capsys.readouterr().err
    assert "scores" not in Bundle.open(tmp_path / "bundle").manifest


def test_two_bundles_are_compared(made, bundle, tmp_path, capsys):
    """Blocking `a` loses one of three hits."""
    (tmp_path / "blocked").write_text("a\n")
    export(f"--update {bundle} --block-list {tmp_path}/blocked".split())
    bundle_command(["compare", str(made / "bundle"), str(bundle), "--test", str(made / "test")])
    printed = capsys.readouterr().out
    assert "3 pairs of" in printed and "drawn by pairs" in printed
    assert "| exact | 66.67 | 66.67 | +0.00 |" in printed  # `b` is first now
    assert "| hit@10 | 100.00 | 66.67 | -33.33 |" in printed


@pytest.mark.parametrize(
    "paths, names",
    [
        (("old", "new"), ("old", "new")),
        (("46/bundle", "47/bundle/"), ("46/bundle", "47/bundle")),
        (("/a/x/bundle", "/b/x/bundle"), ("a/x/bundle", "b/x/bundle")),
        (("bundle", "new/bundle"), ("bundle", "new/bundle")),
        (("bundle", "bundle"), ("bundle", "bundle")),
    ],
)
def test_columns_are_told_apart(paths, names):
    assert short_names(*paths) == names


def test_show_and_verify(made, capsys):
    bundle_command(["show", str(made / "bundle"), "--json"])
    manifest = json.loads(capsys.readouterr().out)
    assert manifest == json.loads((made / "bundle/manifest.json").read_text(encoding="utf-8"))
    bundle_command(["verify", str(made / "bundle")])
    files = len(manifest["files"])
    assert capsys.readouterr().out.endswith(f"all {files} files whole\n")


def test_losses_are_relative():
    exact = {"exact": 50.0, "mrr@10": 80.0, "bleu": 0.0}
    rounded = {"exact": 49.0, "mrr@10": 84.0, "bleu": 0.0}
    assert losses(exact, rounded) == {"exact": 2.0, "mrr@10": -5.0, "bleu": 0.0}


# --- training data --------------------------------------------------------------------------------


def test_numbers_of_binarised_data(tmp_path):
    """fairseq's index file begins with magic bytes, version 1, type uint16, count and lengths."""
    for side, lengths in {"session": [3, 4], "next": [2, 2]}.items():
        start = b"MMIDIDX\x00\x00" + (1).to_bytes(8, "little") + b"\x08"
        sizes = np.array(lengths, "<i4").tobytes() + np.zeros(2, "<i8").tobytes()
        path = tmp_path / f"train.session-next.{side}.idx"
        path.write_bytes(start + (2).to_bytes(8, "little") + sizes)
    assert training_pairs(tmp_path) == {"pairs": 2, "session_tokens": 7, "next_query_tokens": 4}
    path.write_bytes(b"of another kind")
    assert training_pairs(tmp_path) == {}
    assert prepared_text(tmp_path) == {}
    (tmp_path / "stats.json").write_text('{"splits": {"train": {"sessions": 5}}}')
    assert prepared_text(tmp_path) == {"sessions": 5}


@pytest.mark.parametrize(
    "flags, message",
    [
        ("", "give --output for a new bundle, or --update"),
        ("--output a --update b", "give --output for a new bundle, or --update"),
        ("--output a", "nothing to suggest from"),
        ("--output a --checkpoint b", "give both"),
        ("--output a --counts b --int8", "--int8 is for a model"),
        ("--output a --counts b --shortlist 9", "--shortlist is for a model"),
        ("--output a --counts b --default-rules", "--default-rules is for --update"),
        ("--update a --checkpoint b --data c", "--update leaves the model as it is"),
    ],
)
def test_conflicting_flags(flags, message, capsys):
    with pytest.raises(SystemExit):
        export(flags.split())
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "parts, warned",
    [
        (("model", "next-queries"), True),
        (("model", "next-queries", "ranker"), False),
        (("next-queries",), False),
        (("model",), False),
    ],
)
def test_a_missing_ranker_is_reported(parts, warned, capsys):
    say_order(parts)
    assert ("no ranker" in capsys.readouterr().err) == warned
