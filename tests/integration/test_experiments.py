"""The experiments on the AOL log, full and small: their commands and their parts."""

import json
import math
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from fairseq import options, tasks
from processes import ROOT, run

sys.path.insert(0, str(ROOT / "experiments/aol_models"))
sys.path.insert(0, str(ROOT / "experiments/aol_small"))
import experiment
from models import Models
from parts import PLUGIN, Part, Try, once, run_all, validation_loss, words_of
from plan import Plan
from recipes import SIZES, Settings, history_systems, next_rates, systems
from results import Result, read_result, rows_of_people, score_answers, sums_by_person, write_result
from tables import width_table
from widths import settings_at, size_of

from mtn_evaluation.paired_bootstrap import compare
from mtn_evaluation.suggestion_scores import pair_rows
from mtn_preprocess.errors import InputError

COLLECTION = "user-ct-test-collection"


SMALL = "experiments/aol_small"


def commands(script, log, *flags):
    said = run(f"python {script}/experiment.py {log} --dry-run {' '.join(flags)}").stdout
    return [words_of(line) for line in said.splitlines() if line]


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aol")
    for number in (1, 2):
        (folder / f"{COLLECTION}-0{number}.txt.gz").touch()
    return commands("examples/aol", folder)


@pytest.fixture(scope="module")
def small():
    return commands(
        "experiments/aol_small", "log.tsv", "--seeds", "2", "--pecos", "rival/bin/python"
    )


def trained(lines):
    return [
        options.parse_args_and_arch(options.get_training_parser(), flags)
        for command, *flags in lines
        if command == "fairseq-train"
    ]


def test_another_split_is_another_seed_of_the_preparation_and_nothing_else(small):
    other = commands(
        SMALL,
        "log.tsv",
        *("--seeds", "2", "--pecos", "rival/bin/python", "--split-seed", "7"),
    )
    assert len(other) == len(small)
    changed = [(a, b) for a, b in zip(small, other) if a != b]
    assert changed and all(a[0] == "mtn-log-to-sessions" for a, _ in changed)
    for first, second in changed:
        assert (first[first.index("--seed") + 1], second[second.index("--seed") + 1]) == ("1", "7")
        assert [w for w in first if w != "1"] == [w for w in second if w != "7"]


def test_the_papers_models_and_epochs(paper):
    runs = trained(paper)
    assert {args.arch for args in runs} == {
        "mtn_aol",
        "transformer_aol",
        "seq2seq_attn_aol",
        "hlstm_aol",
        "mnsrf_aol",
    }
    assert {args.max_epoch for args in runs} == {5} and not any(args.cpu for args in runs)
    assert {args.criterion for args in runs if args.arch == "mnsrf_aol"} == {
        "entropy_regularized_cross_entropy"
    }


def test_only_the_collections_files_are_read_and_they_are_counted(tmp_path):
    for name in ("01.txt", "02.txt.gz", "02.txt.gz.md5", "03.txt.old"):
        (tmp_path / f"{COLLECTION}-{name}").touch()
    said = run(f"python examples/aol/experiment.py {tmp_path} --dry-run")
    (prepare,) = [line for line in said.stdout.splitlines() if line.startswith("mtn-log-to-")]
    logs = [Path(word).name for word in shlex.split(prepare) if COLLECTION in word]
    assert logs == [f"{COLLECTION}-01.txt", f"{COLLECTION}-02.txt.gz"]
    assert "2 files; the whole collection has 10\n" in said.stderr


def test_a_file_of_the_collection_is_not_read_twice(tmp_path):
    for ending in ("txt", "txt.gz"):
        (tmp_path / f"{COLLECTION}-01.{ending}").touch()
    ended = run(f"python examples/aol/experiment.py {tmp_path} --dry-run", status=2)
    assert f"{COLLECTION}-01.txt as .gz too" in ended.stderr


def test_rates_are_doubled_or_halved_while_that_helps():
    def rates_tried(best):
        """The rates tried if the loss were lowest at `best`."""
        losses = {}
        while tries := next_rates(losses):
            losses.update({tried: abs(tried.rate - best) for tried in tries})
        assert {settings.dropout for settings in losses} == {0.1}
        return [settings.rate for settings in losses]

    assert rates_tried(0.005) == [0.004, 0.008, 0.002]
    assert rates_tried(0.008) == [0.004, 0.008, 0.016]
    assert rates_tried(0.0015) == [0.004, 0.008, 0.002, 0.001]
    assert rates_tried(9)[-1] == 0.064 and rates_tried(0)[-1] == 0.0005


