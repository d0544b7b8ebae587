"""Copying words of the session: the mixture and its invariances."""

import copy
import random
from argparse import Namespace
from functools import partial

import pytest
import torch
from beam_answers import answers, assert_same, restless
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.sequence_generator import SequenceGenerator
from fairseq.sequence_scorer import SequenceScorer
from hypothesis import given
from hypothesis import strategies as st
from sessions import (
    COPYING_MODELS,
    DICTIONARY,
    EOS,
    PAD,
    SEPARATORS,
    SESSION,
    SMALL,
    UNIT3,
    Q,
    W,
    assert_close,
    batch,
    build,
    encode,
    encoder_out_of,
    flat,
    logits,
    make,
    outputs,
    random_sessions,
    targets,
)
from whole_session_data import pairs_dataset, unrolled

from mtn_fairseq.copying.mixture import FLOOR, add_copied
from mtn_fairseq.copying.pointer import Pointer
from mtn_fairseq.copying.words import NO_COLUMN, SLOTS, Columns, Copyable
from mtn_fairseq.data.spelled_words import UNKNOWN_WORDS
from mtn_fairseq.data.whole_sessions import WholeSessionDataset
from mtn_fairseq.generation.narrow_beam_search import NarrowSequenceGenerator

V, UNK = len(DICTIONARY), DICTIONARY.unk()
X, Y, Z = (UNKNOWN_WORDS + number for number in (7, 3, 1 << 29))
TOLERANCE = 1e-5
NarrowAsFairseq = partial(NarrowSequenceGenerator, stop_at_first=True)


def _half_precision_works():
    try:
        return bool((torch.ones(1, 1).half() @ torch.ones(1, 1).half()).eq(1))
    except RuntimeError:
        return False


in_half_precision = pytest.mark.skipif(
    not _half_precision_works(), reason="this torch has no half precision on the CPU"
)


def with_unknown_words(sessions, seed=1, share=0.4):
    """Replace some words of each session by out-of-vocabulary words."""
    rng = random.Random(seed)

    def change(token):
        return rng.choice((X, Y, Z)) if token >= W and rng.random() < share else token

    return [[[change(token) for token in query] for query in session] for session in sessions]


def unknown_sessions(seed, count, **options):
    return with_unknown_words(random_sessions(seed, count, **options), seed)


@pytest.fixture(params=COPYING_MODELS)
def model(request):
    return build(*COPYING_MODELS[request.param])[1]


@pytest.fixture(params=["copying", "copying-last-query", "copying-3-level"])
def hierarchy(request):
    return build(*COPYING_MODELS[request.param])[1]


def gradients_of(model):
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.requires_grad}


def without_dropout(model):
    model = copy.deepcopy(model).train()
    for module in model.modules():
        if hasattr(module, "p"):
            module.p = 0.0
    return model


# --- columns --------------------------------------------------------------------------------------

COLUMNS = Columns(V, [PAD, EOS, UNK, *SEPARATORS])


def test_columns_by_hand():
    source = torch.tensor([[PAD, W, X, Q, Y, X, UNK, EOS], [Z, Z, Q, W + 1, EOS, PAD, PAD, PAD]])
    assert COLUMNS.of(source).tolist() == [
        [0, W, V, 0, V + 1, V, 0, 0],
        [V, V, 0, W + 1, 0, 0, 0, 0],
    ]
    target = torch.tensor([[X, Y, Z, W, EOS], [Y, Z, W, EOS, PAD]])
    assert COLUMNS.of_targets(source, target, UNK).tolist() == [
        [V, V + 1, UNK, W, EOS],
        [UNK, V, W, EOS, PAD],
    ]
    columns = torch.tensor([V + 1, W, V, EOS, V])
    assert COLUMNS.words_of(source, columns, [4, 1]).tolist() == [Y, W, X, EOS, Z]


def test_columns_stay_while_a_session_grows():
    """A word keeps its column in all prefixes, as training on whole sessions requires."""
    for session in unknown_sessions(1, 20, least=3):
        source = torch.tensor([flat(session)])
        whole = COLUMNS.of(source)
        for end in range(1, source.size(1)):
            assert COLUMNS.of(source[:, :end]).tolist() == whole[:, :end].tolist()


