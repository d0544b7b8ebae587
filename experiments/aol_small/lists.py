"""Suggestions that do not come from fairseq-generate: yardsticks, all sources, a rival."""

from pathlib import Path

from parts import Part, Training
from recipes import BEAM, ListMaker


def yardstick(output: Path, method: str) -> Part:
    command = f"mtn-yardstick {method} --nbest {BEAM} {_pairs(output)}"
    return Part(output / "yardsticks" / method, [("generate", command)])


def counts(output: Path) -> Part:
    """Count the next queries."""
    count = f"mtn-count-next --train {output}/words/text/train --output {output}/counts/table"
    return Part(output / "counts", [("count", count)])


def suggester(output: Path, name: str, maker: ListMaker, model: Training, seed: int) -> Part:
    """Fit a ranker on the validation text, then generate with all sources and the ranker."""
    folder, words = output / "answers" / f"{name}-{seed}", output / "words"
    sources = (
        f"--model {model.checkpoint} --data {words}/data-bin --counts {output}/counts/table"
        f" {maker.flags}"
    )
    commands = []
    if maker.ranked:
        fit = f"mtn-fit-ranker {sources} --valid {words}/text/valid --output {folder}/ranker"
        commands.append(("fit", fit))
        sources += f" --ranker {folder}/ranker"
    commands.append(("generate", f"mtn-suggest {sources} --test {words}/text/test"))
    return Part(folder, commands)


def pecos(output: Path, python: str, seed: int) -> Part:
    script = Path(__file__).with_name("rival_pecos.py")
    command = f"{python} {script} --nbest {BEAM} {_pairs(output)} --seed {seed}"
    return Part(output / "answers" / f"pecos-{seed}", [("generate", command)])


def _pairs(output: Path) -> str:
    return f"--train {output}/words/text/train --test {output}/words/text/test"