def test_small_models_differ_in_what_is_compared_only(small):
    runs = [args for args in trained(small) if not args.no_save]
    assert len(runs) == 2 * 13 and {args.seed for args in runs} == {1, 2}
    for flag in ("optimizer", "clip_norm", "lr_scheduler", "cpu"):
        assert len({str(getattr(args, flag)) for args in runs}) == 1, flag
    updates = {args.max_update for args in runs if args.arch == "transformer_session"}
    assert 2600 in updates
    for args in trained(small):
        assert float(args.total_num_update) == args.max_update
        assert args.warmup_updates == args.max_update // 8
    # Whole sessions, of 2.6 pairs, or pairs.
    whole = {"mtn", "hlstm", "mnsrf"}
    assert {args.batch_size for args in runs if args.arch in whole} == {32}
    assert {args.batch_size for args in runs if args.arch not in whole} == {82}


# Copying adds up to a tenth to models of equal size: no other part was made smaller.
EXTRA_OF_COPYING = {
    64: {"seq2seq": 31465, "transformer": 4193, "mtn": 8321},
    128: {"seq2seq": 82720, "transformer": 16577, "mtn": 33025},
}
# The third level adds a layer, and nothing else was made smaller for it.
EXTRA_OF_THIRD_LEVEL = {64: 54378, 128: 149194}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_models_have_equal_parameters_without_the_word_tables(size, tmp_path):
    words = ["<q>", "<session>", *(f"w{number}" for number in range(1007))]
    for side in ("session", "next"):
        text = "".join(f"{word} 1\n" for word in words)
        (tmp_path / f"dict.{side}.txt").write_text(text)

    def parameters(system):
        flags = f"{tmp_path} {PLUGIN} {system.flags} --lr 1"
        args = options.parse_args_and_arch(options.get_training_parser(), words_of(flags))
        task = tasks.setup_task(args)
        of_words = len(task.target_dictionary)
        return sum(
            p.numel() for p in task.build_model(args).parameters() if of_words not in p.shape
        )

    found = {name: parameters(system) for name, system in systems(size).items()}
    three, control, *longer = map(parameters, history_systems(size).values())
    assert longer == [three, control]
    assert control == found["mtn-copying"]
    assert three - control == EXTRA_OF_THIRD_LEVEL[size.width]
    copying = {
        name: found.pop(f"{name}-copying") - found[name]
        for name in ("seq2seq", "transformer", "mtn")
    }
    assert len(found) == 10
    assert max(found.values()) < 1.015 * min(found.values()), found
    assert copying == EXTRA_OF_COPYING[size.width]


def test_wider_models_train_longer_and_are_asked_at_their_end():
    lines = commands(
        "experiments/aol_small", "log.tsv", "--width 128 --systems transformer,mtn --lists ''"
    )
    runs = [args for args in trained(lines) if not args.no_save]
    assert {args.arch for args in runs} == {"transformer_session", "mtn"}
    assert {args.encoder_embed_dim for args in runs} == {128}
    assert {args.max_update for args in runs} == {4800, 6400}  # mtn's updates take 0.75 of the time
    asked = [line[line.index("--path") + 1] for line in lines if line[0] == "fairseq-generate"]
    assert asked and all(path.endswith("/checkpoint_last.pt") for path in asked)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--systems mtn,lstm", "--systems: no lstm"),
        ("--lists suggest,all", "--lists: no all"),
        ("--systems mtn", "--systems: mtn-copying as well"),
        ("--systems mtn,transformer-copying --lists ''", "--systems: transformer as well"),
        ("--systems transformer --lists ''", "--systems: mtn as well"),
    ],
)
def test_what_cannot_be_compared(flags, said):
    ended = run(f"python experiments/aol_small/experiment.py log.tsv --dry-run {flags}", status=2)
    assert said in ended.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mtn": {"rate": 1, "dropout": 0}, "trasnformer": {"rate": 1, "dropout": 0}}, "known are"),
        ({"mtn-linear": {"rate": 1, "dropout": 0}}, "'mtn-linear' is no model with settings of"),
        ({"mtn": {"rate": 1, "dropout": 0}}, "no settings of transformer; add them"),
        ({"mtn": {"rate": 1}}, "no rates and dropouts by name; give a file like"),
        ([], "no rates and dropouts by name; give a file like"),
    ],
)
def test_settings_that_are_refused(tmp_path, given, said):
    (tmp_path / "mine.json").write_text(json.dumps(given))
    ended = run(
        "python experiments/aol_small/experiment.py log.tsv --dry-run"
        f" --settings {tmp_path}/mine.json --systems mtn,transformer --lists ''",
        status=1,
    )
    assert said in ended.stderr and "Traceback" not in ended.stderr and not ended.stdout
    assert "seq2seq, hlstm, mnsrf, transformer, mtn" in ended.stderr or said != "known are"