def test_more_unknown_words_than_slots():
    source = torch.arange(UNKNOWN_WORDS, UNKNOWN_WORDS + SLOTS + 2).unsqueeze(0)
    assert COLUMNS.of(source).tolist() == [[*range(V, V + SLOTS), NO_COLUMN, NO_COLUMN]]
    assert COLUMNS.of_targets(source, source, UNK)[0, -2:].tolist() == [UNK, UNK]


def one_session(columns, dtype=torch.float):
    """Columns (1, Q, L) -> the `Copyable` of one session, with random codes"""
    _, queries, length = columns.shape
    codes = torch.randn(1, queries, length, 8, dtype=dtype)
    parts = torch.ones(1, 1, queries, queries, dtype=torch.bool).tril()
    return Copyable(codes, columns, columns, codes[:, :, -1], parts)


# --- the mixture ----------------------------------------------------------------------------------


def slow_choice(pointer, feature, queries, level):
    """P(query) of each query (code of its end, rank, words) of a unit, from the top down"""
    if level == 1:
        return [1.0 for _ in queries]
    if pointer.which_query is None:
        return [1.0]
    parts = [[]]
    for query in queries:
        parts[-1].append(query)
        if query[1] >= level - 1:
            parts.append([])
    parts = [part for part in parts if part]
    which, key = (
        (pointer.which_query, pointer.query_key)
        if level == 2
        else (pointer.which_unit[level - 3], pointer.unit_key[level - 3])
    )
    size = pointer.word_key.out_features
    scores = [which(feature) @ key(part[-1][0]) / size**0.5 for part in parts]
    has_words = [any(words for *_, words in part) for part in parts]
    total = sum(score.exp() for score, has in zip(scores, has_words) if has)
    return [
        score.exp() / total * has * within
        for score, has, part in zip(scores, has_words, parts)
        for within in slow_choice(pointer, feature, part, level - 1)
    ]


def slow_distribution(model, session, target):
    """P(word) of each target position, as a dictionary, computed by the formula."""
    source, lengths = batch([session])
    encoder_out = encoder_out_of(model, source, lengths)
    features = model.decoder(torch.tensor([target]), encoder_out, features_only=True)[0][0]
    codes, words = (part[0] for part in encoder_out["copyable"][:2])  # one row per query
    pointer = model.decoder.pointer
    size = pointer.word_key.out_features
    queries = []
    for query_codes, query_words in zip(codes, words.tolist()):
        ends = [i for i, word in enumerate(query_words) if word in (*SEPARATORS, EOS)]
        rank = [*SEPARATORS, EOS].index(query_words[ends[-1]]) + 1
        places = [(code, word) for code, word in zip(query_codes, query_words) if word >= W]
        queries.append((query_codes[ends[-1]], rank, places))
    levels = 2 + len(pointer.which_unit)
    found = []
    for feature in features:
        vocabulary = model.decoder.output_layer(feature.view(1, 1, -1)).view(-1).softmax(0)
        gate = torch.sigmoid(pointer.gate(feature))[0]
        share = {index: gate * vocabulary[index] for index in range(V)}
        for chosen, (*_, places) in zip(slow_choice(pointer, feature, queries, levels), queries):
            if not places:
                continue
            keys = torch.stack([pointer.word_key(code) for code, _ in places])
            weights = (keys @ pointer.which_word(feature) / size**0.5).softmax(0)
            for (_, word), weight in zip(places, weights):
                share[word] = share.get(word, 0) + (1 - gate) * chosen * weight
        found.append(share)
    return found


HISTORY = make(
    [[W, X, W], [Y, W + 1], [W + 2, Z], [UNK], [UNK], [W + 3, UNK], [X, W]],
    [Q, SESSION, UNIT3, SESSION, SESSION, Q],
)
FOUR_LEVELS = ("mtn", f"{SMALL} --level-layers 1,1,1,1 --copy-attention")


