"""`entropy_regularized_cross_entropy`: cross entropy minus a share of the entropy (M-NSRF)."""

import math

import pytest
import torch
from fairseq import criterions, options
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.logging import metrics
from fairseq.models import BaseFairseqModel
from sessions import (
    ALL_MODELS,
    DATA,
    DICTIONARY,
    EOS,
    PAD,
    W,
    batch,
    build,
    random_sessions,
    targets,
)

from mtn_fairseq.criterions.entropy_regularized_cross_entropy import (
    EntropyRegularizedCrossEntropyConfig,
    EntropyRegularizedCrossEntropyCriterion,
    entropy_regularized_nll_loss,
)

# With padded targets, the two masks of fairseq's decoder have different types.
pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask")

LN2 = math.log(2)


def log_probabilities(*rows):
    return torch.tensor(rows, dtype=torch.float64).log()


def loss(lprobs, target, weight, smoothing=0.0, padding_idx=-1):
    return entropy_regularized_nll_loss(
        lprobs, torch.tensor(target), padding_idx, weight, smoothing
    )


# --- the loss by itself ---------------------------------------------------------------------------


def test_worked_by_hand():
    """Two positions over three words, in units of ln 2, which is one bit.

    (1/2, 1/4, 1/4): entropy 1/2 · 1 + 1/4 · 2 + 1/4 · 2 = 3/2; the first word costs 1, any other 2.
    (1/4, 1/4, 1/2): entropy 3/2 as well; the second word costs 2.
    In all: cross entropy 1 + 2 = 3, entropy 3, and with weight 1/10 the loss is 3 - 0.3 = 2.7.
    """
    lprobs = log_probabilities([1 / 2, 1 / 4, 1 / 4], [1 / 4, 1 / 4, 1 / 2])
    found = loss(lprobs, [0, 1], weight=0.1)
    assert found.nll.item() == pytest.approx(3 * LN2)
    assert found.entropy.item() == pytest.approx(3 * LN2)
    assert found.loss.item() == pytest.approx(2.7 * LN2)


def test_smoothing_worked_by_hand():
    """Smoothing 0.2 over three words: 0.2 / 2 for each of the two others, 0.8 for the right one.

    (1/2, 1/4, 1/4), right: the first. 0.8 · 1 + 0.1 · 2 + 0.1 · 2 = 1.2; less 0.1 · 3/2: 1.05. Only
    the target is smoothed; the entropy is that of the output distribution.
    """
    found = loss(log_probabilities([1 / 2, 1 / 4, 1 / 4]), [0], weight=0.1, smoothing=0.2)
    assert found.nll.item() == pytest.approx(LN2)
    assert found.entropy.item() == pytest.approx(1.5 * LN2)
    assert found.loss.item() == pytest.approx(1.05 * LN2)


def test_flatter_is_cheaper_at_the_same_cross_entropy():
    """The right word has 1/2 throughout; entropies are 1.07, 1.36 and 1.5 bits."""
    rows = [[0.5, 0.49, 0.01], [0.5, 0.4, 0.1], [0.5, 0.25, 0.25]]
    found = [loss(log_probabilities(row), [0], weight=0.1) for row in rows]
    assert [part.nll.item() for part in found] == pytest.approx([LN2] * 3)
    losses = [part.loss.item() for part in found]
    assert losses == sorted(losses, reverse=True)
    assert len(set(losses)) == 3


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_counts_for_nothing(smoothing):
    """Neither for cross entropy nor for entropy, at any position and for any distribution."""
    torch.manual_seed(1)
    lprobs = torch.randn(4, 7, dtype=torch.float64).log_softmax(1)
    unsure = torch.full((1, 7), 1 / 7, dtype=torch.float64).log()
    padded = torch.cat([unsure, lprobs[:2], unsure, lprobs[2:], unsure])
    found = loss(padded, [6, 0, 2, 6, 5, 3, 6], 0.1, smoothing, padding_idx=6)
    expected = loss(lprobs, [0, 2, 5, 3], 0.1, smoothing, padding_idx=6)
    for a, b in zip(found, expected):
        assert a.item() == pytest.approx(b.item(), abs=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradient(smoothing):
    """Compared with finite differences of the logits; zero at padding."""
    torch.manual_seed(2)
    logits = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)

    def of(logits):
        return loss(logits.log_softmax(1), [0, 3, 2], 0.4, smoothing, padding_idx=3).loss

    assert torch.autograd.gradcheck(of, (logits,))
    of(logits).backward()
    by_hand = torch.zeros_like(logits)
    step = 1e-6
    with torch.no_grad():
        for i in range(3):
            for j in range(4):
                change = torch.zeros_like(logits)
                change[i, j] = step
                by_hand[i, j] = (of(logits + change) - of(logits - change)) / (2 * step)
    assert torch.allclose(logits.grad, by_hand, atol=1e-8)
    assert logits.grad[1].abs().max() == 0
    assert logits.grad[[0, 2]].abs().min() > 0


