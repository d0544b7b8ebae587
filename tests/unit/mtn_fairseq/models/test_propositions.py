"""Propositions 1 to 4: the transcribed equations of the supplement equal the models.

The first is about recurrent networks, here torch's; the others about models of this package.

Names are the supplement's: psi is layer normalisation, sigma the softmax of each row, phi the ReLU,
E, D and Y matrices with one row per token (or query), W and Z weights, d the channels, P the heads.
The supplement leaves out biases of the layers, so they are zero here. Where a printed equation
cannot be correct, a comment states what is computed instead.
"""

import copy
import math
from typing import NamedTuple

import pytest
import torch
from sessions import (
    EOS,
    MTN_MODELS,
    SESSION,
    SIZES,
    UNIT3,
    Q,
    W,
    assert_close,
    build,
    codes,
    encode,
    make,
    prefix,
    random_sessions,
    split_codes,
    stock,
)

D = 16
HEADS = [1, 2, 4]
SMALL = f"--encoder-embed-dim {D} --encoder-ffn-embed-dim 24"
DOUBLE = torch.float64
TOLERANCE = 1e-6  # positions are kept in single precision

EQUAL_LENGTHS = make([[W, W + 1, W + 2], [W + 3, W + 1, W + 4], [W + 5, W, W + 5]], [Q, Q])
DIFFERENT_LENGTHS = make([[W], [W + 3, W + 1, W + 4, W + 9, W + 2], [W + 5, W]], [Q, Q])


# --- the supplement -------------------------------------------------------------------------------


def psi(A, eps=1e-5):
    mean = A.mean(1, keepdim=True)
    variance = ((A - mean) ** 2).mean(1, keepdim=True)
    return (A - mean) / (variance + eps).sqrt()


def sigma(A):
    weights = A.exp()
    return weights / weights.sum(1, keepdim=True)


def phi(A):
    return A.clamp(min=0)


def R_(A):
    """`R ⊙ A`: R has 1 on the diagonal and below, -inf elsewhere.

    Read as a mask. As a product of entries it would be +inf wherever A is negative, and it would
    not hide anything there.
    """
    below = torch.ones_like(A).tril().bool()
    return A.masked_fill(~below, -math.inf)


def nothing_hidden(A):
    return A


class Attention(NamedTuple):
    Z1: list  # one matrix per head, (d, d/P)
    Z2: list
    Z3: list
    Z4: torch.Tensor  # (d, d)


class Layer(NamedTuple):
    W1: torch.Tensor
    W2: torch.Tensor
    Z: Attention  # self-attention; Ẑ in a decoder
    Z_enc: Attention = None  # a decoder's attention to the encoder, Z̃


def single_head_encoder(X, layers, R=nothing_hidden):
    """Proposition 2; with `R` the session level of Proposition 4."""
    d, n = X.size(1), X.size(0)
    E = X
    for W1, W2, *_ in layers:
        E_hat = psi((torch.eye(n, dtype=DOUBLE) + sigma(R(E @ E.T / math.sqrt(d)))) @ E)
        E = psi(E_hat + phi(E_hat @ W1) @ W2)
    return E


def multi_head_encoder(X, layers, R=nothing_hidden):
    d, n = X.size(1), X.size(0)
    E = X
    for W1, W2, Z, _ in layers:
        heads = [
            (torch.eye(n, dtype=DOUBLE) + sigma(R(E @ Z1 @ Z2.T @ E.T / math.sqrt(d)))) @ E @ Z3
            for Z1, Z2, Z3 in zip(Z.Z1, Z.Z2, Z.Z3)
        ]
        E_hat = psi(torch.cat(heads, 1) @ Z.Z4)
        E = psi(E_hat + phi(E_hat @ W1) @ W2)
    return E


def single_head_decoder(X, Y_enc, layers):
    """Proposition 3, up to its last feed-forward sublayer: D̃ of the last layer, and that layer."""
    d = X.size(1)
    D = X
    for W1, W2, *_ in layers:
        D_hat = psi(D + sigma(R_(D @ D.T / math.sqrt(d))) @ D)
        D_tilde = psi(D_hat + sigma(D_hat @ Y_enc.T / math.sqrt(d)) @ Y_enc)
        D = psi(D_tilde + phi(D_tilde @ W1) @ W2)
    return D_tilde, layers[-1]


