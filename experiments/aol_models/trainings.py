"""What the tables of this folder compare: data sets, systems and how they are trained.

To be imported with ../aol_small on the path.
"""

from pathlib import Path
from typing import Dict, Optional

from experiment import Experiment, given_settings
from plan import Plan
from recipes import SIZES, TRAINING, System, history_systems, systems

WIDTH = 128
UPDATES = 1600  # of the flat Transformer; the other models train for the same time
SETTINGS = Path(__file__).with_name("settings.json")
# In order of importance, for the case that the run is cut short.
SYSTEMS = (
    "transformer",
    "mtn",
    "seq2seq",
    "mtn-copying",
    "transformer-copying",
    "seq2seq-copying",
    "hlstm",
    "mnsrf",
    "mtn-3level-copying",
    "mtn-history-copying",
    "mtn-3level-copying-longer",
    "mtn-history-copying-longer",
)
# The test sessions are the paper's, of 3 to 5 queries; "-all" trains on those of 2 to 10.
DATA = {
    "user": "--split-by user",
    "session": "--split-by session",
    "user-all": "--split-by user --train-queries 2,10",
    "session-all": "--split-by session --train-queries 2,10",
}


def experiment_of(
    data: str, log: Path, work: Path, updates: int, compared: Optional[Dict[str, System]] = None
) -> Experiment:
    """The parts of aol_small, for one entry of DATA, with SYSTEMS or others."""
    every = {**systems(SIZES[WIDTH]), **history_systems(SIZES[WIDTH])}
    plan = Plan(
        title="",
        about="",
        systems=compared or {name: every[name] for name in SYSTEMS},
        suggesters={},
        beam_of="",
        pecos="",
        settings=given_settings(SETTINGS, every, SYSTEMS),
        training=TRAINING,
        updates=updates,
        rate_updates=0,
        generation="--cpu --batch-size 64",
        preparation=["--split 80,10,10 --seed 1 --users", DATA[data]],
        threshold=5,
        pieces=0,
        seeds=0,
        checkpoint=SIZES[WIDTH].checkpoint,
    )
    return Experiment(plan, [log], work / data, at_once=1)
