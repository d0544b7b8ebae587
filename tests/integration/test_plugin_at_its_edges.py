"""fairseq's commands with the plugin: exit codes and error messages.

The models are those of `tests/kept`, so no training is needed.
"""

import subprocess
import sys

import pytest
import torch
from processes import PLUGIN, ROOT, SMALL, environment, run

KEPT = ROOT / "tests/kept"
DATA = f"{KEPT}/data-flat"
ASK = f"{DATA} {PLUGIN} --path {KEPT}/mtn.pt --cpu --beam 2 --max-len-b 6"

# Training ends within an epoch, while batches are still prefetched.
READ_AHEAD = """
import torch
import mtn_fairseq
from fairseq.data.iterators import BufferedIterator

class Batches:
    def __len__(self):
        return 10**6

    def __iter__(self):
        while True:
            yield [torch.ones(200, 200) @ torch.ones(200, 200) for _ in range(20)]

batches = BufferedIterator(5, Batches())
for _ in range(3):
    next(batches)
"""


def last_line(line, status=1, **options):
    done = run(line, status=status, **options)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr.splitlines()[-1]


def test_a_process_that_prefetches_exits_normally():
    """Without `compat.stop_reading_ahead_at_the_end` it is aborted: exit code -6."""
    done = subprocess.run(
        [sys.executable, "-c", READ_AHEAD], env=environment({}), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_standard_output_that_is_full():
    for command in ("fairseq-generate", "fairseq-interactive"):
        said = last_line(f"sh -c 'echo paris | {command} {ASK} > /dev/full'")
        assert (
            said
            == "not all could be written (No space left on device); make room, and run it again"
        )


def test_standard_output_that_is_closed():
    assert "standard output is closed" in last_line(f"sh -c 'fairseq-generate {ASK} >&-'")


def test_a_reader_that_has_seen_enough():
    done = run(f"sh -c 'fairseq-generate {ASK} | head -1'")
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_standard_input_that_is_closed():
    assert "standard input is closed" in last_line(f"sh -c 'fairseq-interactive {ASK} <&-'")


@pytest.mark.parametrize("path", ["missing.txt", "."])
def test_an_input_that_cannot_be_read(path):
    said = last_line(f"fairseq-interactive {ASK} --input {path}")
    assert said.startswith(f"{path}: cannot be read (") and said.endswith("; check --input")


def test_a_constraint_that_no_suggestion_can_have():
    done = run(
        f"fairseq-interactive {ASK} --constraints", stdin="google\tzzzz\nyahoo\nebay\t</s>\n"
    )
    said = (done.stdout + done.stderr).splitlines()
    warnings = [line for line in said if "no suggestions: input:" in line]
    assert len(warnings) == 2 and "input:1: a constraint has a word" in warnings[0]
    hypotheses = [line for line in done.stdout.splitlines() if line.startswith("H-")]
    assert hypotheses and all(line.startswith("H-1\t") for line in hypotheses)
    assert not any("<unk>" in line for line in hypotheses)


def test_models_that_read_different_parts_of_a_session():
    paths = f"{KEPT}/seq2seq_attn.pt:{KEPT}/transformer_session.pt"
    said = last_line(f"fairseq-generate {DATA} {PLUGIN} --cpu --path {paths}")
    assert said.startswith("some of these models read the last query only, others the whole")


def test_scores_that_are_not_finite(tmp_path):
    """Weights are finite, so loading finds no error."""
    state = torch.load(KEPT / "mtn.pt")
    for name, weights in state["model"].items():
        if weights.is_floating_point():
            state["model"][name] = weights.double() * 1e30
    torch.save(state, tmp_path / "huge.pt")
    for flags in ("", "--sampling --nbest 2"):
        line = f"fairseq-generate {DATA} {PLUGIN} --cpu --path {tmp_path}/huge.pt --beam 2 {flags}"
        assert "the model's scores are not finite" in last_line(line)


def test_a_folder_for_checkpoints_that_is_a_file(tmp_path):
    (tmp_path / "file").touch()
    train = f"fairseq-train {DATA} {PLUGIN} --cpu --arch mtn {SMALL} --optimizer adam"
    said = last_line(f"{train} --max-tokens 100 --save-dir {tmp_path}/file")
    assert said.startswith(f"{tmp_path}/file: no checkpoints can be saved here (Not a directory)")
