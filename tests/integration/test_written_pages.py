"""The commands of README and docs, run in bash as they are written.

All pages use the same file names, so each page finds the files that the README's commands wrote.
The log is small, and trainings end after three updates.
"""

import csv
import gzip
import json
import re
import shutil
import sys
from datetime import datetime, timezone

import pytest
from optional_parts import need_lightgbm
from processes import ROOT
from served import served
from shells import bash
from written_commands import blocks, commands

from mtn_evaluation import read_system

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="shells.py reads /proc")
UPDATES = 3
LOGS = {"log": (120, 1), "next": (240, 2)}  # users and seed; a ranker needs 5 people to validate

# Blocks with commands that these tests run, by a text of each.
RUN = {
    "README.md": ["my_log.csv.gz"],
    "docs/bundle.md": [
        "--ranker ranker",
        "--samples samples.txt",
        "madonna <q> shakira",
        "next-queries-47",
        "mtn-bundle show",
    ],
    "docs/completion.md": ["--typed", "mtn-fit-ranker --completion", "> complete.jsonl"],
    "docs/data.md": ["--output text\n", "fairseq-preprocess"],
    "docs/evaluation.md": ["mtn-yardstick echo", "--generate-unknown", "--score-reference"],
    "docs/judging.md": ["mtn-judge sample", "mtn-judge shares"],
    "docs/preprocessing.md": ["'logs/*.csv.gz'"],
    "docs/suggestions.md": ["> suggest.log", "<session> news", "--explain", "monday.tsv"],
    "docs/training.md": ["--finetune-from-model"],
    "docs/weekly.md": [
        "logs/week47.tsv.gz",
        "--keep-state",
        "--srcdict data-46/dict.next.txt",
        "mtn-fit-ranker",
        "mtn-bundle compare",
        "ln -sfn",
    ],
}
# Other blocks, and what runs their commands.
ELSEWHERE = {
    "README.md": {"make demo": "tests/system/test_learnability.py, without make"},
    "docs/copying.md": {"--copy-attention …": "test_copying_commands.py"},
    "docs/data.md": {"--sentencepiece 8000": "test_word_piece_commands.py"},
    "docs/getting-started.md": {"make demo": "tests/system/test_learnability.py, without make"},
    "docs/preprocessing.md": {"LOG …": "every test that prepares a log"},
    "docs/report.md": {"mtn-report": "test_report_command.py"},
    "docs/scale.md": {
        "for rank in": "test_two_processes.py",
        "--arch mtn …": "every test that trains",
        "torchrun": "test_launch_lines.py",
        "srun": "test_launch_lines.py",
        "data-bin0:data-bin1": "test_sharded_data.py",
    },
    "docs/serving.md": {
        "pip install": "test_packaging.py; the README's test serves a bundle",
        "/admin/reload": "test_serve_command.py",
        "--challenger": "test_serve_command.py",
        "mtn-events": "test_serve_command.py",
    },
    "docs/speed.md": {"OMP_WAIT_POLICY=PASSIVE": "every test that trains"},
    "docs/suggestions.md": {"timeit": "nothing: a measurement"},
}


def pages():
    return ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


def blocks_of(page):
    found = blocks((ROOT / page).read_text(encoding="utf-8"), "", "bash", "sh")
    return [each for each in found if list(commands(each))]


def block(page, text):
    """The only block of a page with this text, without lines that install or serve."""
    assert text in RUN[page]
    (wanted,) = [each for each in blocks_of(page) if text in each]
    lines = [line for line in wanted.splitlines() if not re.match("pip |mtn-serve ", line)]
    return re.sub(r"(--patience \d+)", rf"\1 --max-update {UPDATES}", "\n".join(lines))


