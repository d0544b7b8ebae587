"""Packed tokens give the results of fairseq's encoder and decoder on padded rows."""

import copy

import pytest
import torch
from fairseq.modules import FairseqDropout, MultiheadAttention
from sessions import (
    ALL_MODELS,
    DICTIONARY,
    LOGIT_TOLERANCE,
    SEPARATORS,
    SMALL,
    TRANSFORMERS,
    assert_close,
    batch,
    build,
    encoder_out_of,
    random_sessions,
    stock,
    targets,
)

from mtn_fairseq.modules.encoded import Encoded
from mtn_fairseq.modules.mtn_encoder import within_queries
from mtn_fairseq.modules.packed_attention import AttentionPlan, Grid, PackedAttention, attend
from mtn_fairseq.modules.session_layout import SessionLayout
from mtn_fairseq.modules.target_plans import plan_targets


def test_grid_by_hand():
    grid = Grid.of(torch.tensor([0, 0, 0, 2, 2]), rows=3)
    tokens = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    assert grid.pad(tokens, -1).tolist() == [[1, 2, 3], [-1, -1, -1], [4, 5, -1]]
    assert grid.unpad(grid.pad(tokens)).equal(tokens)


def test_target_plans_by_hand():
    """A session of 3 queries with 2 targets, beside one of 1 query."""
    q, end = 4, 2
    layout = SessionLayout(torch.tensor([[9, q, 8, 7, q, 6, end], [5, end, 1, 1, 1, 1, 1]]), [q], 1)
    real = torch.tensor([[True, True, False], [True, False, False], [True, True, True]])
    encoded = Encoded(torch.zeros(9, 4), layout)
    plans = plan_targets(encoded, real, torch.tensor([1, 2, 3]))
    assert plans.position.tolist() == [0, 1, 0, 0, 1, 2]
    assert plans.among_targets.visible.int().tolist() == [
        [[1, 0, 0], [1, 1, 0], [0, 0, 1]],
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
    ]
    seen_after_2 = [1, 1, 1, 1, 1, 0, 0]
    assert plans.to_source.visible.int().tolist() == [
        [seen_after_2, seen_after_2, [1] * 7],
        [[1, 1, 0, 0, 0, 0, 0]] * 3,
    ]
    last_only = plan_targets(encoded._replace(last_query_only=True), real, torch.tensor([1, 2, 3]))
    assert last_only.to_source.visible[0].int().tolist() == [
        [0, 0, 1, 1, 1, 0, 0],
        [0, 0, 1, 1, 1, 0, 0],
        [0, 0, 0, 0, 0, 1, 1],
    ]


@pytest.mark.parametrize("last_query_only", [True, False])
def test_every_position_attends_to_something(last_query_only):
    """Otherwise its softmax is NaN, and so are the gradients of all keys in its row."""
    src_tokens, _ = batch(random_sessions(6, 5))
    layout = SessionLayout(src_tokens, SEPARATORS, DICTIONARY.pad())
    real = torch.tensor([[True] * length + [False] * (5 - length) for length in (5, 2, 4, 1, 3)])
    plans = plan_targets(Encoded(torch.zeros(1, 4), layout, last_query_only), real)
    for plan in (plans.among_targets, plans.to_source, within_queries(layout)):
        assert plan.query.place is not None
        assert plan.visible.any(2).all()


@pytest.mark.parametrize("fused", [True, False])
def test_attention_is_fairseqs(fused, monkeypatch):
    """Tokens of three rows; also with the formula, for older versions of torch."""
    torch.manual_seed(1)
    ours = PackedAttention(8, 2, self_attention=True).double().eval()
    lengths = [3, 1, 5]
    x = torch.randn(sum(lengths), 8, dtype=torch.double)
    grid = Grid.of(torch.arange(3).repeat_interleave(torch.tensor(lengths)), 3)
    exists = grid.pad(torch.ones(9, dtype=torch.bool), False)
    plan = AttentionPlan(grid, grid, exists.unsqueeze(1).expand(-1, 5, -1))
    rows = grid.pad(x).transpose(0, 1)  # (length, rows, C)
    expected, _ = MultiheadAttention.forward(ours, rows, rows, rows, ~exists, need_weights=False)
    if not fused:
        monkeypatch.delattr(torch.nn.functional, "scaled_dot_product_attention", raising=False)
    found, weights = ours(x, x, plan, need_weights=True)
    assert_close(found, grid.unpad(expected.transpose(0, 1)))
    expected = MultiheadAttention.forward(ours, rows, rows, rows, ~exists)[1]
    assert_close(grid.unpad(weights), grid.unpad(expected), 1e-6)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_attention_dropout(packed, fused, monkeypatch):
    """In training and with --retain-dropout; for a row and for the next token."""
    if not fused:
        monkeypatch.delattr(torch.nn.functional, "scaled_dot_product_attention", raising=False)
    torch.manual_seed(1)
    attention = PackedAttention(8, 2, dropout=0.5, self_attention=True)
    x = torch.randn(6, 8)
    grid = Grid.of(torch.tensor([0, 0, 0, 0, 1, 1]), 2) if packed else Grid(6, 1)
    plan = AttentionPlan(grid, grid, None)

    def twice():
        return [attention(x, x, plan, None if packed else {})[0] for _ in range(2)]

    one, other = twice()
    assert not one.equal(other)
    attention.eval()
    one, other = twice()
    assert one.equal(other)
    attention.dropout_module.apply_during_inference = True
    one, other = twice()
    assert not one.equal(other)