def multi_head_decoder(X, Y_enc, layers):
    d, m = X.size(1), X.size(0)
    D = X
    for W1, W2, Z, Z_enc in layers:
        heads = [
            (torch.eye(m, dtype=DOUBLE) + sigma(R_(D @ Z1 @ Z2.T @ D.T / math.sqrt(d)))) @ D @ Z3
            for Z1, Z2, Z3 in zip(Z.Z1, Z.Z2, Z.Z3)
        ]
        D_hat = psi(torch.cat(heads, 1) @ Z.Z4)
        # Printed as (I + σ(…)) Y_enc Z̃³, which adds an n×n to an m×n matrix and loses D̂. Taken:
        # the residual of the single-head equation, D̂, through the same Z̃³.
        heads = [
            D_hat @ Z3 + sigma(D_hat @ Z1 @ Z2.T @ Y_enc.T / math.sqrt(d)) @ Y_enc @ Z3
            for Z1, Z2, Z3 in zip(Z_enc.Z1, Z_enc.Z2, Z_enc.Z3)
        ]
        D_tilde = psi(torch.cat(heads, 1) @ Z_enc.Z4)
        D = psi(D_tilde + phi(D_tilde @ W1) @ W2)
    return D_tilde, layers[-1]


def selection(t, columns):
    """M_t: the first t rows of an identity matrix."""
    return torch.eye(columns, dtype=DOUBLE)[:t]


def decoder_output(D_tilde, last, t):
    """Y_{L,t}: the valid rows at time t."""
    M = selection(t, D_tilde.size(0))
    return psi(M @ D_tilde + M @ phi(D_tilde @ last.W1) @ last.W2)


# --- a model with the supplement's weights --------------------------------------------------------


def paper_model(flags, heads):
    """One of our models, and the weights of its layers in the supplement's notation."""
    flags = f"{SMALL} --encoder-attention-heads {heads} {flags}"
    model = copy.deepcopy(build("mtn", flags)[1])
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            torch.nn.init.ones_(module.weight)
            torch.nn.init.zeros_(module.bias)
    upper = model.encoder.levels[0].layers if len(model.encoder.levels) else []
    stacks = model.encoder.query_encoder.layers, upper, model.decoder.layers
    return (model, *([paper_layer(layer, heads) for layer in stack] for stack in stacks))


def paper_layer(layer, heads):
    for linear in (layer.fc1, layer.fc2):
        torch.nn.init.zeros_(linear.bias)
    cross = getattr(layer, "encoder_attn", None)
    return Layer(
        layer.fc1.weight.data.T,
        layer.fc2.weight.data.T,
        paper_attention(layer.self_attn, heads),
        paper_attention(cross, heads) if cross is not None else None,
    )