def planned(monkeypatch, *flags):
    """The experiment of these flags."""
    found = []
    monkeypatch.setattr(experiment, "run_or_print", lambda each, *_: found.append(each))
    monkeypatch.setattr(sys, "argv", ["experiment.py", "log.tsv", *map(str, flags)])
    experiment.main()
    return found[0]


def test_the_report_says_where_the_settings_are_from_and_what_time_is_equal(monkeypatch):
    searched = planned(monkeypatch).plan.about
    known = " Models know words seen at least 5 times in training."
    assert searched.endswith(f"dropouts are chosen on validation data with seed 1.{known}")
    given = planned(
        monkeypatch, "--settings", ROOT / "experiments/aol_small/settings.json"
    ).plan.about
    assert given.endswith(f"Learning rates and dropouts are those of settings.json.{known}")
    for about in (searched, given):
        assert "by what an update of each was measured to cost at 64 channels." in about


@pytest.fixture
def with_settings(monkeypatch, tmp_path):
    """Run an experiment in the same folder, as if all commands were done."""
    monkeypatch.setattr(experiment, "run_all", lambda parts, at_once: None)
    monkeypatch.setattr(Part, "run_again", lambda part: None)
    file = tmp_path / "given.json"

    def run_with(settings, systems="mtn,transformer"):
        file.write_text(json.dumps({name: each._asdict() for name, each in settings.items()}))
        flags = ("--settings", file, "--systems", systems, "--lists", "")
        planned(monkeypatch, *flags, "--output", tmp_path / "output").run()

    return run_with


def test_answers_belong_to_their_settings(with_settings, tmp_path):
    first = {"mtn": Settings(0.004, 0.0), "transformer": Settings(0.008, 0.0)}
    with_settings(first)
    kept, report = tmp_path / "output/settings.json", tmp_path / "output/report.json"
    before = kept.read_text(), report.read_text()
    for changed in (Settings(0.002, 0.0), Settings(0.004, 0.1)):
        with pytest.raises(InputError, match=r"mtn was begun with lr0\.004-dropout0\.0, not lr0"):
            with_settings({**first, "mtn": changed})
        assert (kept.read_text(), report.read_text()) == before
    with_settings({"mtn": first["mtn"]}, systems="mtn")  # fewer systems do not drop the others
    with pytest.raises(InputError, match="transformer was begun with"):
        with_settings({**first, "transformer": Settings(0.016, 0.0)})
    with_settings({**first, "seq2seq": Settings(0.064, 0.0)}, systems="mtn,transformer,seq2seq")


def test_the_same_settings_are_the_same_however_they_are_written(with_settings, tmp_path):
    """They name the folder of a training."""
    with_settings({"mtn": Settings(0.004, 0)}, systems="mtn")
    assert "mtn-lr0.004-dropout0.0-1/" in (tmp_path / "output/report.json").read_text()


def test_commands_read_what_earlier_commands_write(paper, small):
    """An earlier command names each checkpoint, log and folder that a command reads."""
    for lines in (paper, small):
        made = " ".join(" ".join(line) for line in lines)
        for command, *flags in lines:
            if command == "fairseq-generate":
                checkpoint = flags[flags.index("--path") + 1]
                assert f"--save-dir {Path(checkpoint).parent} " in f"{made} "
                data = flags[0]
                assert f"--destdir {data} " in made
        (evaluate,) = [line for line in lines if line[0] == "mtn-evaluate"]
        systems = [word for word in evaluate if word.endswith("/generate.log")]
        answers = sum("--nbest" in line or line[0] == "mtn-suggest" for line in lines)
        further = [word for word in evaluate if re.search(r"/(reference|with-unk)\.log$", word)]
        assert len(systems) + len(further) == answers
        # Per model: output without <unk>, output with <unk>, scores of the actual next queries.
        asked = [line for line in lines if line[0] == "fairseq-generate"]
        may = sum("--generate-unknown" in line for line in asked)
        assert may == len(asked) / 3 == len(further) / 2


