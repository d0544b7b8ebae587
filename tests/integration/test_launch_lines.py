"""The launch lines of examples/aol/README.md, taken from it and run.

Without a GPU, the test makes fairseq see two GPUs and train on the CPU (--cpu): all else is as on
GPUs.
"""

import json
import os
import re
import socket
import sys

import pytest
from fairseq import options
from processes import PYTHONPATH, ROOT, SMALL, prepared, run

README = (ROOT / "examples/aol/README.md").read_text(encoding="utf-8")
LINES = [block for block in README.split("```")[1::2] if "examples/aol/train" in block]
NAMES = ["one GPU", "8 GPUs", "several nodes", "SLURM"]
PROCESSES = dict(zip(NAMES, [1, 8, 16, 16]))
TOKENS = 4096  # per update, for every launcher


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def cluster(tmp_path):
    """A folder with the commands of a cluster, SLURM's variables, and a free port."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    script(folder / "sbatch", '#!/bin/sh\nexec bash "$@"\n')
    script(folder / "scontrol", "#!/bin/sh\necho 127.0.0.1\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return folder, port


def slurm(tasks, nodes):
    return {
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_NNODES": str(nodes),
        "SLURM_NTASKS": str(tasks),
        "SLURM_NTASKS_PER_NODE": str(tasks // nodes),
        "SLURM_NODEID": "0",
    }


def bash(line, folder, **variables):
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    (folder / "line.sh").write_text(line)
    return run(f"bash -eu {folder}/line.sh", PATH=path, **variables)


def test_there_is_a_line_for_each():
    assert len(LINES) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_fairseq_takes_every_flag(name, cluster, tmp_path):
    """In the unchanged lines; the programs that they start only print their arguments."""
    folder, _ = cluster
    tell = f"#!{sys.executable}\nimport json, sys\nprint('TOLD', json.dumps(sys.argv))\n"
    script(folder / "fairseq-train", tell)
    script(folder / "srun", '#!/bin/sh\nexec "$@"\n')
    # torchrun's own flags come before the first file; the test below runs them
    script(folder / "torchrun", '#!/bin/sh\nuntil [ -x "$1" ]; do shift; done\nexec "$@"\n')
    (folder / "python").symlink_to(sys.executable)
    line = LINES[NAMES.index(name)]
    said = bash(line, folder, PYTHON=str(folder / "python"), **slurm(16, 2)).stdout
    _, *flags = json.loads(re.search(r"^TOLD (.*)$", said, re.MULTILINE)[1])
    args = options.parse_args_and_arch(options.get_training_parser(), flags)
    assert args.data == "WORK_FOLDER/data-bin" and args.arch == "mtn_aol"
    assert args.encoder_embed_dim == 512
    assert args.max_tokens * PROCESSES[name] == TOKENS
    if PROCESSES[name] == 16:
        assert args.distributed_world_size == 16


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    (folder / "data-bin").symlink_to(prepared(tmp_path_factory)[1])
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_the_processes_train_together(name, cluster, work, tmp_path):
    folder, port = cluster
    script(
        folder / "srun",
        '#!/bin/sh\nfor i in 0 1; do SLURM_PROCID=$i SLURM_LOCALID=$i "$@" & done\nwait\n',
    )
    visible = 1 if name == "one GPU" else 2
    (folder / "sitecustomize.py").write_text(
        "import torch\n"
        f"torch.cuda.device_count = lambda: {visible}\n"
        "torch.cuda.set_device = lambda device: None\n"
    )
    smaller = {
        "WORK_FOLDER": str(work),
        "FIRST_MACHINE:29500": f"127.0.0.1:{port}",
        "--nnodes 2 --nproc_per_node 8": "--nnodes 1 --nproc_per_node 2",
        "--distributed-world-size 16": "--distributed-world-size 2",
    }
    line = LINES[NAMES.index(name)].rstrip()
    for what, by in smaller.items():
        line = line.replace(what, by)
    line += (
        f" --cpu {SMALL} --distributed-backend gloo --ddp-backend legacy_ddp --max-tokens 200"
        f" --max-update 2 --disable-validation --save-dir {tmp_path}/save"
    )
    variables = slurm(2, 1) if name == "SLURM" else {}
    said = bash(
        line,
        folder,
        PYTHON=sys.executable,
        PORT=str(port),
        PYTHONPATH=os.pathsep.join([str(folder), PYTHONPATH]),
        **variables,
    )
    output = said.stdout + said.stderr
    assert f"training on {visible} devices" in output
    assert "trains alone" not in output
    assert output.count("Stopping training due to num_updates: 2") == 1  # only one process logs
    assert (tmp_path / "save/checkpoint_last.pt").exists()
