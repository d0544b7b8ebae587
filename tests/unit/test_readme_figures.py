"""No figure in the README that is not in a committed result file.

Each claim is a piece of the README's text, made from the numbers of the file that its line or
paragraph links to. After a new measurement, the error shows the text to write.
"""

import json
import re
from pathlib import Path

import pytest
from result_tables import read_table

from mtn_report.paper import MAIN

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEMO = ROOT / "examples/sample_log/README.md"
ENGINES = ROOT / "benchmarks/serving/engines.json"
LISTS = ROOT / "experiments/aol_lists"
COMPLETION = ROOT / "experiments/aol_completion"
MODELS = ROOT / "experiments/aol_models"

# Figures that no command has recorded.
UNRECORDED = {
    "3.11": "version of Python",
    "1.8": "GB of disk for the environment",
    "21": "CPU minutes of the test suite",
}
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def recorded(file, pattern):
    """What the groups of a pattern match in a file."""
    text = " ".join(file.read_text(encoding="utf-8").split())
    (found,) = re.findall(pattern, text)
    return found


def demo():
    whole = recorded(DEMO, r"best possible with the whole session ([\d.]+) % Hit@5")
    last = recorded(DEMO, r"best possible with the last query only ([\d.]+) % \.\.\.")
    pairs = recorded(DEMO, r"Exact match over all (\d+) test pairs")
    exact = recorded(DEMO, r"this model ([\d.]+) % best possible with the whole")
    seconds, bundle = recorded(DEMO, r"figures above took (\d+) seconds .{,30}, (\d+) of them to")
    yield f"the demo takes [{seconds} seconds]"
    yield f", {bundle} of them for its bundle."
    yield (
        f"suggestion is right for {exact} % of {pairs} test pairs. The best possible is {whole} %, "
        f"or {last} % from the last query only."
    )


def training():
    row = read_table(DEMO, "## The recipe for your own log")
    small, large = row["300"], row["3000"]
    one_thread, tested = recorded(
        DEMO, r"again with one thread: ([\d.]+) on the test \((\d+) pairs\)"
    )
    seconds = recorded(DEMO, r"all five commands: (\d+) s of CPU time")
    minutes = recorded(DEMO, r"cut off by hand; about (\d+) minutes of CPU time")
    yield (
        f"{small['training pairs']} training pairs: first suggestion right {small['model, test']} "
        f"% ({one_thread} % with one thread; {tested} test pairs), counting "
        f"{small['counting, test']} %, {seconds} CPU seconds. {large['training pairs']} pairs: "
        f"{large['model, test']} %, counting {large['counting, test']} %, about {minutes} CPU "
        "minutes"
    )


def serving():
    engines = json.loads(ENGINES.read_text(encoding="utf-8"))
    times = {
        (each["words"], each["engine"]): f"{each['median_ms']:.1f}"
        for each in engines["models"]
        if each["threads"] == 1
    }
    lists = {each["engine"]: each for each in engines["lists"] if each["threads"] == 1}
    bundle, torch = "ONNX Runtime, float32", "torch"
    yield (
        "a vocabulary of 5,000 and 20,000 words: "
        f"{times[5000, bundle]} and {times[20000, bundle]} ms from a bundle, "
        f"{times[5000, torch]} and {times[20000, torch]} ms with torch. The demo: "
        f"{lists['suggest, float32']['median_ms']:.1f} ms per list, "
        f"{lists['complete, float32']['median_ms']:.1f} ms per completion, "
        f"{lists['suggest, float32']['peak_mb']:.0f} MB of memory"
    )


def strangers():
    table = read_table(LISTS / "results/user-scores.md", "Raw text: an <unk> never matches")
    names = ("strangers", "back-first", "back", "session")
    mrr = [table[name]["MRR@10"] for name in names]
    exact = [table[name]["exact"] for name in names]
    yield (
        f"our lists {mrr[0]}; earlier queries, then counting {mrr[1]}; counting, then earlier "
        f"queries {mrr[2]}; counting {mrr[3]}. First suggestion right: {exact[0]}, {exact[1]}, "
        f"{exact[2]} and {exact[3]} %"
    )


def tomorrow():
    table = read_table(LISTS / "results/time-scores.md", "Raw text: an <unk> never matches")
    names = ("known", "personal", "session")
    mrr = [table[name]["MRR@10"] for name in names]
    exact = [table[name]["exact"] for name in names]
    yield (
        f"our lists {mrr[0]}; the person's own queries {mrr[1]}; counting {mrr[2]}. First "
        f"suggestion right: {exact[0]}, {exact[1]} and {exact[2]} %"
    )