def test_rate_by_loss_and_dropout_by_bleu_on_validation_data(tmp_path):
    """As if all tries were done: best loss at 0.004 with dropout 0.1, best BLEU without dropout."""

    def done(folder, file, text):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / file).write_text(text)
        (tmp_path / folder / "done").touch()

    for rate, loss in ((0.004, 6.5), (0.008, 7.0), (0.002, 7.5)):
        line = f"| valid | epoch 001 | loss 9 | nll_loss {loss} | ppl 90\n"
        done(f"rates/mtn-lr{rate}-dropout0.1", "train.log", line)
    for dropout, loss, said in ((0.0, 6.0, "a b c d"), (0.1, 5.0, "x")):
        line = f"| valid | epoch 001 | loss 9 | nll_loss {loss} | ppl 90\n"
        done(f"trained/mtn-lr0.004-dropout{dropout}-1", "train.log", line)
        log = f"S-0\ta\nT-0\ta b c d\nH-0\t-1\t{said}\nD-0\t-1\t{said}\nP-0\t-1 -1\n"
        closing = "Generate valid with beam=10: BLEU4 = 0\n"
        done(f"dropouts/mtn-lr0.004-dropout{dropout}", "generate.log", log + closing)
    nothing = dict.fromkeys(Plan._fields)
    mtn = {"mtn": systems(SIZES[64])["mtn"]}
    plan = Plan(**{**nothing, "systems": mtn, "settings": {}, "updates": 10})
    plan = plan._replace(rate_updates=1, training="", generation="", dropouts=(0.0, 0.1))
    plan = plan._replace(checkpoint="checkpoint_best.pt")
    assert Models(plan, tmp_path, at_once=1).choose_settings() == {"mtn": Settings(0.004, 0.0)}


def test_without_any_finite_loss_no_rate_is_chosen(tmp_path):
    for rate in (0.004, 0.008, 0.002, 0.001, 0.0005):
        folder = tmp_path / f"rates/mtn-lr{rate}-dropout0.1"
        folder.mkdir(parents=True)
        (folder / "train.log").write_text("| valid | epoch 001 | loss nan | nll_loss nan | ppl 9\n")
        (folder / "done").touch()
    plan = Plan(**{**dict.fromkeys(Plan._fields), "systems": {"mtn": systems(SIZES[64])["mtn"]}})
    plan = plan._replace(settings={}, rate_updates=1, training="")
    with pytest.raises(SystemExit, match=r"mtn: no try .* finite loss, of 0\.004, .*0\.0005$"):
        Models(plan, tmp_path, at_once=1).choose_settings()


def test_a_try_that_diverges_has_infinite_loss_and_stops_nothing(tmp_path):
    good = "| valid | epoch 001 | loss 9 | nll_loss 6.5 | ppl 90 "
    end = "FloatingPointError: gradients are Nan/Inf"
    diverged = Try(tmp_path / "a", [("train", f"sh -c 'echo \"{good}\"; echo {end}; exit 1'")])
    later = Try(tmp_path / "b", [("train", f"echo '{good}'")])
    run_all([diverged, later], at_once=1)
    assert diverged.done and diverged.loss() == math.inf
    assert later.loss() == 6.5
    broken = Try(tmp_path / "c", [("train", "sh -c 'echo no disk; exit 1'")])
    with pytest.raises(SystemExit, match="no disk"):
        run_all([broken], at_once=1)
    assert not broken.done


def test_a_list_is_made_of_what_was_trained_counted_and_fitted(small):
    made = " ".join(" ".join(line) for line in small)
    lists = [flags for command, *flags in small if command == "mtn-suggest"]
    assert len(lists) == 2 + 5  # the whole with each seed, the others with the first
    for flags in lists:
        model = Path(flags[flags.index("--model") + 1])
        assert "mtn-copying" in str(model) and f"--save-dir {model.parent} " in made
        assert f"--output {flags[flags.index('--counts') + 1]}" in made
        if "--ranker" in flags:
            ranker = flags[flags.index("--ranker") + 1]
            (fit,) = [line for line in small if line[0] == "mtn-fit-ranker" and ranker in line]
            # Fitted with the flags of its use, on neither training nor test data.
            assert ("--without" in fit) == ("--without" in flags)
            assert fit[fit.index("--valid") + 1].endswith("/valid")
    assert sum("--ranker" in flags for flags in lists) == 2 + 4