@pytest.mark.parametrize("session", [make([[W, X, W], [Y, W + 1], [X, W]], [Q, Q]), HISTORY])
@pytest.mark.parametrize("name", [*COPYING_MODELS, "four levels"])
def test_the_mixture_and_its_gradients_are_those_of_the_formula(name, session):
    target = [EOS, X, W, Y]
    model = without_dropout(build(*COPYING_MODELS.get(name, FOUR_LEVELS))[1])
    weights = torch.randn(len(target), V + SLOTS, dtype=torch.double)
    gradients = []

    def compare(log_probs):
        model.zero_grad()
        (log_probs * weights).sum().backward()
        gradients.append(gradients_of(model))

    source, lengths = batch([session])
    columns = COLUMNS.of(source)[0].tolist()
    slots = {word: column for word, column in zip(source[0].tolist(), columns) if column >= V}
    found = model.get_normalized_probs(
        model(source, lengths, torch.tensor([target]), packed=True), log_probs=True
    )
    expected = torch.full_like(found, FLOOR)
    for row, share in enumerate(slow_distribution(model, session, target)):
        assert sum(share.values()).item() == pytest.approx(1, abs=1e-6)
        for word, probability in share.items():
            expected[row, slots.get(word, word)] = probability.log()
    assert_close(found, expected, TOLERANCE)
    compare(found)
    compare(expected)
    for name, gradient in gradients[0].items():
        assert_close(gradient, gradients[1][name], 1e-4)


def test_the_mixture_sums_to_one(model):
    sessions = unknown_sessions(2, 12)
    found = logits(model, sessions, targets(3, 12)).exp()
    assert_close(found.sum(-1), torch.ones_like(found[..., 0]), 1e-6)
    assert (found[..., V:] > 0.001).any()  # unknown words are copied


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 6))
def test_gradients_of_the_fast_mixture(seed, rows, places):
    torch.manual_seed(seed)
    vocabulary = torch.randn(rows, V, dtype=torch.double).log_softmax(-1).requires_grad_()
    gate = torch.randn(rows, 1, dtype=torch.double)
    generating = torch.nn.functional.logsigmoid(gate).requires_grad_()
    copied = (torch.randn(rows, places, dtype=torch.double) - 2).requires_grad_()
    columns = torch.stack([torch.randperm(V + SLOTS)[:places] for _ in range(rows)])
    real = torch.rand(rows, places) < 0.8
    columns = columns.masked_fill(~real, NO_COLUMN)
    if places:
        real &= columns.ne(NO_COLUMN)
    found = add_copied(vocabulary, generating, copied, columns, real)
    slots = torch.full((rows, SLOTS), FLOOR, dtype=torch.double)
    plain = torch.cat([vocabulary + generating, slots], 1).exp()
    plain = plain.scatter_add(1, columns, copied.exp() * real).log()
    assert_close(found, plain)
    weights = torch.randn_like(plain)
    inputs = (vocabulary, generating, copied)
    gradients = torch.autograd.grad((found * weights).sum(), inputs)
    expected = torch.autograd.grad((plain * weights).sum(), inputs)
    for gradient, slow in zip(gradients, expected):
        assert_close(gradient, slow)


@in_half_precision
def test_gradients_in_half_precision_are_finite():
    """Without a word the share is 0, and its logarithm in half precision would be infinite."""
    columns = torch.tensor([[[10, 11, NO_COLUMN]]])
    pointer = Pointer(8, 8, levels=2).half()
    source = one_session(columns, dtype=torch.half)
    copying = pointer.point(torch.randn(1, 2, 8).half(), pointer.remember(source))
    mixture = copying.mix(torch.randn(1, 2, 20).half())
    assert_close(mixture.exp().sum(-1), torch.ones(1, 2), 1e-3)
    (-mixture[0, 0, 10]).backward()
    found = dict(pointer.named_parameters())
    assert all(bool(found[name].grad.isfinite().all()) for name in found)
    assert bool(found["which_word.weight"].grad.ne(0).any())


