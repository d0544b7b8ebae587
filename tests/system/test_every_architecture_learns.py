"""Every architecture, trained for a minute or two on a new sample log, beats the count baseline.

Hierarchical models also beat the best achievable accuracy of models that read only the last query.
The tests check bounds, as seeds are not fixed. The log has only a few of the sample log's topics:
then even an LSTM, which learns slowly to copy words through its state, needs less than an hour.
"""

import json
import random
import shlex

import pytest
from processes import PLUGIN, run

from mtn_evaluation import read_generate_log, score
from mtn_sample_log import BestPossible, read_pairs
from mtn_sample_log.process import Process
from mtn_sample_log.topics import TOPICS
from mtn_sample_log.world import World
from mtn_sample_log.writer import HEADER, LogWriter

LSTM = "--encoder-embed-dim 128 --encoder-hidden-size 96 --lr 0.004"
TRANSFORMER = "--encoder-embed-dim 128 --encoder-ffn-embed-dim 256 --lr 0.002"
MODELS = {
    "mtn": "--arch mtn_tiny --encoder-normalize-before --decoder-normalize-before --lr 0.002",
    "hlstm": f"--arch hlstm {LSTM}",
    "mnsrf": f"--arch mnsrf {LSTM} --criterion entropy_regularized_cross_entropy",
    "seq2seq_attn": f"--arch seq2seq_attn {LSTM}",
    "transformer_session": f"--arch transformer_session --encoder-layers 2 {TRANSFORMER}",
}
HIERARCHICAL = ("mtn", "hlstm", "mnsrf")
UPDATES = {"mtn": 800, "transformer_session": 800}  # LSTMs need more updates, which take less time
LSTM_UPDATES = 1600
USERS, SOME_TOPICS = 2500, 4


@pytest.fixture(scope="module")
def process():
    """A newly drawn random process over a few topics."""
    topics = random.SystemRandom().sample(TOPICS, SOME_TOPICS)
    print("topics:", *(topic.aspects[0] for topic in topics))  # shown if a test fails
    return Process(World(topics))


@pytest.fixture(scope="module")
def data(tmp_path_factory, process):
    """A folder with text and data-bin of a new log."""
    folder = tmp_path_factory.mktemp("learn")
    seed = random.SystemRandom().randrange(10_000)
    print(f"seed of the log: {seed}")
    with open(folder / "log.tsv", "w", encoding="utf-8") as log:
        log.write(f"{HEADER}\n")
        log.writelines(row.line() for row in LogWriter(seed, process).rows(USERS))
    run(f"mtn-log-to-sessions {folder}/log.tsv --output {folder}/text --split 90,5,5")
    run(
        f"fairseq-preprocess {PLUGIN} -s session -t next --joined-dictionary --thresholdsrc 8"
        f" --trainpref {folder}/text/train --validpref {folder}/text/valid"
        f" --testpref {folder}/text/test --destdir {folder}/data-bin"
    )
    return folder


@pytest.fixture(scope="module")
def floor(data):
    """The score of the count baseline: the most frequent query after the last one."""
    line = f"mtn-yardstick last --train {data}/text/train --test {data}/text/test"
    (data / "last.log").write_text(run(line).stdout, encoding="utf-8")
    return score(read_generate_log(str(data / "last.log")))


@pytest.mark.parametrize("name", MODELS)
def test_beats_counting(name, data, floor, process):
    save = data / name
    seed = random.SystemRandom().randrange(10_000)
    updates = UPDATES.get(name, LSTM_UPDATES)
    criterion = "" if "--criterion" in MODELS[name] else "--criterion cross_entropy"
    train = (
        f"fairseq-train {data}/data-bin {PLUGIN} --cpu {MODELS[name]} {criterion} --dropout 0"
        " --optimizer adam --clip-norm 1.0 --lr-scheduler polynomial_decay --warmup-updates 100"
        f" --max-update {updates} --total-num-update {updates} --max-tokens 1000 --seed {seed}"
        f" --no-epoch-checkpoints --disable-validation --save-dir {save} --log-format none"
    )
    print(train)
    run(shlex.join(shlex.split(train)))
    generated = run(
        f"fairseq-generate {data}/data-bin {PLUGIN} --cpu --batch-size 128 --beam 3 --nbest 3"
        f" --path {save}/checkpoint_last.pt"
    )
    (data / f"{name}.log").write_text(generated.stdout, encoding="utf-8")
    scores = score(read_generate_log(str(data / f"{name}.log")))
    best = BestPossible(process).measure(read_pairs(str(data / "text/test")))
    print(json.dumps({"scores": scores, "floor": floor, "best": best._asdict()}, indent=2))
    assert scores["exact"] > floor["exact"]
    assert scores["bleu"] > floor["bleu"]
    assert scores["exact"] < 100 * best.actual_whole_session + 5  # above this, the answer leaked
    if name in HIERARCHICAL:
        assert scores["exact"] > 100 * best.actual_last_query + 2