def test_a_rival_of_another_environment(small, paper):
    rivals = [line for line in small if line[0].endswith("rival/bin/python")]
    assert [line[-1] for line in rivals] == ["1", "2"]
    assert all(Path(line[1]).is_file() for line in rivals)
    assert not any("rival_pecos.py" in " ".join(line) for line in paper)


def test_a_part_is_done_once(tmp_path):
    part = Part(tmp_path / "one", [("write", f"sh -c 'echo x >> {tmp_path}/times'")])
    for _ in range(2):
        run_all([part], at_once=2)
    assert (tmp_path / "times").read_text() == "x\n"


def test_a_failed_part_is_done_again_and_reports_its_error(tmp_path):
    ready = tmp_path / "ready"
    command = f"sh -c 'echo waiting; test -e {ready}'"
    part = Part(tmp_path / "one", [("train", command)])
    with pytest.raises(SystemExit, match=r"(?s)train\.log: failed.*waiting"):
        run_all([part], at_once=1)
    assert not part.done
    ready.touch()
    run_all([part], at_once=1)
    assert part.done
    assert (tmp_path / "one/train.log").read_text() == "waiting\nwaiting\n"


def test_a_part_comes_after_another(tmp_path):
    before = Part(tmp_path / "before", [("write", f"sh -c 'sleep 0.2; echo b >> {tmp_path}/said'")])
    after = Part(tmp_path / "after", [("write", f"sh -c 'echo a >> {tmp_path}/said'")], before)
    assert len(after.all_commands()) == 2
    run_all([after], at_once=2)
    assert (tmp_path / "said").read_text() == "b\na\n" and before.done
    after.run_again()
    assert (tmp_path / "said").read_text() == "b\na\na\n"


def test_a_failure_stops_parts_that_have_not_started(tmp_path):
    bad = Part(tmp_path / "bad", [("run", "false")])
    later = [Part(tmp_path / f"later{i}", [("run", "sleep 0.2")]) for i in range(20)]
    with pytest.raises(SystemExit):
        run_all([bad, *later], at_once=1)
    assert not later[-1].done


def test_a_small_file_is_made_once(tmp_path):
    path = tmp_path / "folder/file"
    assert once(path, lambda: "first") == once(path, lambda: "second") == "first"


def test_validation_loss_is_the_lowest(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        "INFO | train | epoch 001 | loss 9 | nll_loss 1.0 | ppl 2\n"
        "INFO | valid | epoch 001 | valid on 'valid' subset | loss 7 | nll_loss 6.5 | ppl 90\n"
        "INFO | valid | epoch 002 | valid on 'valid' subset | loss 6 | nll_loss 5.25 | ppl 38\n"
        "INFO | valid | epoch 003 | valid on 'valid' subset | loss 6 | nll_loss 5.5 | ppl 45\n"
    )
    assert validation_loss(log) == 5.25


def test_validation_loss_of_what_diverged(tmp_path):
    log = tmp_path / "train.log"
    line = "INFO | valid | epoch 001 | valid on 'valid' subset | loss 7 | nll_loss {} | ppl 90\n"
    for losses, lowest in (((), math.inf), (("nan", "inf"), math.inf), (("nan", 6.5), 6.5)):
        log.write_text("".join(line.format(loss) for loss in losses))
        assert validation_loss(log) == lowest


MODELS = "experiments/aol_models"


def result_of(rows, people, **about):
    sums, pairs = sums_by_person(rows, people)
    return Result(about, "test", 12.5, pairs, {"raw": sums, "unk": sums})


