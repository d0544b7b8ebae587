"""`mtn-export`, and its bundle in an environment without torch and fairseq."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from optional_parts import need_lightgbm
from processes import ROOT, SMALL, prepared, run, train

from mtn_evaluation import read_system

MAX_INSTALLED, MAX_MEMORY, MAX_SECONDS = 250e6, 150e6, 1.0  # bytes, bytes beyond weights, of CPU

# The first steps of a server. The test measures processor time, as the machine may be busy.
FIRST_SUGGESTION = """
import sys, time
from mtn_serving import Suggester

found = Suggester.load(sys.argv[1]).suggest(["paris hotels"], n=3)
# Not getrusage: there a process begins with the memory of the one that started it.
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(len(found), time.process_time(), 1024 * int(peak))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(text, flags of `mtn-suggest` that name the parts of a bundle, the bundle)."""
    need_lightgbm()
    folder = tmp_path_factory.mktemp("bundle")
    text, data = prepared(tmp_path_factory, users=60, pieces=0)
    train(data, folder / "save", f"{SMALL} --copy-attention --level-sizes 12,10,5 --max-update 30")
    run(f"mtn-count-next --train {text}/train --output {folder}/counts")
    checkpoint = f"{folder}/save/checkpoint_last.pt"
    flags = f"--model {checkpoint} --data {data} --counts {folder}/counts"
    fit = f"mtn-fit-ranker {flags} --beam 5 --valid {text}/valid --output {folder}/ranker"
    run(fit)
    flags = f"{flags} --ranker {folder}/ranker"
    exported = flags.replace("--model", "--checkpoint")
    run(f"mtn-export {exported} --test {text}/test --output {folder}/bundle")
    return text, flags, exported, folder / "bundle"


def lists(flags, text, log):
    log.write_text(run(f"mtn-suggest {flags} --test {text}/test --nbest 5").stdout, "utf-8")
    return [pair.ranked for pair in read_system(str(log)).pairs]


def test_a_bundle_gives_the_suggestions_of_its_parts(made, tmp_path):
    text, flags, _, bundle = made
    of_bundle = lists(f"--bundle {bundle}", text, tmp_path / "bundle.log")
    assert of_bundle == lists(flags, text, tmp_path / "parts.log")
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["model"]["copying"] and manifest["model"]["level_sizes"][:2] == [12, 10]
    assert manifest["trained_on"]["pairs"] == len((text / "train.next").read_text().splitlines())
    assert manifest["scores"]["pairs"] == len(of_bundle)


def test_the_loss_by_int8_is_measured(made, tmp_path):
    text, _, exported, _ = made
    said = run(f"mtn-export {exported} --int8 --valid {text}/valid --output {tmp_path}/int8").stderr
    for part in ("model alone", "lists"):
        assert f"mtn-export: int8 loses, {part}: exact " in said
    manifest = json.loads((tmp_path / "int8/manifest.json").read_text(encoding="utf-8"))
    assert manifest["model"]["number_type"] == "int8"
    assert set(manifest["int8_loss"]["lists"]) == {"exact", "mrr@10", "bleu"}
    assert [path.name for path in tmp_path.iterdir()] == ["int8"]


@pytest.fixture(scope="module")
def slim(tmp_path_factory):
    """A new environment from one install line, with a copy of the sources, as builds add files."""
    folder = tmp_path_factory.mktemp("slim")
    skip = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    for room in ("preprocess", "evaluation", "serving"):
        shutil.copytree(ROOT / room, folder / room, ignore=skip)
    shutil.copy(ROOT / "setup.py", folder)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    done = inside(folder / "venv", "pip", "install", folder / "serving")
    if done.returncode and "No matching distribution found" in done.stderr:
        pytest.skip("no package index to install from")
    assert done.returncode == 0, done.stderr
    return folder / "venv"


def inside(venv, command, *arguments):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env.update(OMP_NUM_THREADS="1")
    command = [str(each) for each in (venv / "bin" / command, *arguments)]
    return subprocess.run(command, env=env, cwd=venv, capture_output=True, encoding="utf-8")


def test_one_install_line_and_a_bundle_are_enough(made, slim):
    *_, bundle = made
    session = "paris hotels <q> london hotels"
    found = inside(slim, "mtn-suggest", "--bundle", bundle, "--session", session)
    assert found.returncode == 0, found.stderr
    assert found.stdout == run(f"mtn-suggest --bundle {bundle} --session '{session}'").stdout
    for library in ("torch", "fairseq", "lightgbm", "sacrebleu", "pyarrow"):
        assert inside(slim, "python", "-c", f"import {library}").returncode, library
    assert inside(slim, "mtn-bundle", "verify", bundle).returncode == 0
    commands = {path.name for path in (slim / "bin").glob("mtn-*")}
    assert {"mtn-bundle", "mtn-suggest", "mtn-serve"} <= commands
    whole = (ROOT / "setup.py").read_text(encoding="utf-8")
    assert all(f'"{command} = ' in whole for command in commands)
    refused = inside(slim, "mtn-export", "--checkpoint", "x.pt", "--data", "x", "--output", "y")
    message = "exporting a model needs fairseq, which is not installed; install the whole project"
    assert refused.returncode == 1 and refused.stderr.splitlines()[-1] == message


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_environment_is_small_and_starts_quickly(made, slim):
    *_, bundle = made
    installed = sum(path.lstat().st_size for path in (slim / "lib").rglob("*") if path.is_file())
    assert installed < MAX_INSTALLED
    weights = sum(path.stat().st_size for path in (bundle / "model").iterdir())
    done = inside(slim, "python", "-c", FIRST_SUGGESTION, bundle)
    assert done.returncode == 0, done.stderr
    suggestions, seconds, memory = map(float, done.stdout.split())
    assert suggestions > 0 and seconds < MAX_SECONDS and memory - weights < MAX_MEMORY


def test_both_distributions_require_the_same():
    """Requirements in both setups are the same text."""
    whole, serving = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("setup.py", "serving/setup.py")
    )
    for requirement in ("onnxruntime>=1.19", "sentencepiece>=0.1.97", "sacrebleu>=2.0"):
        assert requirement in whole and requirement in serving
    (serve,) = [line for line in serving.splitlines() if '"serve": [' in line]
    assert serve in whole.splitlines()