def test_options_reach_every_attention():
    flags = f"{SMALL} --level-layers 2,1 --attention-dropout 0.3 --quant-noise-pq 0.1"
    model = build("mtn", f"{flags} --quant-noise-pq-block-size 4")[1]
    attentions = [part for part in model.modules() if isinstance(part, PackedAttention)]
    assert len(attentions) == 2 + 1 + 2 * 2
    for attention in attentions:
        assert attention.dropout_module.p == 0.3
        for projection in (attention.q_proj, attention.k_proj, attention.v_proj):
            assert projection._forward_pre_hooks  # fairseq's quantisation noise


@pytest.mark.parametrize("part", ["encoder.query_encoder", "decoder"])
def test_embedded_tokens_are_dropped_out(part):
    """Without other dropout, two training passes differ."""
    model = copy.deepcopy(build("mtn", f"{SMALL} --level-layers 1,1")[1])
    for module in model.modules():
        if isinstance(module, FairseqDropout):
            module.p = 0.0
    model.get_submodule(part).dropout_module.p = 0.5
    src_tokens, src_lengths = batch(random_sessions(2, 2))
    one, other = (model.train()(src_tokens, src_lengths, targets(1, 2))[0] for _ in range(2))
    assert (one - other).abs().max() > 0.01


def test_hidden_tokens_have_no_influence():
    torch.manual_seed(1)
    queries, keys, values = (torch.randn(2, 1, 3, 4) for _ in range(3))
    visible = torch.ones(3, 3, dtype=torch.bool).tril().expand(2, 1, 3, 3)
    before = attend(queries, keys, values, visible, dropout=0.0)
    keys[:, :, 2], values[:, :, 2] = 9, 9
    after = attend(queries, keys, values, visible, dropout=0.0)
    assert_close(after[:, :, :2], before[:, :, :2])
    assert (after[:, :, 2] - before[:, :, 2]).abs().max() > 0.1


OPTIONS = [
    "--no-token-positional-embeddings",
    "--no-scale-embedding",
    "--quant-noise-pq 0.1 --quant-noise-pq-block-size 4",
    "--encoder-layerdrop 0.5 --decoder-layerdrop 0.5",
    "--decoder-attention-heads 4",
]
MODELS = {name: ALL_MODELS[name] for name in TRANSFORMERS}
MODELS.update({flags: ("mtn", f"{SMALL} --level-layers 2,1 {flags}") for flags in OPTIONS})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("left_pad", [True, False])
def test_a_decoder_of_packed_targets_is_fairseqs_own(name, left_pad):
    """The same codes in padded rows, as the generator passes them to the same layers."""
    model = build(*MODELS[name])[1]
    sessions = random_sessions(3, 5)
    src_tokens, src_lengths = batch(sessions, left_pad=left_pad)
    prev = targets(4, 5)
    for row, length in enumerate([5, 2, 4, 1, 3]):
        prev[row, length:] = model.decoder.padding_idx
    found, _ = model(src_tokens, src_lengths, prev)
    expected, _ = stock(model.decoder)(prev, encoder_out_of(model, src_tokens, src_lengths))
    real = prev.ne(model.decoder.padding_idx)
    assert_close(found[real], expected[real], LOGIT_TOLERANCE)


@pytest.mark.parametrize("name", [name for name in MODELS if "level" in name or name in OPTIONS])
def test_an_encoder_of_packed_queries_is_fairseqs_own(name):
    model = build(*MODELS[name])[1]
    level_1 = model.encoder.query_encoder
    sessions = random_sessions(5, 4)
    src_tokens, _ = batch(sessions)
    layout = SessionLayout(src_tokens, model.encoder.separators, model.encoder.padding_idx)
    tokens = src_tokens[layout.tokens_exist]
    rows = layout.rows(tokens, level_1.padding_idx)
    grid = Grid.of(layout.token_row, len(rows))
    exists = rows.ne(level_1.padding_idx)
    plan = AttentionPlan(grid, grid, exists.unsqueeze(1).expand(-1, grid.length, -1))
    expected = stock(level_1)(rows)["encoder_out"][0].transpose(0, 1)
    assert_close(level_1.encode(tokens, layout.token_position, plan), expected[exists])
