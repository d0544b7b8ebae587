"""Data in several folders, `data-bin0:data-bin1`: one folder per epoch, in turn."""

import re

import pytest
from processes import PLUGIN, SMALL, prepare, run, train
from training_runs import learned, logged, same_weights

FLAGS = f"{SMALL} --level-sizes 32,10,5 --dropout 0.1 --log-format json --log-interval 1"


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """(folders in fairseq's form, pairs in each). In word pieces, because only the first folder has
    their model; the second has only training data."""
    folder = tmp_path_factory.mktemp("shards")
    text, first = prepare(folder, users=40, pieces=300)
    lines = {end: (text / f"train.{end}").read_text().splitlines() for end in ("session", "next")}
    starts = [i for i, line in enumerate(lines["session"]) if "<q>" not in line]
    cut = starts[len(starts) // 3]  # two shards of different size, no session in both
    for shard, part in (("first", slice(None, cut)), ("second", slice(cut, None))):
        (folder / shard).mkdir()
        for end in lines:
            (folder / shard / f"train.{end}").write_text("\n".join(lines[end][part]) + "\n")
        valid = f"--validpref {text}/valid --testpref {text}/test" if shard == "first" else ""
        run(
            f"fairseq-preprocess {PLUGIN} -s session -t next --joined-dictionary"
            f" --srcdict {first}/dict.next.txt --trainpref {folder}/{shard}/train {valid}"
            f" --destdir {folder}/{shard}/data-bin"
        )
        for beside in ("sentencepiece.model", "text.json"):  # files saved with the dictionary
            copied = folder / shard / "data-bin" / beside
            assert copied.read_bytes() == (first / beside).read_bytes()
            if shard == "second":
                copied.unlink()
    assert not (folder / "second/data-bin/valid.session-next.next.bin").exists()
    data = ":".join(f"{folder}/{shard}/data-bin" for shard in ("first", "second"))
    return data, [cut, len(lines["session"]) - cut]


@pytest.mark.parametrize("read", ["always", "never"], ids=["whole sessions", "pairs"])
def test_one_shard_per_epoch_also_when_resumed_in_the_second(shards, tmp_path, read):
    data, pairs = shards
    flags = f"{FLAGS} --session-parallel {read}"
    straight = train(data, tmp_path / "straight", f"{flags} --max-epoch 4").stdout
    curve = logged(straight)
    for epoch in range(1, 5):
        seen = sum(line["bsz"] for line in curve if line["epoch"] == epoch)
        assert seen == pairs[(epoch - 1) % 2], f"epoch {epoch}"
    assert len(logged(straight, "valid")) == 4

    second = [line["num_updates"] for line in curve if line["epoch"] == 2]
    assert len(second) > 2
    train(data, tmp_path / "parts", f"{flags} --max-update {int(second[1])}")  # within the epoch
    resumed = train(data, tmp_path / "parts", f"{flags} --max-epoch 4").stdout
    assert logged(resumed) == [line for line in curve if line["num_updates"] > second[1]]
    weights = (learned(tmp_path / run / "checkpoint_last.pt") for run in ("straight", "parts"))
    assert same_weights(*weights)


def test_dictionary_word_pieces_and_test_data_are_those_of_the_first(shards, tmp_path):
    data, _ = shards
    train(data, tmp_path, f"{FLAGS} --max-update 2 --disable-validation")
    first = data.split(":")[0]
    both = [
        run(
            f"fairseq-generate {folders} {PLUGIN} --path {tmp_path}/checkpoint_last.pt --cpu"
            " --batch-size 32 --beam 2 --max-len-b 15"
        ).stdout
        for folders in (data, first)
    ]
    shown = [re.findall(r"^[STHD]-.*$", output, re.MULTILINE) for output in both]
    assert shown[0] == shown[1]
    assert "▁" in "".join(line for line in shown[0] if line.startswith("H-"))
    assert "▁" not in "".join(line for line in shown[0] if line.startswith(("S-", "T-", "D-")))
