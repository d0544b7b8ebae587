"""README.md of a bundle: its parts and scores, for readers.

Without the folder's name: equal parts give equal bytes, whatever the folder is called.
"""

from typing import Any, Dict, List, Optional

NAME = "README.md"

# Options that make a model smaller or faster, and the manifest's key for their loss.
LOSSES = {
    "int8": "int8_loss",
    "shortlist": "shortlist_loss",
    "int8 with shortlist": "int8_with_shortlist_loss",
}

_PARTS = {
    "model": "graphs, dictionary and settings of the model",
    "next-queries": "what people asked next",
    "ranker": "orders lists of suggestions",
    "completion-ranker": "orders completions of what is being typed",
    "rules": "what may be shown",
    "samples": "sessions to try",
}

_USE = """\
```python
from mtn_serving import Suggester

suggester = Suggester.load("BUNDLE")  # this folder
suggester.suggest(["first query", "second query"], n=5)
```"""

Facts = Dict[str, Any]


def model_card(manifest: Facts) -> str:
    """Args:
    manifest: with the facts of all parts
    """
    parts = [
        "# Bundle",
        "Suggests next queries for a search session. Written by `mtn-export`; needs the package "
        "`mtn_serving`, numpy and onnxruntime.",
        _USE,
        "## Parts",
        _parts(manifest),
        *_section("## Model", _model(manifest.get("model"))),
        *_section("## Trained on", _numbers(manifest.get("trained_on"))),
        *_section("## Counts", _numbers(manifest.get("next-queries"))),
        *_section("## Scores", _scores(manifest.get("scores"))),
        *_losses(manifest),
        *_section("## What may be shown", _numbers(manifest.get("rules"))),
        _rules(manifest.get("rules")),
        *_section("## Written with", _numbers(manifest.get("versions"))),
    ]
    return "\n\n".join(parts) + "\n"


def _parts(manifest: Facts) -> str:
    sizes = dict.fromkeys(_PARTS, 0)
    for name, file in manifest["files"].items():
        part = name.partition("/")[0]
        if part in sizes:
            sizes[part] += file["bytes"]
    rows = [
        f"| `{part}/` | {_PARTS[part]} | {size / 1e6:.2f} MB |"
        for part, size in sizes.items()
        if size
    ]
    return "\n".join(["| folder | what it has | size |", "|---|---|---|", *rows])


def _model(facts: Optional[Facts]) -> List[str]:
    if not facts:
        return []
    names = ("architecture", "number_type", "parameters", "words", "pieces", "level_sizes")
    known = {name: facts[name] for name in (*names, "copying") if name in facts}
    if facts.get("shortlist"):
        known["words that its beam can say"] = facts["shortlist"]
    return _numbers(known)


def _numbers(facts: Optional[Facts]) -> List[str]:
    return [f"- {_name(name)}: {_value(value)}" for name, value in (facts or {}).items()]


def _scores(scores: Optional[Facts]) -> List[str]:
    if not scores:
        return []
    lines = [f"On {scores['pairs']:,} pairs that it was not trained on, in percent:", ""]
    return lines + [f"- {name}: {value:.2f}" for name, value in scores["lists"].items()]


def _rules(rules: Optional[Facts]) -> str:
    """If people are not known, times are counted, even if one person asked a query often."""
    if rules is not None and rules.get("counted") == "people":
        enough = "were asked by at least `min users` people"
    else:
        enough = "were asked at least `min users` times (by how many people is not known)"
    return (
        f"Only queries that {enough} are suggested, and no explicit words, personal data or listed "
        "words. `mtn-export --update` changes these rules."
    )


def _losses(manifest: Facts) -> List[str]:
    found: List[str] = []
    for what, key in LOSSES.items():
        found += _section(f"## What {what} loses, in percent", _numbers(manifest.get(key)))
    return found


def _section(heading: str, lines: List[str]) -> List[str]:
    return [heading, "\n".join(lines)] if lines else []


def _name(name: str) -> str:
    return name.replace("_", " ")


def _value(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, dict):
        return ", ".join(f"{_name(name)} {_value(each)}" for name, each in value.items())
    return str(value)
