"""fairseq's commands return words that are not in the training text, as they were typed."""

import random
import re
from pathlib import Path

import pytest
from processes import PLUGIN, run

from mtn_evaluation.evaluation import System, evaluate
from mtn_evaluation.generate_log import read_generate_log

KINDS = ["red", "blue", "small", "large", "old", "new"]
LETTERS = "bcdfghjklmnpqrstvwxzäß"


def write_pairs(folder, split, sessions, seed):
    """`red kzf` is followed by `buy kzf`, and that by `kzf shop`: `kzf` is a made-up word."""
    rng = random.Random(seed)
    lines = []
    for _ in range(sessions):
        thing = "".join(rng.choices(LETTERS, k=6))
        queries = [f"{rng.choice(KINDS)} {thing}", f"buy {thing}", f"{thing} shop"]
        for known in (1, 2):
            lines.append((" <q> ".join(queries[:known]), queries[known]))
    for name, column in (("session", 0), ("next", 1)):
        text = "".join(f"{line[column]}\n" for line in lines)
        (folder / f"{split}.{name}").write_text(text, encoding="utf-8")
    return lines


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copying")
    for seed, (split, sessions) in enumerate({"train": 400, "valid": 15, "test": 15}.items()):
        write_pairs(folder, split, sessions, seed)
    prefixes = " ".join(f"--{split}pref {folder}/{split}" for split in ("train", "valid", "test"))
    run(
        f"fairseq-preprocess {PLUGIN} -s session -t next --joined-dictionary --thresholdsrc 20"
        f" {prefixes} --destdir {folder}/data-bin --workers 2"
    )
    words = (folder / "data-bin/dict.next.txt").read_text(encoding="utf-8").split()[::2]
    assert set(KINDS) < set(words) and len(words) < 20
    return folder


SIZES = "--encoder-embed-dim 32 --copy-attention --dropout 0.0"
LAYERS = f"--encoder-ffn-embed-dim 32 {SIZES}"
MODELS = {
    "mtn": f"--arch mtn --level-layers 1,1 {LAYERS}",
    "transformer": f"--arch transformer_session --encoder-layers 1 {LAYERS}",
    "seq2seq": f"--arch seq2seq_attn --encoder-hidden-size 24 {SIZES}",
}


@pytest.fixture(scope="module", params=MODELS)
def trained(request, data):
    save = data / request.param
    log = run(
        f"fairseq-train {data}/data-bin {PLUGIN} {MODELS[request.param]} --cpu --optimizer adam"
        f" --lr 0.01 --batch-size 32 --max-update 90 --save-dir {save} --no-epoch-checkpoints"
        " --criterion label_smoothed_cross_entropy --label-smoothing 0.05 --clip-norm 1"
        " --log-format simple --seed 2"
        """ --eval-bleu --eval-bleu-print-samples --eval-bleu-args '{"beam": 2, "max_len_b": 5}'"""
    )
    shown = re.findall(r"example reference: (.*)", log.stdout + log.stderr)
    assert shown and set(shown) <= set(lines_of(data / "valid.next"))  # no <unk>
    return save / "checkpoint_last.pt"


def lines_of(path: Path):
    return path.read_text(encoding="utf-8").splitlines()


def test_generate(data, trained, tmp_path):
    """With a data loading process, as is fairseq's default, and without."""
    logs = []
    for workers in (1, 0):
        out = run(
            f"fairseq-generate {data}/data-bin {PLUGIN} --path {trained} --cpu --beam 4 --nbest 4"
            f" --max-len-b 6 --num-workers {workers} --scoring ngram_precision"
        ).stdout
        (tmp_path / "generate.log").write_text(out, encoding="utf-8")
        logs.append(read_generate_log(str(tmp_path / "generate.log")))
    assert logs[0] == logs[1]
    assert [pair.session for pair in logs[0]] == lines_of(data / "test.session")
    assert [pair.next_query for pair in logs[0]] == lines_of(data / "test.next")
    right = [pair.ranked[0] == pair.next_query for pair in logs[0]]
    assert sum(right) > 0.8 * len(right)
    # The registered scorer counts words outside the dictionary as mtn-evaluate does.
    found = evaluate(
        [System("copying", [str(tmp_path / "generate.log")])],
        str(data / "test"),
        dictionary=str(data / "data-bin/dict.next.txt"),
        at=[4],
    )["systems"][0]
    for way, before in (("raw", ": "), ("unk", "as a token, ")):
        precisions = "/".join(f"{found[way][f'{order}-gram']:.2f}" for order in (1, 2, 3, 4))
        assert f"{before}1/2/3/4-gram {precisions}, BLEU " in out.splitlines()[-1]


def test_interactive(data, trained):
    """Also with words of much earlier lines, and in batches that are answered in another order.

    Symbols of fairseq are words, too, as in prepared text.
    """
    sessions = ["red ööö", "blue qqq <q> buy qqq", "red ß", "old ööö <q> buy ööö"]
    symbols = {"\ufeffred <pad> <s> car": r"red \<pad> \<s> car", r"red \</s>": r"red \</s>"}
    out = run(
        f"fairseq-interactive {data}/data-bin {PLUGIN} --path {trained} --cpu --beam 3"
        " --max-len-b 6 --buffer-size 4 --batch-size 2",
        stdin="".join(f"{session}\n" for session in (*sessions, *symbols)),
    ).stdout
    assert re.findall(r"^S-\d+\t(.*)$", out, re.M) == [*sessions, *symbols.values()]
    answers = re.findall(r"^D-\d+\t\S+\t(.*)$", out, re.M)
    things = ["ööö", "qqq", "ß", "ööö"]
    assert sum(thing in answer.split() for thing, answer in zip(things, answers)) >= 3


def test_a_copied_word_is_scored(data, trained):
    out = run(
        f"fairseq-generate {data}/data-bin {PLUGIN} --path {trained} --cpu --score-reference"
        " --batch-size 7"
    ).stdout
    scores = re.findall(r"^P-\d+\t(.*)$", out, re.M)
    assert len(scores) == len(lines_of(data / "test.next"))
    tokens = [float(score) for line in scores for score in line.split()]
    assert min(tokens) > -10 and sum(tokens) / len(tokens) > -1
    assert sorted(re.findall(r"^H-\d+\t\S+\t(.*)$", out, re.M)) == sorted(
        lines_of(data / "test.next")
    )


def test_models_that_copy_and_others_cannot_be_an_ensemble(data, trained, tmp_path):
    if "mtn" not in str(trained):
        pytest.skip("once is enough")
    run(
        f"fairseq-train {data}/data-bin {PLUGIN} --arch mtn_tiny --cpu --optimizer adam"
        f" --max-update 1 --batch-size 8 --save-dir {tmp_path}/plain --no-epoch-checkpoints"
    )
    refused = run(
        f"fairseq-generate {data}/data-bin {PLUGIN} --cpu"
        f" --path {trained}:{tmp_path}/plain/checkpoint_last.pt",
        status=None,
    )
    assert "some of these models copy words, others do not" in refused.stderr