def test_sums_of_people_are_enough_to_compare(tmp_path):
    """The kept sums of two systems give exactly the intervals of their answers."""
    asked = ["a b c", "b", "c d", "a", "d e f g", "b c"]
    people = [7, 3, 7, 3, 9, 9]
    answers = [["a b", "a b c"], ["b"], ["c"], ["a", "b"], ["d e f g"], ["x", "y"]]
    others = [["a"], ["c", "b"], ["c d"], ["b"], ["d e"], ["b c"]]
    one, other = (pair_rows(ranked, asked, at=(10,)) for ranked in (answers, others))
    kept = []
    for number, rows in enumerate((one, other)):
        write_result(tmp_path / "x.json", result_of(rows, people, seed=number))
        kept.append(read_result(tmp_path / "x.json"))
    assert kept[0].pairs == [2, 2, 2] and kept[1].about == {"seed": 1}
    rows, of_people = zip(*(rows_of_people(result, "raw") for result in kept))
    assert np.allclose(rows[0].sum(axis=0), one.sum(axis=0))
    found = compare(rows[0], [rows[1]], (10,), samples=50, people=of_people[0])
    assert found == compare(one, [other], (10,), samples=50, people=people)


def test_a_model_with_a_result_is_not_trained_again():
    def missing(flags):
        return commands(MODELS, "log.tsv", "--data user --systems mtn", flags)

    assert missing("--seeds 1") == []  # its result is in the repository
    lines = missing("--seeds 1 99")
    prepare = next(line for line in lines if line[0] == "mtn-log-to-sessions")
    assert {"--users", "--split-by"} <= set(prepare)
    (model,) = trained(lines)
    assert (model.arch, model.seed, model.encoder_embed_dim) == ("mtn", 99, 128)
    assert sum(line[0] == "fairseq-generate" for line in lines) == 3


def value(line, flag):
    return line[line.index(flag) + 1]


def test_only_systems_with_history_read_data_with_history():
    """The preparation differs in nothing else, so the split and the next queries are the same."""
    names = "mtn-copying mtn-history-copying mtn-3level-copying"
    lines = commands(MODELS, "log.tsv", f"--data user-all --seeds 99 --systems {names}")
    words, history = [line for line in lines if line[0] == "mtn-log-to-sessions"]
    assert history[-2:] == ["--history", "5"]
    text = value(words, "--output")
    assert [word.replace("/history/", "/words/") for word in history[:-2]] == words
    assert text.endswith("/words/text") and "--train-queries" in words
    two, control, three = trained(lines)
    assert [args.data.split("/")[-2] for args in (two, control, three)] == [
        "words",
        "history",
        "history",
    ]
    assert [args.level_layers for args in (two, control, three)] == ["2,1", "2,1", "2,1,1"]
    assert control.level_sizes == three.level_sizes == "12,10,6"  # the session in progress and five
    same_time = [1600 / cost for cost in (0.9, 2.45, 2.6)]
    assert [args.max_update for args in (two, control, three)] == [round(n) for n in same_time]
    apart = {"data", "level_layers", "level_sizes", "save_dir"}
    apart |= {"max_update", "total_num_update", "warmup_updates"}
    kept = [{k: v for k, v in vars(a).items() if k not in apart} for a in (two, control, three)]
    assert kept[0] == kept[1] == kept[2]
    asked = [line for line in lines if line[0] == "fairseq-generate"]
    assert [line[1].split("/")[-2] for line in asked] == 3 * ["words"] + 6 * ["history"]


def test_the_rival_is_run_with_its_python_and_skipped_without(monkeypatch):
    flags = ("--data user-all --seeds 98 99", "--systems pecos")
    rivals = [
        line
        for line in commands(MODELS, "log.tsv", *flags, "--pecos rival/bin/python")
        if "rival_pecos.py" in " ".join(line)
    ]
    assert [line[0] for line in rivals] == 2 * ["rival/bin/python"]
    assert [value(line, "--seed") for line in rivals] == ["98", "99"]
    monkeypatch.delenv("PECOS", raising=False)
    said = run(f"python {MODELS}/experiment.py log.tsv --dry-run {' '.join(flags)}")
    assert "PECOS is skipped" in said.stderr and "rival_pecos" not in said.stdout


def test_widths_differ_in_size_and_rate_and_are_scored_on_validation_data():
    said = run(
        f"python {MODELS}/widths.py log.tsv --dry-run --data user --seed 99"
        " --systems mtn-copying transformer-copying"
    ).stdout
    lines = [words_of(line) for line in said.splitlines()]
    runs = trained(lines)
    assert [args.encoder_embed_dim for args in runs] == 2 * [64, 128, 192, 256]
    assert [args.encoder_attention_heads for args in runs] == 2 * [2, 4, 6, 8]
    assert [args.encoder_ffn_embed_dim for args in runs] == 2 * [256, 256, 384, 512]
    assert [args.lr for args in runs[:4]] == [[0.0028], [0.002], [0.0016], [0.0014]]
    assert [args.max_update for args in runs] == 4 * [1778] + 4 * [1455]
    asked = [line for line in lines if line[0] == "fairseq-generate"]
    assert len(asked) == 2 * len(runs)
    assert {value(line, "--gen-subset") for line in asked} == {"valid"}