def test_nothing_to_copy(model):
    """Old data have `<unk>` without a spelling: then all words of those sessions are generated."""
    bare = [make([[UNK, UNK], [UNK]], [Q]), make([[UNK]], []), make([[X, W]], [])]
    prev = targets(4, 3)
    found = logits(model, bare, prev).exp()
    assert_close(found.sum(-1), torch.ones_like(found[..., 0]), 1e-6)
    src_tokens, src_lengths = batch(bare)
    vocabulary = model(src_tokens, src_lengths, prev)[0].softmax(-1)
    assert_close(found[:2, :, :V], vocabulary[:2], 1e-6)
    assert (found[2, :, :V] - vocabulary[2]).abs().max() > 0.01


@in_half_precision
@pytest.mark.parametrize("levels", [1, 2])
def test_nothing_to_copy_in_any_precision(levels):
    """As with --amp, and with a gate that strongly prefers copying."""
    nothing = torch.full((1, 1, 3), NO_COLUMN)
    pointer = Pointer(8, 8, levels)
    with torch.no_grad():
        pointer.gate.weight.fill_(-300)
    source = one_session(nothing)
    features, logits = torch.rand(1, 2, 8), torch.randn(1, 2, 20)
    for newest in (None, torch.tensor([[0, 0]])):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
                copying = pointer.point(features, pointer.remember(source), newest)
                mixture = copying.mix(logits)
            assert_close(mixture[..., :20].exp(), logits.softmax(-1), 1e-5)
            mixture.sum().backward()
            assert all(bool(part.grad.isfinite().all()) for part in pointer.parameters())


def test_a_target_before_all_words_copies_nothing():
    columns = torch.tensor([[[NO_COLUMN, NO_COLUMN], [10, 11]]])
    pointer = Pointer(8, 8, levels=2)
    newest = torch.tensor([[0, 1]])
    copying = pointer.point(torch.randn(1, 2, 8), pointer.remember(one_session(columns)), newest)
    assert copying.share[0, 0].tolist() == [0] * 4
    assert copying.words[0].tolist() == [[NO_COLUMN] * 4, [NO_COLUMN, NO_COLUMN, 10, 11]]
    assert copying.share[0, 1].sum().item() == pytest.approx(1)


@pytest.mark.parametrize("name", COPYING_MODELS)
def test_scores_of_references_and_prefixes_are_those_of_validation(name):
    """An unknown word that the model did not read cannot be copied: it is `<unk>` everywhere."""
    task, model = build(*COPYING_MODELS[name])
    session, target = make([[X, W], [Y, W + 1]], [Q]), [X, Y, Z, W + 2, EOS]
    source, lengths = batch([session])
    inputs = {"src_tokens": source, "src_lengths": lengths}
    inputs["prev_output_tokens"] = torch.tensor([[EOS, *target[:-1]]])
    sample = {"target": torch.tensor([target]), "net_input": inputs, "ntokens": 5, "nsentences": 1}
    output = model(**inputs)
    wanted = model.get_targets(sample, output)[0]
    log_probs = model.get_normalized_probs(output, log_probs=True)[0]
    expected = log_probs.gather(1, wanted.unsqueeze(1)).squeeze(1).float()
    ((scored,),) = task.inference_step(SequenceScorer(DICTIONARY), [model], sample)
    assert_close(scored["positional_scores"].float(), expected.detach(), TOLERANCE)
    assert (UNK in scored["tokens"].tolist()[:2]) == name.endswith("-last")
    generator = task.build_generator([model], Namespace(beam=2, max_len_b=8))
    prefix = sample["target"][:, :4]
    for hypothesis in task.inference_step(generator, [model], sample, prefix_tokens=prefix)[0]:
        assert_close(hypothesis["positional_scores"][:4].float(), expected[:4].detach(), TOLERANCE)


# --- invariances, with unknown words --------------------------------------------------------------


@pytest.mark.parametrize("left_pad", [True, False])
def test_padding_and_batch_mates(model, left_pad):
    sessions, prev = unknown_sessions(5, 8), with_unknown_words([targets(6, 8).tolist()])[0]
    prev = torch.tensor(prev)
    found = logits(model, sessions, prev, left_pad=left_pad, extra_pad=2)
    alone = [logits(model, [session], row[None])[0] for session, row in zip(sessions, prev)]
    assert_close(found, torch.stack(alone), TOLERANCE)