# --- the criterion --------------------------------------------------------------------------------


class Task:
    target_dictionary = DICTIONARY


class FixedOutput(BaseFairseqModel):
    """A model that returns fixed log probabilities (B, T, V)."""

    def __init__(self, lprobs):
        super().__init__()
        self.lprobs = lprobs

    def forward(self, **unused):
        return self.lprobs

    def get_targets(self, sample, net_output):
        return sample["target"]


def criterion(weight=0.1, smoothing=0.0, sentence_avg=False, **others):
    return EntropyRegularizedCrossEntropyCriterion(
        Task, sentence_avg, smoothing, entropy_weight=weight, **others
    )


def spread(**probabilities):
    """A distribution over the dictionary: probabilities by word, almost 0 for other words."""
    row = torch.full((len(DICTIONARY),), 1e-30, dtype=torch.float64)
    for word, probability in probabilities.items():
        row[DICTIONARY.index(word)] = probability
    return row.log()


def sample_of(target, **net_input):
    target = torch.tensor(target)
    return {"net_input": net_input, "target": target, "ntokens": int(target.ne(PAD).sum())}


def reduced(*logging_outputs):
    with metrics.aggregate() as values:
        EntropyRegularizedCrossEntropyCriterion.reduce_metrics(list(logging_outputs))
        return values.get_smoothed_values()


def test_logging_worked_by_hand():
    """A target of three tokens, and one of one token and two paddings; in bits.

    | distribution          | target | cross entropy | entropy |
    |-----------------------|--------|---------------|---------|
    | w0 1/2, w1 1/4, w2 1/4 | w0    | 1             | 1.5     |
    | w0 1/4, … w3 1/4       | w1    | 2             | 2       |
    | w0 1/2, w1 1/2         | w1    | 1             | 1       |
    | w0 1/4, … w3 1/4       | w3    | 2             | 2       |
    | the same, twice        | pad   | -             | -       |
    Sums: 6 and 6.5, over 4 tokens: 1.5 and 1.625. The loss: (6 - 0.1 · 6.5) / 4 = 1.3375.
    """
    three = spread(w0=1 / 2, w1=1 / 4, w2=1 / 4)
    two = spread(w0=1 / 2, w1=1 / 2)
    four = spread(w0=1 / 4, w1=1 / 4, w2=1 / 4, w3=1 / 4)
    model = FixedOutput(torch.stack([torch.stack([three, four, two]), torch.stack([four] * 3)]))
    sample = sample_of([[W, W + 1, W + 1], [W + 3, PAD, PAD]])
    total, sample_size, logged = criterion()(model, sample)
    assert sample_size == 4
    assert total.item() == pytest.approx(5.35 * LN2, rel=1e-5)
    assert logged["nsentences"] == 2
    values = reduced(logged)
    assert values["entropy"] == pytest.approx(1.625, abs=1e-3)
    assert values["nll_loss"] == pytest.approx(1.5, abs=1e-3)
    assert values["loss"] == pytest.approx(1.3375, abs=1e-3)
    assert values["ppl"] == pytest.approx(2**1.5, abs=0.01)


def test_batches_count_by_their_tokens():
    """Three tokens at 2 bits and one at 0 are 1.5 bits per token, not 1."""
    many = {"loss": 1, "nll_loss": 1, "entropy": torch.tensor(6 * LN2), "ntokens": 3}
    few = {"loss": 1, "nll_loss": 1, "entropy": torch.tensor(0.0), "ntokens": 1}
    logged = [{**log, "sample_size": log["ntokens"], "nsentences": 1} for log in (many, few)]
    assert reduced(*logged)["entropy"] == pytest.approx(1.5, abs=1e-3)
    assert EntropyRegularizedCrossEntropyCriterion.logging_outputs_can_be_summed()


def test_average_by_sentence():
    model = FixedOutput(spread(w0=1 / 2, w1=1 / 2).repeat(2, 3, 1))
    sample = sample_of([[W, W, W], [W, PAD, PAD]])
    assert criterion(sentence_avg=True)(model, sample)[1] == 2
    assert criterion(sentence_avg=False)(model, sample)[1] == 4


# --- with real models -----------------------------------------------------------------------------