def completion():
    table = read_table(COMPLETION / "results/user.md", "MRR@10 by number of characters typed")
    ours, popular, session, free = (
        ", ".join(table[typed][name] for typed in ("1", "2", "3"))
        for name in ("counts", "popular", "session", "free")
    )
    yield (
        f"MRR@10 after 1, 2 and 3 letters: ours {ours}; most popular completion {popular}; queries "
        f"of the session, then popular ones {session}. Ours, if queries that only one person asked "
        f"may be shown: {free}"
    )


def read_by_eye():
    table = read_table(LISTS / "README.md", "## Read by eye")
    (row,) = (row for rules, row in table.items() if rules.startswith("**today's**"))
    judged = sum(int(row[verdict]) for verdict in ("useful", "harmless", "bad"))
    yield (
        f"Of {judged} lists for strangers, read by eye: {row['useful']} useful, {row['harmless']} "
        f"harmless, {row['bad']} bad"
    )


def models():
    file = MODELS / "results/tables.md"
    strangers, known = recorded(
        file, r"## user ([\d,]+) test pairs.*## session ([\d,]+) test pairs"
    )
    users = recorded(MODELS / "README.md", r"\(([\d,]+) people, only clicked queries")
    channels = recorded(MODELS / "README.md", r"All models have (\d+) channels")
    yield f"on real queries of {users} AOL users, percent: {channels} channels"
    yield f"not in the training data ({strangers} pairs)"
    yield f"with other sessions there, even later ones ({known} pairs)"


def model_rows():
    """Rows of the table below `Results`."""
    tables = [
        read_table(MODELS / "results/tables.md", f"## {name}") for name in ("user", "session")
    ]
    for name, row, paper in (
        ("Seq2Seq with attention", "Seq2Seq with attention", "seq2seq_attn"),
        ("flat Transformer", "Transformer 3 + 2", "transformer"),
        ("`mtn`", "**MTN 2Q 1S + 2**", "mtn"),
        ("Seq2Seq, copying words of the session", "Seq2Seq, copying", None),
        ("flat Transformer, copying", "Transformer 3 + 2, copying", None),
        ("`mtn`, copying", "**MTN, copying**", None),
        ("count what followed the last query, else echo it", "`last`: count, else echo", None),
    ):
        scores = [table[row][name] for table in tables for name in ("BLEU", "exact", "MRR@10")]
        bleu = f"{MAIN[paper].scores['bleu']:.2f} |" if paper else "|"
        yield f"| {name} | {' | '.join(scores)} | {bleu}"


# What the README links beside the claims -> the claims.
CLAIMS = {
    "demo": ("examples/sample_log/README.md#what-you-will-see", demo),
    "training": ("examples/sample_log/README.md#the-recipe-for-your-own-log", training),
    "serving": ("benchmarks/serving/README.md", serving),
    "strangers": ("experiments/aol_lists/README.md#strangers-split-by-user", strangers),
    "tomorrow": ("experiments/aol_lists/README.md#tomorrow-split-by-time", tomorrow),
    "completion": ("experiments/aol_completion/README.md", completion),
    "read by eye": ("experiments/aol_lists/README.md#read-by-eye", read_by_eye),
    "models": ("experiments/aol_models/README.md", models),
}


def pieces():
    """Rows of tables and paragraphs, each on one line."""
    for block in README.split("\n\n"):
        yield from block.splitlines() if block.startswith("|") else [" ".join(block.split())]


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_have_the_figures_of_the_file_that_they_link(name):
    link, claims = CLAIMS[name]
    linked = [piece for piece in pieces() if f"]({link})" in piece]
    for claim in claims():
        assert any(claim in piece for piece in linked), f"README.md should have: {claim}"


def test_the_table_of_models_has_the_figures_of_their_results():
    below = list(pieces())
    below = below[below.index("## Results") :]
    for row in model_rows():
        assert row in below, f"README.md should have: {row}"


def test_every_other_figure_is_known_to_be_no_result():
    text = "\n".join(pieces())
    for claim in [claim for _, claims in CLAIMS.values() for claim in claims()] + [*model_rows()]:
        text = text.replace(claim, "")
    text = text[: text.index("## Your own log")] + text[text.index("## Results") :]
    text = re.sub(r"https?:\S+|\]\([^)]*\)|<[^>]*>|MRR@10", "", text)
    numbers = {number for number in NUMBER.findall(text) if len(number) > 1}  # not "1 / place"
    assert numbers == UNRECORDED.keys()
