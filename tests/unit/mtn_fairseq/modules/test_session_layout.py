"""The structure of a batch, worked out by hand; and the projections that rely on it."""

import pytest
import torch
from sessions import EOS, MTN_MODELS, PAD, SEPARATORS, SESSION, UNIT3, Q, W, build, encode, make

from mtn_fairseq.modules.masked_level import MaskedLevel, UnitPositions
from mtn_fairseq.modules.session_layout import LevelView, SessionLayout
from mtn_fairseq.modules.unit_projection import LinearProjection, VectorProjection, parts_so_far

A, B, C, D, E, F, X, Y = range(W, W + 8)

# A history of two sessions of two queries each, and a source of one query.
HISTORY = [A, B, Q, C, SESSION, D, E, Q, F, EOS]
ALONE = [X, Y, EOS]
LEFT = torch.tensor([HISTORY, [PAD] * 7 + ALONE])
RIGHT = torch.tensor([HISTORY, ALONE + [PAD] * 7])


@pytest.fixture(params=[LEFT, RIGHT], ids=["left", "right"])
def src_tokens(request):
    return request.param


@pytest.fixture
def layout(src_tokens):
    return SessionLayout(src_tokens, [Q, SESSION], PAD)


def test_queries_and_rows(layout):
    assert layout.queries.tolist() == [4, 1]
    assert layout.last_row.tolist() == [3, 4]
    assert layout.token_source.tolist() == [0] * 10 + [1] * 3
    assert layout.query_source.tolist() == [0] * 4 + [1]
    assert layout.token_row.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4]
    assert layout.token_position.tolist() == [0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 0, 1, 2]
    assert layout.slots_exist.tolist() == [[True] * 4, [True, False, False, False]]


def test_rows_are_padded_on_the_right(layout, src_tokens):
    assert layout.rows(src_tokens[src_tokens.ne(PAD)], PAD).tolist() == [
        [A, B, Q],
        [C, SESSION, PAD],
        [D, E, Q],
        [F, EOS, PAD],
        [X, Y, EOS],
    ]


def test_rank_of_the_end_of_each_query(layout):
    """1 for `<q>`, 2 for `<session>`, 0 for the last query and for padding."""
    assert layout.end_rank.tolist() == [[1, 2, 1, 0], [0, 0, 0, 0]]


def test_flat_puts_tokens_back(layout, src_tokens):
    tokens = src_tokens[src_tokens.ne(PAD)].unsqueeze(-1)
    assert layout.flat(tokens).squeeze(-1).equal(src_tokens.masked_fill(src_tokens.eq(PAD), 0))


def test_slots(layout):
    queries = torch.tensor([[10.0], [20.0], [30.0], [40.0], [50.0]])
    assert layout.slots(queries).squeeze(-1).tolist() == [[10, 20, 30, 40], [50, 0, 0, 0]]


def test_two_levels_see_all_earlier_queries(layout):
    """Whichever separator ends them: at the top level the whole source is one unit."""
    position, visible = layout.level(2, top=True)
    assert position[0].tolist() == [0, 1, 2, 3]
    assert position[1, 0] == 0
    assert visible[0].int().tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 1, 1],
    ]
    assert visible[1, 0].int().tolist() == [1, 0, 0, 0]


def test_three_levels_see_queries_of_the_session_then_sessions(layout):
    queries, sessions = layout.level(2, top=False), layout.level(3, top=True)
    assert queries.position[0].tolist() == [0, 1, 0, 1]
    assert queries.visible[0].int().tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 1, 1],
    ]
    assert sessions.position[0].tolist() == [0, 0, 1, 1]
    # The state of its last query represents an earlier session.
    assert sessions.visible[0].int().tolist() == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 1, 1, 0],
        [0, 1, 0, 1],
    ]
    assert (queries.position[1, 0], sessions.position[1, 0]) == (0, 0)


def test_four_levels():
    """A higher separator ends all units below it."""
    source = torch.tensor([[A, Q, B, UNIT3, C, SESSION, D, EOS]])
    layout = SessionLayout(source, SEPARATORS, PAD)
    assert layout.end_rank.tolist() == [[1, 3, 2, 0]]
    two, three, four = (layout.level(level, top=level == 4) for level in (2, 3, 4))
    assert two.position.tolist() == [[0, 1, 0, 0]]
    assert three.position.tolist() == [[0, 0, 0, 1]]
    assert four.position.tolist() == [[0, 0, 1, 1]]
    assert two.visible[0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert three.visible[0].int().tolist() == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 1, 1],
    ]
    assert four.visible[0].int().tolist() == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 1, 1, 0],
        [0, 1, 0, 1],
    ]