def paper_attention(attention, P):
    """Give fairseq's attention weights that the supplement's equations can express.

    One head: no weights at all, so Q, K, V and the output are the identity. Many heads: the printed
    residual runs through Z³ and Z⁴, (I + σ) E Z³ … Z⁴. It is the model's E + σ E Z³ … Z⁴ if
    Concat(E Z³) Z⁴ = E, so Z³ is an orthogonal matrix cut into heads, and Z⁴ its transpose. The
    supplement divides by sqrt(d) throughout, fairseq by sqrt(d/P): that goes into Q's weights.
    """
    d = attention.embed_dim
    if P == 1:
        Z1 = Z2 = Z3 = torch.eye(d, dtype=DOUBLE)
    else:
        Z1, Z2 = torch.randn(d, d, dtype=DOUBLE) / 2, torch.randn(d, d, dtype=DOUBLE) / 2
        Z3 = torch.linalg.qr(torch.randn(d, d, dtype=DOUBLE))[0]
    weights = (attention.q_proj, Z1 / math.sqrt(P)), (attention.k_proj, Z2)
    for linear, weight in (*weights, (attention.v_proj, Z3), (attention.out_proj, Z3.T)):
        linear.weight.data.copy_(weight.T)
        torch.nn.init.zeros_(linear.bias)
    return Attention(*(Z.split(d // P, 1) for Z in (Z1, Z2, Z3)), Z3.T)


def sinusoids(positions):
    half = D // 2
    rates = torch.exp(torch.arange(half, dtype=DOUBLE) * -(math.log(10000) / (half - 1)))
    angles = torch.tensor(positions, dtype=DOUBLE).unsqueeze(1) * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


def representations(model, tokens):
    """X: embeddings, scaled as in the original Transformer, plus positions, which start at 2."""
    table = model.decoder.embed_tokens.weight.data
    return table[torch.tensor(tokens)] * math.sqrt(D) + sinusoids(range(2, 2 + len(tokens)))


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


# --- the propositions -----------------------------------------------------------------------------


class RNN:
    """Proposition 1: one layer of fixed size, W_1 and W_2, which time only masks.

    Biases are absorbed as the paper says, by an extra dimension that is always 1.
    """

    def __init__(self, rnn, output, phi_h, phi_y):
        bias = (rnn.bias_ih_l0 + rnn.bias_hh_l0).data.unsqueeze(0)
        # W_h atop U_h
        self.W_1 = torch.cat([rnn.weight_ih_l0.data.T, rnn.weight_hh_l0.data.T, bias])
        self.W_2 = torch.cat([output.weight.data.T, output.bias.data.unsqueeze(0)])
        self.phi_h, self.phi_y = phi_h, phi_y

    def X_tilde(self, X):
        """Row t is x_t beside h_{t-1}, and h_{t-1} is the layer's own row t-1.

        So X̃ is the fixed point of feeding the layer its own output, moved down by one row. Each
        iteration makes one more row final, so there are as many iterations as rows.
        """
        H = torch.zeros(len(X), self.W_1.size(1), dtype=DOUBLE)
        for _ in range(len(X)):
            X_tilde = torch.cat([X, one_row_down(H), ones(X)], 1)
            H = self.phi_h(X_tilde @ self.W_1)
        return X_tilde

    def Y(self, X, t):
        M = selection(t, len(X))
        H_t = M @ self.phi_h(self.X_tilde(X) @ self.W_1)
        return self.phi_y(torch.cat([H_t, ones(H_t)], 1) @ self.W_2)


def one_row_down(H):
    return torch.cat([torch.zeros_like(H[:1]), H[:-1]])


def ones(A):
    return torch.ones_like(A[:, :1])


@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("name, phi_h", [("tanh", torch.tanh), ("relu", phi)])
def test_proposition_1_an_rnn_is_one_masked_layer(name, phi_h, n):
    d, hidden, classes = 5, 7, 4
    rnn = torch.nn.RNN(d, hidden, nonlinearity=name, batch_first=True).double()
    output = torch.nn.Linear(hidden, classes).double()
    layer, X = RNN(rnn, output, phi_h, sigma), torch.randn(n, d, dtype=DOUBLE)
    with torch.no_grad():
        H = rnn(X.unsqueeze(0))[0][0]
        Y = output(H).softmax(1)
        for t in range(1, n + 1):
            assert_close(layer.Y(X, t), Y[:t], 1e-12)
            # M_t hides later inputs: an RNN that has read t inputs gives the same output.
            then = output(rnn(X[:t].unsqueeze(0))[0][0]).softmax(1)
            assert_close(layer.Y(X, t), then, 1e-12)
        # "X̃ encapsulates the recurrent and the input information": row t is x_t and h_{t-1}.
        assert_close(layer.X_tilde(X)[:, :d], X)
        assert_close(layer.X_tilde(X)[:, d:-1], one_row_down(H), 1e-12)
        # The control: the state matters, so a row depends on more than its own input.
        if n > 2:
            without_state = RNN(rnn, output, phi_h, sigma)
            without_state.W_1[d:-1] = 0
            assert (without_state.Y(X, n) - Y)[1:].abs().max() > 1e-2


@pytest.mark.parametrize("heads", HEADS)
def test_proposition_2_the_query_encoder(heads):
    model, query_layers, *_ = paper_model("--level-layers 3", heads)
    query = [W, W + 1, W + 7, W + 1]
    encoder = single_head_encoder if heads == 1 else multi_head_encoder
    # Every query ends in `<q>`, even where the source ends in `</s>`.
    expected = encoder(representations(model, [*query, Q]), query_layers)
    assert_close(codes(model, [[[*query, EOS]]])[0][0], expected, TOLERANCE)


@pytest.mark.parametrize("heads", HEADS)
def test_proposition_3_the_decoder(heads):
    model, _, _, decoder_layers = paper_model("--level-layers 1,1 --decoder-layers 3", heads)
    target = [EOS, W + 2, W + 3, W + 2, W + 8]
    with torch.no_grad():
        encoder_out = encode(model, [DIFFERENT_LENGTHS])
        features = model.decoder(torch.tensor([target]), encoder_out, features_only=True)[0][0]
        logits = model.decoder(torch.tensor([target]), encoder_out)[0][0]
    decoder = single_head_decoder if heads == 1 else multi_head_decoder
    Y_enc = encoder_out["encoder_out"][0][:, 0]
    D_tilde, last = decoder(representations(model, target), Y_enc, decoder_layers)
    for t in range(1, len(target) + 1):
        assert_close(features[:t], decoder_output(D_tilde, last, t), TOLERANCE)
    output = model.decoder.output_projection
    assert_close(logits, features @ output.weight.data.T + output.bias.data)


@pytest.mark.parametrize("heads", HEADS)
def test_proposition_3_valid_rows_ignore_later_targets(heads):
    model, *_ = paper_model("--level-layers 1,1 --decoder-layers 3", heads)
    target, other = [EOS, W + 2, W + 3, W + 2, W + 8], [EOS, W + 9, W + 8, W + 7, W]

    def features(tokens):
        return model.decoder(torch.tensor([tokens]), encoder_out, features_only=True)[0][0]

    with torch.no_grad():
        encoder_out = encode(model, [DIFFERENT_LENGTHS])
        whole = features(target)
        for t in range(1, len(target)):
            M = selection(t, len(target))
            changed = features(target[:t] + other[t:])
            assert_close(M @ changed, M @ whole)
            assert_close(features(target[:t]), M @ whole)
            assert (changed - whole)[t:].abs().amax(1).min() > 1e-3


def mtn_encoder(model, query_layers, session_layers, session, heads):
    """Proposition 4: Y_{1,L1} and Ŷ_{2,L2}, stacked over the queries of a session of two levels."""
    encoder = single_head_encoder if heads == 1 else multi_head_encoder
    Y_1 = [
        encoder(representations(model, [*query[:-1], Q]), query_layers)  # Y_{1,L1,q}
        for query in session
    ]
    projection = model.encoder.projections[0]
    # "we can pad the queries": with zero rows, up to the n of the model.
    padded = [torch.cat([Y, torch.zeros(SIZES[0] - len(Y), D, dtype=DOUBLE)]) for Y in Y_1]
    if hasattr(projection, "map"):
        # The other reading: a full (n·d) -> d map.
        weight, bias = projection.map.weight.data, projection.map.bias.data
        Y_tilde = torch.stack([weight @ Y.reshape(-1) + bias for Y in padded])
    else:
        w_proj = projection.weight.data
        Y_tilde = torch.stack([w_proj @ Y for Y in padded])
    E_2 = encoder(Y_tilde + sinusoids(range(len(session))), session_layers, R=R_)

    Y_hat = []
    for t, Y in enumerate(Y_1):
        C_t = torch.zeros(len(Y), len(session), dtype=DOUBLE)
        C_t[:, t] = 1
        Y_hat.append(C_t @ E_2)
    return torch.cat(Y_1), torch.cat(Y_hat)


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("projection", ["vector", "linear"])
@pytest.mark.parametrize("session", [EQUAL_LENGTHS, DIFFERENT_LENGTHS], ids=["equal", "different"])
def test_proposition_4_the_mtn_encoder(heads, projection, session):
    flags = f"--level-layers 2,2 --query-projection {projection}"
    model, query_layers, session_layers, _ = paper_model(flags, heads)
    Y_1, Y_hat = mtn_encoder(model, query_layers, session_layers, session, heads)
    whole = torch.cat(codes(model, [session])[0])
    for t in range(1, len(session) + 1):
        rows = sum(map(len, session[:t]))  # n·t(q), if all have n tokens
        M = selection(rows, len(Y_1))
        expected = psi(M @ (Y_1 + Y_hat))
        assert_close(M @ whole, expected, TOLERANCE)
        then = codes(model, [prefix(session, t)])[0]  # what was encoded when q was issued
        assert_close(torch.cat(then), expected, TOLERANCE)


# --- more levels: the same equations again --------------------------------------------------------


def nested(session, levels):
    """A session as nested lists of queries of depth `levels - 1`."""
    units = session
    for separators in ({SESSION, UNIT3}, {UNIT3})[: levels - 2]:
        groups = [[]]
        for unit in units:
            groups[-1].append(unit)
            last = unit
            while isinstance(last, list):
                last = last[-1]
            if last in separators:
                groups.append([])
        units = groups
    return units


class SlowEncoder:
    """The last query's codes, unit by unit, with one plain triangular mask per unit.

    It does not use `SessionLayout`: it splits a source by its separators and encodes each finished
    unit separately; only the end of the source is "now".
    """

    def __init__(self, encoder):
        self.encoder = encoder
        self.levels = len(encoder.levels) + 1

    def last_codes(self, session):
        with torch.no_grad():
            Y = self._query(session[-1])
            *lower, top = self._last_of_each_level(nested(session, self.levels), self.levels)
            if self.encoder.add_back == "every":
                for code, norm in zip(reversed(lower), list(self.encoder.norms)[:0:-1]):
                    top = norm(code + top)
            return self.encoder.norms[0](Y + top)

    def _query(self, query):
        query = torch.tensor([[*query[:-1], Q]])
        return stock(self.encoder.query_encoder)(query)["encoder_out"][0][:, 0]

    def _unit(self, parts, level):
        """The codes (parts, C) of a unit of this level; of its tokens at level 1."""
        if level == 1:
            return self._query(parts)
        encoder = self.encoder.levels[level - 2]
        x = torch.stack([self._project(self._unit(part, level - 1), level) for part in parts])
        if encoder.positions is not None:
            x = x + encoder.positions.table[: len(x)]
        x = x.unsqueeze(1)
        hidden = torch.ones(len(x), len(x)).triu(1).bool()
        for layer in encoder.layers:
            x = stock(layer)(x, encoder_padding_mask=None, attn_mask=hidden)
        return (encoder.final_norm(x) if encoder.final_norm is not None else x)[:, 0]

    def _project(self, parts, level):
        projection = self.encoder.projections[level - 2]
        padded = parts.new_zeros(projection.max_parts, parts.size(1))
        padded[: len(parts)] = parts
        if hasattr(projection, "map"):
            return projection.map(padded.reshape(-1))
        return projection.weight @ padded

    def _last_of_each_level(self, unit, level):
        """The codes of the unit in progress, levels 2, 3, …, bottom up."""
        lower = self._last_of_each_level(unit[-1], level - 1) if level > 2 else []
        return [*lower, self._unit(unit, level)[-1]]


@pytest.mark.parametrize("name", [name for name in MTN_MODELS if name != "1-level"])
def test_any_number_of_levels_is_the_same_recursion(name):
    model = build(*MTN_MODELS[name])[1]
    slowly = SlowEncoder(model.encoder)
    sessions = random_sessions(2, 12, least=3)
    # One by one, so that no session pads others to the full width of the projections.
    for session in sessions:
        whole = model.encoder.decoder_context == "session"
        shown = session if whole else session[-1:]
        (found,) = split_codes(encode(model, [session]), [shown])
        assert_close(found[-1], slowly.last_codes(session), TOLERANCE)
