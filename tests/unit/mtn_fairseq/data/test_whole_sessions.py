"""Training on whole sessions: the same pairs, the same loss, the same gradients."""

import copy
import inspect

import numpy as np
import pytest
from fairseq import tasks
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.modules import FairseqDropout
from sessions import (
    ALL_MODELS,
    DICTIONARY,
    EOS,
    SESSION,
    SIZES,
    Q,
    assert_close,
    build,
    parse,
)
from whole_session_data import A, B, C, D, pairs_dataset, random_data, unrolled

from mtn_fairseq.criterions.entropy_regularized_cross_entropy import (
    EntropyRegularizedCrossEntropyCriterion,
)
from mtn_fairseq.data.whole_sessions import WholeSessionDataset
from mtn_preprocess.errors import InputError

# --- sessions from lines --------------------------------------------------------------------------


def test_sessions_by_hand():
    pairs = unrolled([[A], [B, C], [D]]) + unrolled([[D], [A]]) + unrolled([[A], [A], [A], [A]])
    whole = WholeSessionDataset(pairs_dataset(pairs))
    assert whole.first.tolist() == [0, 2, 3] and whole.last.tolist() == [1, 2, 5]
    batch = whole.collater([whole[0], whole[1]])
    pad = DICTIONARY.pad()
    assert batch["net_input"]["src_tokens"].tolist() == [[A, Q, B, C, EOS], [pad, pad, pad, D, EOS]]
    assert batch["net_input"]["target_rows"].tolist() == [0, 1, 2]
    assert batch["target"].tolist() == [[B, C, EOS], [D, EOS, pad], [A, EOS, pad]]
    assert batch["net_input"]["prev_output_tokens"].tolist() == [
        [EOS, B, C],
        [EOS, D, pad],
        [EOS, A, pad],
    ]
    assert batch["ntokens"] == 7 and batch["nsentences"] == 3


def test_lines_that_only_look_like_a_session_stay_apart():
    """Sizes match, words do not; and a chain without its beginning starts at its first line."""
    other_words = [([A, EOS], [B, EOS]), ([A, Q, C, EOS], [D, EOS])]
    other_start = [([A, EOS], [B, EOS]), ([C, Q, B, EOS], [D, EOS])]
    not_a_query = [([A, EOS], [B, EOS]), ([A, SESSION, B, EOS], [D, EOS])]
    for pairs in (other_words, other_start, not_a_query):
        assert len(WholeSessionDataset(pairs_dataset(pairs))) == 2
    late = unrolled([[A], [B], [C], [D]])[1:]
    whole = WholeSessionDataset(pairs_dataset(late))
    assert len(whole) == 1
    assert whole.collater([whole[0]])["net_input"]["target_rows"].tolist() == [1, 2]


def test_sources_that_lost_their_own_queries_stand_alone():
    queries = [[A], [B], [C], [D], [A, B]]
    whole = WholeSessionDataset(pairs_dataset(unrolled(queries), sizes=(6, 3, 4, 3)))
    # Sources of 1, 2 and 3 queries fit; the one of 4 was cut to its last 3.
    assert whole.first.tolist() == [0, 3]


def test_sources_that_lost_the_same_history_stay_together():
    history = [A, Q, B, SESSION, C, SESSION]
    pairs = unrolled([[A], [B], [C]]) + unrolled([[B], [C], [D]], history)
    for sessions, kept in ((1, []), (2, [C, SESSION]), (3, history)):
        whole = WholeSessionDataset(pairs_dataset(pairs, sizes=(6, 6, sessions, 3)))
        assert whole.first.tolist() == [0, 2]
        assert whole[1]["source"].tolist() == [*kept, B, Q, C, EOS]
    # With three queries per session, the second source keeps its session, the third does not.
    long = unrolled([[A], [B], [C], [D], [A, B]], history)
    whole = WholeSessionDataset(pairs_dataset(long, sizes=(6, 3, 1, 3)))
    assert whole.first.tolist() == [0, 3]