def test_names_of_unknown_words_do_not_matter(model):
    """Only which of them are equal matters."""
    sessions, prev = unknown_sessions(7, 8, least=2), targets(8, 8)
    renamed = [
        [[token + 5 if token >= UNKNOWN_WORDS else token for token in query] for query in session]
        for session in sessions
    ]
    found = logits(model, sessions, prev)
    assert_close(logits(model, renamed, prev), found, TOLERANCE)
    one, two = make([[W, X], [X, W + 1]], [Q]), make([[W, X], [Y, W + 1]], [Q])
    assert (logits(model, [one], prev[:1]) - logits(model, [two], prev[:1])).abs().max() > 0.01


def test_step_by_step(model):
    sessions = unknown_sessions(9, 5)
    prev = torch.tensor(with_unknown_words([targets(10, 5).tolist()])[0])
    full = logits(model, sessions, prev)
    encoder_out, state = encode(model, sessions), {}
    for t in range(prev.size(1)):
        with torch.no_grad():
            step = model.decoder(prev[:, : t + 1], encoder_out, incremental_state=state)
        assert_close(outputs(model, step)[:, -1], full[:, t], TOLERANCE)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("options", [{}, {"temperature": 1.7}, {"unk_penalty": 2.0}], ids=str)
def test_narrow_hypotheses_are_fairseqs(model, beam, options):
    copied = 0
    for ends in (1, 4):
        asked = restless(model, ends=ends)
        with torch.no_grad():
            asked.decoder.pointer.gate.bias.sub_(4)  # mostly copies
        sessions = unknown_sessions(beam, 6)
        found, expected = (
            answers(kind, asked, sessions, beam_size=beam, **options)
            for kind in (NarrowAsFairseq, SequenceGenerator)
        )
        assert_same(found, expected)
        copied += sum(token >= V for answer in found for tokens, *_ in answer for token in tokens)
    assert copied


@in_half_precision
@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16])
def test_narrow_hypotheses_in_half_precision(model, dtype):
    """Both compute the mixture in single precision."""
    asked = restless(model, ends=3).to(dtype)
    with torch.no_grad():
        asked.decoder.pointer.gate.bias.sub_(4)
    sessions = unknown_sessions(8, 8)  # without exact ties, whose order may differ
    # One by one: in half precision, the outputs of a model depend on the batch size.
    for session in sessions:
        found, expected = (
            answers(kind, asked, [session], beam_size=1)
            for kind in (NarrowAsFairseq, SequenceGenerator)
        )
        assert_same(found, expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_whole_sessions_are_their_pairs(hierarchy, smoothing):
    """Loss and gradients; words of later queries cannot be copied."""
    model = without_dropout(hierarchy)
    rng = random.Random(11)
    pairs = []
    for session in unknown_sessions(12, 8, least=3, separators=[Q]):
        queries = [query[:-1] for query in session]
        earlier = flat(unknown_sessions(13, 1, separators=[Q])[0]) if len(pairs) % 2 else []
        history = [SESSION if token == EOS else token for token in earlier]
        queries = [*queries[:2], rng.choice(queries)[:2] or [W], *queries[2:]]
        pairs += unrolled(queries, history)
    dataset = pairs_dataset(pairs)
    task = build(*COPYING_MODELS["copying"])[0]
    criterion = LabelSmoothedCrossEntropyCriterion(task, False, smoothing)
    losses, gradients = [], []
    for lines in (dataset, WholeSessionDataset(dataset)):
        model.zero_grad()
        sample = lines.collater([lines[i] for i in range(len(lines))])
        sample["net_input"]["packed"] = lines is not dataset
        loss, _, log = criterion(model, sample)
        loss.backward()
        losses.append((loss.detach(), log["nll_loss"]))
        gradients.append(gradients_of(model))
    for found, expected in zip(*losses):
        assert_close(found, expected, 1e-4)
    for name, gradient in gradients[0].items():
        assert_close(gradient, gradients[1][name], 1e-4)
