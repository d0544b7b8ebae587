"""The demo, as it is, with seeds drawn anew: it must learn what only a whole session can tell.

The sample log knows the best exact match that anything reading the last query only can reach, and
anything that also counts the queries before it. With `--decoder-context query` the decoder sees the
last query's codes alone, so whatever it knows of the earlier ones came through the levels above: a
broken hierarchy cannot pass, even one that still lets the positions through. Without copying: a
pointer reads the words of all queries.
"""

import json
import os
import random
import re
import subprocess
import sys

from processes import PYTHONPATH, ROOT

CLEAR_MARGIN = 15  # points of exact match


def test_beats_all_that_reads_the_last_query_only(tmp_path):
    seed, log_seed = random.SystemRandom().sample(range(10_000), 2)
    line = f"--output {tmp_path}/run --seed {seed} --log-seed {log_seed}"
    line += " --no-copying --decoder-context query"
    print(f"examples/sample_log/demo.py {line}")  # shown if it fails
    done = subprocess.run(
        [sys.executable, "examples/sample_log/demo.py", *line.split()],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    scores = json.loads((tmp_path / "run/scores.json").read_text())
    assert scores["exact"] > scores["best_last_query"] + CLEAR_MARGIN, scores
    assert scores["exact"] > scores["best_last_and_place"] + 5, scores
    # No model can beat the best possible but by luck: more means that the answer leaked.
    assert scores["exact"] < scores["best_whole_session"] + 5, scores
    assert re.search(r"^\$ (OMP_WAIT_POLICY=PASSIVE )?fairseq-train ", done.stdout, re.MULTILINE)
    assert done.stdout.count("asked next:") == 12
    manifest = json.loads((tmp_path / "run/bundle/manifest.json").read_text())
    assert abs(manifest["scores"]["lists"]["exact"] - scores["exact"]) < 10, manifest["scores"]
