"""Write a new bundle, or replace parts of one, atomically."""

import os
import shutil
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from platform import python_version
from typing import Any, Callable, Dict, Iterator

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.whole_folder import written_whole

from ..display_rules import DisplayRules
from ..suggester import Suggester
from .folder import COUNTS, RULES, SAMPLES, Bundle
from .manifest import files_in, foreign_files, read_manifest, write_manifest
from .model_card import LOSSES, model_card
from .model_card import NAME as CARD
from .rules import SETTINGS, read_bundle_rules, write_bundle_rules
from .same_log import known_words
from .samples import NAME as SAMPLES_FILE
from .samples import keep_shown

# Versions to record, of the libraries that are installed.
_LIBRARIES = (
    "torch",
    "fairseq",
    "fairseq-fixed",
    "onnx",
    "onnxruntime",
    "numpy",
    "lightgbm",
    "sentencepiece",
)

SCORES = "scores"
MEASURED = (SCORES, *LOSSES.values())  # facts about the bundle as a whole

Facts = Dict[str, Any]
AddPart = Callable[[Path], Facts]  # writes a new folder; returns facts about it
Score = Callable[[Suggester], Facts]  # scores the lists of a bundle: some of MEASURED


@contextmanager
def new_bundle(output: Path) -> Iterator[Path]:
    """Yield a folder to write into; afterwards it is renamed, and replaces an older bundle."""
    check_place(output)
    place = Path(os.path.realpath(output))  # write to the target of a link, and keep the link
    try:
        with written_whole(place, lambda: check_place(output)) as partial:
            yield partial
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise InputError(reason, "check its permissions and the free space", output) from None


def check_place(output: Path) -> None:
    """Refuse to overwrite anything else. Call it before long work too, not only after it."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    try:
        manifest = read_manifest(output)
    except InputError:
        reason = "something else is there already, no bundle that this version knows"
        raise InputError(reason, "give --output another name", output) from None
    foreign = foreign_files(output, manifest)
    if foreign:
        raise InputError(
            f"holds {foreign[0]}, which mtn-export did not write",
            "it is not deleted: move it elsewhere, or give --output another name",
            output,
        )


def write_bundle(
    output: Path, parts: Dict[str, AddPart], rules: DisplayRules, facts: Facts, score: Score
) -> Bundle:
    """Write a bundle. It is loaded once before it gets its name, so unfitting parts are refused.

    Args:
        parts: functions that write the parts, by folder name
        facts: further facts for the manifest
    """
    with new_bundle(output) as partial:
        of_parts = {name: add(partial / name) for name, add in parts.items()}
        facts = {"versions": versions(), **facts, **of_parts}
        _finish(partial, rules, facts, score)
    return Bundle.open(output, verify=False)


def update_bundle(
    folder: Path, parts: Dict[str, AddPart], rules: DisplayRules, score: Score
) -> Bundle:
    """Replace some parts and the rules of a bundle; the other parts are copied."""
    old = Bundle.open(folder, verify=True)
    with new_bundle(folder) as partial:
        for part in old.parts:
            if part not in (*parts, RULES):
                shutil.copytree(folder / part, partial / part)
        of_parts = {name: add(partial / name) for name, add in parts.items()}
        described_anew = ("kind", "format", "files", "sha256", *MEASURED, RULES, SAMPLES)
        kept = {name: fact for name, fact in old.manifest.items() if name not in described_anew}
        _finish(partial, rules, {**kept, **of_parts}, score)
    return Bundle.open(folder, verify=False)


def _finish(folder: Path, rules: DisplayRules, facts: Facts, score: Score) -> None:
    """Write rules, scores, samples, model card and manifest."""
    (folder / RULES).mkdir()
    write_bundle_rules(folder / RULES, rules)
    manifest = write_manifest(folder, facts)
    suggester = _load(folder)
    facts = {**facts, RULES: _facts_of_rules(suggester, rules, folder), **score(suggester)}
    known = known_words(suggester.pipeline)
    if known is not None:
        facts[COUNTS] = {**facts[COUNTS], "words_known_to_model": round(known, 4)}
    samples = folder / SAMPLES / SAMPLES_FILE
    if samples.is_file():
        facts[SAMPLES] = keep_shown(samples, suggester.pipeline)
    _make_readable(folder)
    (folder / CARD).write_text(model_card({**manifest, **facts}), encoding="utf-8")
    write_manifest(folder, facts)


def _make_readable(folder: Path) -> None:
    """Give all files the default permissions: onnx writes weights readable by the owner only."""
    new_file = folder / RULES / SETTINGS
    for name in files_in(folder):
        shutil.copymode(new_file, folder / name)


def _load(folder: Path) -> Suggester:
    """Load the bundle. Errors name only the parts, because this folder is temporary."""
    try:
        return Suggester.load(folder)
    except InputError as error:
        here = f"{folder}{os.sep}"
        part = None if error.file is None else str(error.file).replace(here, "")
        raise InputError(error.reason.replace(here, ""), error.remedy, part, error.line) from None


def _facts_of_rules(suggester: Suggester, rules: DisplayRules, folder: Path) -> Facts:
    table = suggester.table
    return {
        "min_users": suggester.pipeline.display.min_users,  # the value in effect with these counts
        "counted": "people" if table is not None and table.has_users else "times",
        "blocked_entries": len(rules.block_list),
        "explicit_entries": len(read_bundle_rules(folder / RULES).explicit or ()),
        "personal_data_shown": rules.personal_data,
    }


def versions() -> Dict[str, str]:
    found = {"python": python_version()}
    for name in ("mtn_fairseq", "mtn_serving", *_LIBRARIES):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