def training_sample(count=6):
    """Targets of several lengths, `</s>` at their ends, so that there is padding."""
    prev = targets(2, count)
    target = torch.cat([prev[:, 1:], torch.full((count, 1), EOS)], 1)
    for row in range(count):
        end = row % prev.size(1)
        target[row, end] = EOS
        target[row, end + 1 :] = PAD
        prev[row, end + 1 :] = PAD
    src_tokens, src_lengths = batch(random_sessions(1, count))
    return sample_of(
        target.tolist(), src_tokens=src_tokens, src_lengths=src_lengths, prev_output_tokens=prev
    )


MODELS = ["2-level", "3-level", "transformer", "mnsrf", "seq2seq"]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_with_weight_0_it_equals_fairseqs_criterion(name, smoothing):
    """The same loss, sample size, logging output and gradients."""
    model, sample = build(*ALL_MODELS[name])[1], training_sample()
    ours = criterion(weight=0.0, smoothing=smoothing, report_accuracy=True)
    fairseqs = LabelSmoothedCrossEntropyCriterion(Task, False, smoothing, report_accuracy=True)
    results = []
    for one in (ours, fairseqs):
        model.zero_grad()
        total, sample_size, logged = one(model, sample)
        total.backward()
        gradients = [parameter.grad.clone() for parameter in model.parameters()]
        results.append((total.item(), sample_size, logged, gradients))
    model.zero_grad()
    (total, size, logged, gradients), (expected, its_size, its_log, its_gradients) = results
    assert size == its_size
    assert total == pytest.approx(expected, rel=1e-6)
    assert logged.keys() == its_log.keys() | {"entropy"}
    for key, value in its_log.items():
        assert float(logged[key]) == pytest.approx(float(value), rel=1e-6), key
    for gradient, other in zip(gradients, its_gradients):
        assert torch.allclose(gradient, other, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_the_weighted_entropy_is_subtracted(name):
    """Computed with a separate softmax over the model's logits at real positions."""
    model, sample = build(*ALL_MODELS[name])[1], training_sample()
    with torch.no_grad():
        logits = model(**sample["net_input"])[0]
        plain, weighted = (criterion(weight=weight)(model, sample)[0] for weight in (0.0, 0.25))
    probabilities = logits.exp() / logits.exp().sum(-1, keepdim=True)
    entropies = -(probabilities * probabilities.log()).sum(-1)
    entropy = sum(
        entropies[row, column].item()
        for row, tokens in enumerate(sample["target"].tolist())
        for column, token in enumerate(tokens)
        if token != PAD
    )
    assert (plain - weighted).item() == pytest.approx(0.25 * entropy, rel=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_longer_padding_changes_nothing(name):
    model, sample = build(*ALL_MODELS[name])[1], training_sample()
    wider = {**sample, "net_input": dict(sample["net_input"])}
    padding = torch.full((6, 3), PAD)
    wider["target"] = torch.cat([sample["target"], padding], 1)
    prev = sample["net_input"]["prev_output_tokens"]
    wider["net_input"]["prev_output_tokens"] = torch.cat([prev, padding], 1)
    with torch.no_grad():
        (one, size, logged), (other, its_size, its_log) = (
            criterion(smoothing=0.1)(model, each) for each in (sample, wider)
        )
    assert size == its_size
    assert one.item() == pytest.approx(other.item(), rel=1e-6)
    assert logged["entropy"].item() == pytest.approx(its_log["entropy"].item(), rel=1e-6)


def test_registered_with_the_weight_of_the_paper():
    name = "entropy_regularized_cross_entropy"
    assert criterions.CRITERION_REGISTRY[name] is EntropyRegularizedCrossEntropyCriterion
    assert criterions.CRITERION_DATACLASS_REGISTRY[name] is EntropyRegularizedCrossEntropyConfig
    assert EntropyRegularizedCrossEntropyConfig().entropy_weight == 0.1
    assert EntropyRegularizedCrossEntropyConfig().label_smoothing == 0.0


def test_built_as_fairseq_builds_it():
    """The weight given on the command line is the weight that is used."""
    line = (
        f"{DATA} --task session_to_query --arch mnsrf"
        " --criterion entropy_regularized_cross_entropy --entropy-weight 0.3 --label-smoothing 0.2"
    )
    args = options.parse_args_and_arch(options.get_training_parser(), line.split())
    cfg = convert_namespace_to_omegaconf(args)
    built = criterions.build_criterion(cfg.criterion, build(*ALL_MODELS["mnsrf"])[0])
    assert (built.entropy_weight, built.eps) == (0.3, 0.2)
