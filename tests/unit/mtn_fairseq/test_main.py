"""`python -m mtn_fairseq` lists what the plugin registers, and nothing of fairseq."""

from mtn_fairseq.__main__ import registered, show


def test_ours_and_only_ours():
    names = registered()
    assert names["--task"] == ["session_to_query"]
    assert {"mtn", "mtn_3level", "seq2seq_attn", "hlstm", "mnsrf"} <= set(names["--arch"])
    assert "transformer" not in names["--arch"] and "lstm" not in names["--arch"]
    assert names["--optimizer"] == ["fused_adam"]


def test_what_is_printed(capsys):
    show()
    printed = capsys.readouterr().out
    assert all(name in printed for names in registered().values() for name in names)
    assert "--user-dir" in printed