def test_the_usual_width_is_that_of_the_table():
    assert systems(size_of(128))["mtn-copying"] == systems(SIZES[128])["mtn-copying"]
    usual = Settings(0.002, 0.1)
    assert settings_at(128, usual, same_rate=False) == usual
    assert settings_at(32, usual, same_rate=False) == Settings(0.004, 0.1)
    assert settings_at(512, usual, same_rate=True) == usual


def test_history_is_for_models_of_the_same_flags():
    """The control is the third level's model without its layer."""
    three, control, *longer = history_systems(SIZES[128]).values()
    copying = systems(SIZES[128])["mtn-copying"]
    assert [system.flags for system in longer] == [three.flags, control.flags]
    assert {system.cost for system in longer} == {copying.cost}
    assert three.flags == f"{control.flags} --level-layers 2,1,1"
    assert three.data == control.data == "history"
    assert systems(SIZES[128])["mtn-pieces"].data == "pieces"


def test_answers_for_validation_data_are_scored_as_raw_text(tmp_path):
    text = tmp_path / "text"
    text.mkdir()
    for ending, lines in (
        ("session", "a\na <q> b\nc\n"),
        ("next", "b\nc\nd\n"),
        ("user", "0\n0\n4\n"),
    ):
        (text / f"valid.{ending}").write_text(lines)

    def log(name, said, closing):
        pairs = enumerate(zip("abc", "bcd", said))
        (tmp_path / name).write_text(
            "".join(
                f"S-{n}\t{source}\nT-{n}\t{next_query}\nH-{n}\t-1\t{found}\nD-{n}\t-1\t{found}\n"
                f"P-{n}\t-1.0 -1.0\n"
                for n, (source, next_query, found) in pairs
            )
            + closing
        )

    log("generate.log", "bxd", "Yardstick last with nbest=10: 3 pairs\n")
    log("reference.log", "bcd", "Generate valid with beam=1: BLEU4 = 0\n")
    _, perplexity, pairs, sums = score_answers(tmp_path, tmp_path, with_model=True, split="valid")
    assert (perplexity, pairs, set(sums)) == (2.0, [2, 1], {"raw"})
    written = Result({}, "valid", perplexity, pairs, sums)
    write_result(tmp_path / "kept.json", written)
    kept = read_result(tmp_path / "kept.json")
    assert set(kept.sums) == {"raw"} and np.array_equal(kept.sums["raw"], sums["raw"])


def test_widths_are_compared_with_the_usual_width():
    asked = ["a b c d", "b c d e", "c d e f"]
    about = {
        "system": "mtn-copying",
        "seed": 1,
        "updates": 1778,
        "seconds per update": 0.1,
        "cost": 1.5,
    }
    usual = pair_rows([["a b c d"], ["x y z w"], ["x y z w"]], asked, at=(10,))
    wider = pair_rows([["a b c d"], ["b c d e"], ["c d e f"]], asked, at=(10,))
    results = [
        result_of(usual, [1, 2, 3], **about, width=128, rate=0.002),
        result_of(wider, [1, 2, 3], **about, width=256, rate=0.0014),
    ]
    rows = [line.split(" | ") for line in list(width_table(results))[-2:]]
    assert rows[0][1:8] == ["128", "1", "0.002", "1,778", "3.0", "1.50", "12.5"]
    assert rows[0][-2:] == ["", " |"]
    assert rows[1][8] == "100.00" and rows[1][-1].startswith("+66.67 (")


def test_the_tables_are_those_of_the_results():
    said = run(f"python {MODELS}/tables.py").stdout
    assert said == (ROOT / MODELS / "results/tables.md").read_text(encoding="utf-8")


def test_the_readme_has_the_rows_of_the_tables():
    rows = run(f"python {MODELS}/tables.py --readme").stdout.splitlines()
    readme = (ROOT / MODELS / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 20
    assert [row for row in rows if row and row not in readme] == []