def test_parts_so_far(layout):
    """At each query, the queries of its session so far."""
    codes = torch.tensor([[[10.0], [20.0], [30.0], [40.0]], [[50.0], [7.0], [7.0], [7.0]]])
    parts = parts_so_far(codes, layout.level(2, top=False)).squeeze(-1)
    assert parts[0].tolist() == [[10, 0], [10, 20], [30, 0], [30, 40]]
    assert parts[1, 0].tolist() == [50, 0]


# --- projections ----------------------------------------------------------------------------------


def test_vector_projection_by_hand():
    projection = VectorProjection(3)
    projection.weight.data = torch.tensor([1.0, 2.0, 4.0])
    two_parts = torch.tensor([[1.0, 10.0], [2.0, 20.0]])
    assert projection(two_parts).tolist() == [1 * 1 + 2 * 2, 1 * 10 + 2 * 20]
    three_parts = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    assert projection(three_parts).tolist() == [5 + 4 * 3, 50 + 4 * 30]
    both = torch.stack([three_parts, torch.zeros(3, 2)])
    assert projection(both).tolist() == [[17, 170], [0, 0]]


def test_linear_projection_by_hand():
    projection = LinearProjection(2, 2)
    projection.map.weight.data = torch.tensor([[1.0, 0.0, 0.0, 1.0], [2.0, 0.0, 1.0, 0.0]])
    projection.map.bias.data = torch.tensor([0.5, -1.0])
    two_parts = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert projection(two_parts).tolist() == [1 + 4 + 0.5, 2 * 1 + 3 - 1]
    assert projection(two_parts[:1]).tolist() == [1 + 0.5, 2 * 1 - 1]


@pytest.mark.parametrize("projection", [VectorProjection(5), LinearProjection(5, 4)])
def test_padding_contributes_exactly_zero(projection):
    parts = torch.randn(7, 3, 4, dtype=torch.float64)
    projection = projection.double()
    padded = torch.cat([parts, torch.zeros(7, 2, 4, dtype=torch.float64)], 1)
    assert (projection(padded) - projection(parts)).abs().max() < 1e-15
    # The control: the missing parts have weights.
    assert (projection(padded + 1) - projection(padded)).abs().min() > 0


@pytest.mark.parametrize("projection", [VectorProjection(2), LinearProjection(2, 4)])
def test_too_many_parts(projection):
    with pytest.raises(ValueError, match=r"3 parts per unit.* built for 2 .*--level-sizes"):
        projection(torch.zeros(1, 3, 4))


def test_too_many_units():
    level = MaskedLevel("queries per session", 2, None, torch.nn.ModuleList(), dropout=0.0)
    visible = torch.ones(1, 3, 3).tril().bool()
    view = LevelView(torch.tensor([[0, 1, 2]]), visible)
    with pytest.raises(ValueError, match=r"3 queries per session.* built for 2 .*--level-sizes"):
        level(torch.zeros(1, 3, 4), view)


@pytest.mark.parametrize(
    "session",
    [
        make([[W] * 6], []),  # 7 tokens with the end; the limit is 6
        make([[W]] * 7, [Q] * 6),  # 7 queries per session; the limit is 6
        make([[W]] * 5, [SESSION] * 4),  # 5 sessions; the limit is 4
    ],
    ids=["tokens", "queries", "sessions"],
)
def test_a_session_too_large_for_the_model_is_an_error(session):
    model = build(*MTN_MODELS["4-level"])[1]
    with pytest.raises(ValueError, match="--level-sizes"):
        encode(model, [session])


def test_positions():
    learned = UnitPositions(5, 4, learned=True)
    assert isinstance(learned.table, torch.nn.Parameter)
    found = learned(torch.tensor([[3, 0]]))
    assert found.equal(learned.table[[3, 0]].unsqueeze(0))
    fixed = UnitPositions(5, 4, learned=False)
    assert not list(fixed.parameters())
    assert not fixed.state_dict()  # computed, so not in checkpoints
    # sin and cos of the position at the rates 1 and 1/10,000
    expected = [torch.tensor([3.0, 3e-4]).sin(), torch.tensor([3.0, 3e-4]).cos()]
    assert torch.allclose(fixed(torch.tensor([[3]]))[0, 0], torch.cat(expected))