@pytest.mark.parametrize("page", pages())
def test_every_block_of_commands_is_run_somewhere(page):
    known = [*RUN.get(page, []), *ELSEWHERE.get(page, {})]
    found = {each: [text for text in known if text in each] for each in blocks_of(page)}
    assert all(len(texts) == 1 for texts in found.values()), found
    assert len(found) == len(known)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder after the commands of `Your own log`, and what they printed."""
    need_lightgbm()
    folder = tmp_path_factory.mktemp("pages")
    for name, (users, seed) in LOGS.items():
        bash(f"mtn-sample-log --users {users} --seed {seed} --output {name}.tsv", folder)
    with open(folder / "log.tsv", encoding="utf-8") as log:
        rows = list(csv.reader(log, delimiter="\t"))[1:]
    with gzip.open(folder / "my_log.csv.gz", "wt", encoding="utf-8", newline="") as log:
        table = csv.writer(log)
        table.writerow(["uid", "q", "ts"])
        for user, query, when, *_ in rows:
            seconds = datetime.fromisoformat(when).replace(tzinfo=timezone.utc).timestamp()
            table.writerow([user, query, int(seconds)])
    return folder, bash(block("README.md", "my_log.csv.gz"), folder)


@pytest.fixture
def folder(made, tmp_path):
    """A copy of the folder, for a page that changes it."""
    return shutil.copytree(made[0], tmp_path / "copy")


def test_the_readme_goes_from_a_log_to_a_bundle(made, tmp_path):
    folder, said = made
    table = re.findall(r"^\| (model|counting) +\| +([\d.]+) \|", said, re.MULTILINE)
    assert [name for name, _ in table] == ["model", "counting"]
    assert float(table[1][1]) > 5  # counting finds some, so columns and time were read correctly
    assert "paris" in said.splitlines()[-1] or "london" in said  # suggestions for the session
    with served(tmp_path, f"{folder}/my-bundle") as server:
        status, answer = server.suggest("paris hotels", "london")
        assert status == 200 and answer["suggestions"]


def test_evaluation(folder):
    page = "docs/evaluation.md"
    bash(block(page, "mtn-yardstick echo"), folder)
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert {each["name"] for each in scores["systems"]} == {"echo", "back", "mtn"}
    assert {each["baseline"] for each in scores["comparisons"]} == {"back"}
    plugin = '--user-dir "$(mtn-user-dir)" --task session_to_query --beam 2 --nbest 2'
    path = "--path checkpoints/checkpoint_best.pt"
    said = bash(block(page, "--generate-unknown").replace("…", f"{plugin} {path}"), folder)
    assert "<unk>" in (folder / "with-unk.log").read_text() and "With <unk>" in said
    said = bash(block(page, "--score-reference").replace("…", plugin), folder)
    assert "erplexity" in said


def test_judging(folder):
    page = "docs/judging.md"
    for name in ("counts", "mtn"):
        bash(f"mtn-yardstick session --train text/train --test text/test > {name}.log", folder)
    sample, _, count = block(page, "mtn-judge sample").partition("# a reader fills in form.tsv\n")
    bash(sample.replace("--lists 100", "--lists 9"), folder)
    fill_in(folder / "form.tsv")
    said = bash(count, folder)
    assert "| counts" in said and "useful" in said
    assert json.loads((folder / "verdicts.json").read_text())
    assert "| mtn" in bash(block(page, "mtn-judge shares"), folder)


def fill_in(form):
    head, *rows = form.read_text(encoding="utf-8").splitlines()
    at = head.split("\t").index("verdict")
    filled = [row.split("\t") for row in rows]
    for cells in filled:
        cells[at] = "useful"
    form.write_text("\n".join([head, *("\t".join(cells) for cells in filled)]) + "\n")


def test_suggestions(folder):
    page = "docs/suggestions.md"
    for done in ("next-queries", "ranker"):
        shutil.rmtree(folder / done)
    bash(block(page, "> suggest.log"), folder)
    assert read_system(str(folder / "suggest.log")).pairs
    assert bash(block(page, "<session> news"), folder)
    assert "london hotels" in bash(block(page, "--explain"), folder)
    for name, day in (("log", "monday"), ("next", "tuesday")):
        shutil.copy(folder / f"{name}.tsv", folder / f"{day}.tsv")
    shutil.rmtree(folder / "next-queries")
    bash(block(page, "monday.tsv"), folder)
    assert (folder / "next-queries.state").exists()


def test_completion(folder):
    page = "docs/completion.md"
    shutil.rmtree(folder / "my-bundle")
    bash(block(page, "mtn-fit-ranker --completion"), folder)
    assert bash(block(page, "--typed"), folder).count("london ho") >= 2
    said = bash(block(page, "> complete.jsonl"), folder)
    assert "mine" in said and "popular" in said


def test_bundle(folder):
    page = "docs/bundle.md"
    shutil.move(folder / "my-bundle", folder / "counts-bundle")
    bash(block(page, "--ranker ranker"), folder)
    shutil.copy(ROOT / "examples/sample_log/samples.txt", folder / "samples.txt")
    bash(block(page, "--samples samples.txt"), folder)
    assert len(bash(block(page, "madonna <q> shakira"), folder).splitlines()) > 0
    bash("mtn-count-next --train text/train --output next-queries-47", folder)
    (folder / "blocked.txt").write_text("shakira\n", encoding="utf-8")
    bash(block(page, "next-queries-47"), folder)
    said = bash(block(page, "mtn-bundle show"), folder)
    assert "- blocked entries: 0" in said  # the default rules, again
    assert "| mrr@10 |" in said


def test_a_week(folder):
    """The steps of docs/weekly.md; the training is that of docs/training.md."""
    page = "docs/weekly.md"
    (folder / "logs").mkdir()
    for name, week in (("log", "46"), ("next", "47")):
        bash(f"gzip -c {name}.tsv > logs/week{week}.tsv.gz", folder)
        bash(block(page, "logs/week47.tsv.gz").replace("47", week), folder)
    for old, name in (("data-bin", "data-46"), ("my-bundle", "bundle-46")):
        (folder / name).symlink_to(old)
    shutil.rmtree(folder / "next-queries")
    bash(block(page, "--keep-state"), folder)
    bash(block(page, "--srcdict data-46/dict.next.txt"), folder)
    train = block("docs/training.md", "--finetune-from-model").replace("text-2", "text-47")
    bash(train, folder)
    assert (folder / "data-bin-2/dict.next.txt").read_bytes() == (
        folder / "data-47/dict.next.txt"
    ).read_bytes()
    (folder / "checkpoints-47").symlink_to("checkpoints-2")
    bash(block(page, "mtn-fit-ranker"), folder)
    said = bash(block(page, "mtn-bundle compare"), folder)
    assert "bundle-46" in said and "bundle-47" in said and "mrr@10" in said
    (folder / "bundle").symlink_to("bundle-46")
    with served(folder, f"{folder}/bundle") as server:
        before = server.suggest("paris")[1]["bundle"]["version"]
        bash(block(page, "ln -sfn").replace("SERVICE_PID", str(server.process.pid)), folder)
        server.wait_until(lambda: "reloaded" in server.said())
        assert server.suggest("paris")[1]["bundle"]["version"] != before


def test_preparation(folder, tmp_path):
    """In folders of their own, because all write `text`."""
    for page, start in (
        ("docs/data.md", "--output text\n"),
        ("docs/preprocessing.md", "'logs/*.csv.gz'"),
    ):
        work = tmp_path / page.replace("/", "-")
        (work / "logs").mkdir(parents=True)
        with gzip.open(work / "my_log.tsv.gz", "wb") as log:
            log.write((folder / "log.tsv").read_bytes())
        shutil.copy(folder / "my_log.csv.gz", work / "logs")
        bash(block(page, start), work)
        assert (work / "text/train.session").stat().st_size
        if page == "docs/data.md":
            bash(block(page, "fairseq-preprocess"), work)
