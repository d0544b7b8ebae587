"""Data in word pieces through fairseq's commands: input and output are plain text."""

import re

import pytest
from processes import PLUGIN, SMALL, prepare, run, train

from mtn_evaluation.generate_log import read_generate_log
from mtn_preprocess.text.word_pieces import decode_pieces


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """(text, data, checkpoint, training log) of a model with three levels."""
    folder = tmp_path_factory.mktemp("pieces")
    text, data = prepare(folder, history=1, users=40, pieces=300)
    run(f"mtn-check-text {text}/train {text}/valid {text}/test")
    done = train(
        data,
        folder / "save",
        f"{SMALL} --level-layers 1,1,1 --level-sizes 60,10,5 --max-update 3 --max-tokens 1500"
        """ --eval-bleu --eval-bleu-args '{"max_len_b": 5}' --eval-bleu-print-samples""",
    )
    return text, data, folder / "save/checkpoint_last.pt", done.stdout + done.stderr


def test_validation_shows_plain_text(trained):
    text, _, _, log = trained
    shown = re.findall(r"example reference: (.*)", log)
    targets = (text / "valid.next").read_text(encoding="utf-8").splitlines()
    assert shown
    assert set(shown) <= set(map(decode_pieces, targets))
    assert "▁" not in "".join(re.findall(r"example hypothesis: (.*)", log))


def test_generate_gives_plain_text(trained, tmp_path):
    text, data, checkpoint, _ = trained
    assert (data / "dict.session.txt").read_text(encoding="utf-8").startswith("<q> ")
    out = run(
        f"fairseq-generate {data} {PLUGIN} --path {checkpoint} --cpu --beam 4 --nbest 4"
        " --batch-size 64 --max-len-b 6 --min-len 3"
    ).stdout
    assert re.search(r"^H-\d+\t\S+\t.*▁", out, re.MULTILINE), "the model itself speaks in pieces"
    (tmp_path / "log").write_text(out, encoding="utf-8")
    pairs = read_generate_log(str(tmp_path / "log"))
    for shown, ending in (
        ([pair.session for pair in pairs], "session"),
        ([pair.next_query for pair in pairs], "next"),
    ):
        written = (text / f"test.{ending}").read_text(encoding="utf-8").splitlines()
        assert shown == list(map(decode_pieces, written))
    assert any("<session>" in pair.session for pair in pairs)
    assert all(len(pair.ranked) == 4 for pair in pairs)
    assert "▁" not in "".join(suggestion for pair in pairs for suggestion in pair.ranked)


def test_interactive_reads_and_answers_plain_text(trained):
    """Typed text and prepared text get the same answers, without any flag."""
    text, data, checkpoint, _ = trained
    prepared = next(
        line
        for line in (text / "test.session").read_text(encoding="utf-8").splitlines()
        if "<q>" in line and re.search(r" [^▁<]", line)  # at least one word is split
    )
    out = run(
        f"fairseq-interactive {data} {PLUGIN} --path {checkpoint} --cpu --beam 3 --nbest 3"
        " --max-len-b 6",
        stdin=f"{decode_pieces(prepared)}\n{prepared}\n",
    ).stdout
    read, answered = (
        [re.findall(rf"^{kind}-{i}\t(.*)$", out, re.MULTILINE) for i in (0, 1)] for kind in "SD"
    )
    assert read == [[prepared], [prepared]]
    assert answered[0] == answered[1]
    assert len(answered[0]) == 3
    assert "▁" not in "".join(answered[0])
