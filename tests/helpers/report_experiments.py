"""Small experiments for the tests of mtn-report: evaluations with known numbers, no models."""

import json
from pathlib import Path

from scoring_logs import Answer, write_log, write_text

from mtn_evaluation.same_test_set import fingerprint

ANSWERS = [
    Answer("paris hotels", "london", ["london", "rome", "paris"]),
    Answer("paris hotels <q> london", "london hotels", ["london", "london", "a|b *<unk>*", "x"]),
]
PLACES = ("2", "3")
STATS = {
    "splits": {
        "train": {"sessions": 940, "pairs": 2400},
        "valid": {"sessions": 25, "pairs": 60},
        "test": {"sessions": 35, "pairs": 90},
    },
    "vocabulary": 1234,
}


def figures(first, mrr=True):
    """Ten different numbers derived from one."""
    found = {f"{n}-gram": first - n for n in (1, 2, 3, 4)}
    found.update({"bleu": first / 2 + 0.125, "exact": first / 4, "length": 2.0})
    return {**found, "mrr@10": first / 4 + 1 if mrr else None}


def evaluated(name, first, mrr=True):
    """A system of `mtn-evaluate --json`; its figures with <unk> as a token are higher by one."""
    both = {"raw": figures(first, mrr), "unk": figures(first + 1, mrr)}
    kinds = {"position": PLACES, "seen": ("seen", "unseen"), "shared_words": ("shared", "none")}
    groups = {
        kind: [
            {"group": group, "pairs": 1, **{way: dict(found) for way, found in both.items()}}
            for group in found
        ]
        for kind, found in kinds.items()
    }
    return {"name": name, **both, "groups": groups, "perplexity": None}


def evaluation(*systems, comparisons=(), **changes):
    test = {
        "text": "test",
        "pairs": len(ANSWERS),
        "words": 4,
        "unknown_words": 1,
        "length": 2.0,
        "sha256": fingerprint([answer.next_query for answer in ANSWERS]),
        **changes,
    }
    return {
        "schema": 1,
        "test": test,
        "signature": "nrefs:1|version:2",
        "systems": list(systems),
        "comparisons": comparisons,
        "notes": ["mtn-1: a note of the evaluation."],
    }


def write_json(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path.name


class Experiment:
    """A folder with a manifest, which tests change before they write it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        write_text(self.folder / "test", ANSWERS)
        write_log(self.folder / "echo.log", ANSWERS)
        write_json(self.folder / "stats.json", STATS)
        self.evaluate("scores.json", evaluated("echo", 20), evaluated("mtn-1", 40))
        self.manifest = {
            "schema": 1,
            "title": "A & B <i>",
            "evaluations": ["scores.json"],
            "systems": [
                {"label": "echo", "group": "yardstick", "runs": [{"scores": "echo"}]},
                {
                    "label": "MTN",
                    "group": "main",
                    "paper": "mtn",
                    "runs": [{"seed": 1, "scores": "mtn-1"}],
                },
            ],
        }

    def evaluate(self, name, *systems, **changes):
        return write_json(self.folder / name, evaluation(*systems, **changes))

    @property
    def echo(self):
        return self.manifest["systems"][0]

    @property
    def mtn(self):
        return self.manifest["systems"][1]

    def write(self):
        write_json(self.folder / "report.json", self.manifest)
        return str(self.folder)


def training_log(losses, style="simple"):
    """A log of fairseq-train with validation after every hundred updates."""
    lines = []
    for number, loss in enumerate(losses, 1):
        updates = 100 * number
        if style == "simple":
            lines += [
                f"2026-01-01 | INFO | train_inner | epoch 001:  {updates} / 900 loss=9, "
                f"nll_loss={loss + 0.5}, ppl=2, num_updates={updates}, lr=0.1, wall=68",
                "2026-01-01 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 9 | "
                f"nll_loss {loss} | ppl 2.95 | num_updates {updates} | best_loss 9",
            ]
        else:
            train = {"epoch": 1, "loss": "9", "nll_loss": str(loss + 0.5)}
            valid = {"epoch": 1, "valid_loss": "9", "valid_nll_loss": str(loss)}
            train["num_updates"] = valid["valid_num_updates"] = str(updates)
            lines += [
                f"2026-01-01 | INFO | train_inner | {json.dumps(train)}",
                f"2026-01-01 | INFO | valid | {json.dumps(valid)}",
            ]
    return "".join(f"{line}\n" for line in ["2026-01-01 | INFO | fairseq | ready", *lines])