def test_sessions_with_a_part_that_is_too_long_are_filtered():
    """Sources of 5 and 2 tokens, longest targets of 3 and 2."""
    whole = WholeSessionDataset(pairs_dataset(unrolled([[A], [B, C], [D]]) + unrolled([[D], [A]])))
    assert [whole.size(0), whole.size(1)] == [(5, 3), (2, 2)]
    both = np.array([1, 0])
    for limits, kept in (((5, 3), [1, 0]), ((4, 3), [1]), ((5, 2), [1]), ((1, 9), [])):
        indices, ignored = whole.filter_indices_by_size(both, limits)
        assert indices.tolist() == kept
        assert sorted([*kept, *ignored]) == [0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_every_pair_is_in_exactly_one_batch(seed):
    pairs = pairs_dataset(random_data(seed, sessions=40, with_history=True), shuffle=True)
    whole = WholeSessionDataset(pairs)
    batches = whole.batch_by_size(whole.ordered_indices(), max_tokens=60)
    seen = []
    for indices in batches:
        batch = whole.collater([whole[i] for i in indices])
        seen += [tuple(t[t.ne(DICTIONARY.pad())].tolist()) for t in batch["target"]]
        assert whole.num_tokens_vec(np.array(indices)).max() * len(indices) <= 60 or (
            len(indices) == 1
        )
    assert sorted(seen) == sorted(tuple(pairs.tgt[i].tolist()) for i in range(len(pairs)))


# --- the same loss and gradients ------------------------------------------------------------------

HIERARCHICAL = [
    name
    for name, (arch, flags) in ALL_MODELS.items()
    if getattr(build(arch, flags)[1].encoder, "reads_whole_sessions", False)
]


def criterion(task, name):
    if name == "mnsrf":
        return EntropyRegularizedCrossEntropyCriterion(task, False, 0.0)
    return LabelSmoothedCrossEntropyCriterion(task, False, 0.1)


def loss_and_gradients(model, loss_of, batches, **how):
    model.zero_grad()
    total = 0.0
    for batch in batches:
        batch["net_input"].update(how)
        loss, _, _ = loss_of(model, batch)
        loss.backward()
        total += loss.item()
    return total, [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("with_history, sizes", [(False, SIZES), (True, SIZES), (True, (6, 6, 2))])
@pytest.mark.parametrize("name", HIERARCHICAL)
def test_loss_and_gradients_are_those_of_the_pairs(name, with_history, sizes):
    task, model = build(*ALL_MODELS[name], seed=3)
    loss_of = criterion(task, name)
    pairs = pairs_dataset(random_data(5, with_history=with_history), sizes)
    assert bool(pairs.src.oversize) == (sizes != SIZES)
    whole = WholeSessionDataset(pairs)
    assert len(whole) < len(pairs)
    dropouts = [m for m in model.modules() if isinstance(m, FairseqDropout)]
    before = [m.p for m in dropouts]
    try:
        for module in dropouts:
            module.p = 0.0
        model.train()
        alone = [pairs.collater([pairs[i]]) for i in range(len(pairs))]
        expected = loss_and_gradients(model, loss_of, alone)
        together = [whole.collater([whole[i] for i in range(len(whole))])]
        found = loss_and_gradients(model, loss_of, together, packed=True)
    finally:
        model.eval()
        for module, p in zip(dropouts, before):
            module.p = p
    assert abs(found[0] - expected[0]) <= 1e-6 * abs(expected[0])
    assert len(found[1]) == len(expected[1])
    for ours, theirs in zip(found[1], expected[1]):
        assert_close(ours, theirs, tolerance=1e-5 * max(1.0, theirs.abs().max().item()))


def test_flat_models_keep_the_pairs():
    assert "hlstm" in HIERARCHICAL and "2-level" in HIERARCHICAL
    assert not [name for name in HIERARCHICAL if name.startswith(("seq2seq", "transformer"))]
    arch, flags = ALL_MODELS["seq2seq"]
    with pytest.raises(InputError, match="--session-parallel"):
        build(arch, f"{flags} --session-parallel always")
    assert not build(arch, flags)[0].trains_whole_sessions
    assert build(*ALL_MODELS["hlstm"])[0].trains_whole_sessions
    arch, flags = ALL_MODELS["hlstm"]
    assert not build(arch, f"{flags} --session-parallel never")[0].trains_whole_sessions


def test_a_model_from_a_checkpoint_reads_pairs():
    """`fairseq-generate --gen-subset train` and `fairseq-validate` load models this way."""
    args = parse(*ALL_MODELS["hlstm"])
    task = tasks.setup_task(args)
    task.build_model(args, from_checkpoint=True)
    assert not task.trains_whole_sessions
    assert "from_checkpoint" in inspect.getfullargspec(task.build_model).args  # fairseq checks this


# --- the output layer reads real positions only ---------------------------------------------------


@pytest.mark.parametrize("name", ["2-level", "seq2seq", "transformer", "hlstm"])
def test_padding_never_reaches_the_output_layer(name):
    _, model = build(*ALL_MODELS[name])
    pairs = pairs_dataset(random_data(1))
    batch = pairs.collater([pairs[i] for i in range(len(pairs))])
    logits, extra = model(**batch["net_input"], packed=True)
    assert logits.shape == (batch["ntokens"], len(DICTIONARY))
    target = model.get_targets(batch, (logits, extra))
    assert target.tolist() == batch["target"][batch["target"].ne(DICTIONARY.pad())].tolist()
    # Without `packed`, logits have the usual shape, also in training.
    logits, extra = copy.deepcopy(model).train()(**batch["net_input"])
    assert logits.shape[:2] == batch["target"].shape
    assert model.get_targets(batch, (logits, extra)) is batch["target"]
