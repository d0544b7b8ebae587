"""A ranker's trees as a graph: the same predictions as LightGBM, for any features."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from optional_parts import need_lightgbm

from mtn_preprocess.errors import InputError
from mtn_serving.bundle.tree_graph import tree_graph
from mtn_serving.ranker import import_lightgbm
from mtn_serving.trees import Trees

COLUMNS = 5
ROUNDS = 20


def fitted(seed, **options):
    """Trees fitted on columns of several kinds: with and without NaN, few values, constant."""
    need_lightgbm()
    lightgbm = import_lightgbm()
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(600, COLUMNS)).astype(np.float32)
    rows[rng.random(600) < 0.4, 0] = np.nan
    rows[:, 1] = rng.integers(0, 3, 600)
    rows[:, 2] = rng.integers(-1, 2, 600) * np.float32(1e-30)
    rows[:, 3] = 1
    wanted = (np.nan_to_num(rows[:, 0], nan=0.7) + rows[:, 1] + 1e30 * rows[:, 2] > 1).astype(float)
    data = lightgbm.Dataset(rows, wanted, group=[20] * 30, **options.pop("data", {}))
    settings = {"objective": "lambdarank", "num_leaves": 7, "min_data_in_leaf": 5, "verbosity": -1}
    return rows, lightgbm.train(
        {**settings, "seed": seed, "num_threads": 1, **options}, data, ROUNDS
    )


@lru_cache(maxsize=None)
def both(seed):
    rows, learner = fitted(seed)
    return rows, learner, Trees(tree_graph(learner), Path("trees.onnx"))


def thresholds(split):
    if "threshold" in split:
        yield split["missing_type"], split["threshold"]
        for side in ("left_child", "right_child"):
            yield from thresholds(split[side])


def test_the_examples_have_splits_of_both_kinds():
    for seed in (1, 2):
        dumped = both(seed)[1].dump_model()["tree_info"]
        kinds = {kind for tree in dumped for kind, _ in thresholds(tree["tree_structure"])}
        assert kinds == {"NaN", "None"}


NUMBERS = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, 2.0, 1e-30, -1e-30, np.nan])


@given(st.sampled_from([1, 2]), arrays(np.float32, (4, COLUMNS), elements=NUMBERS))
def test_predictions_equal_lightgbm(seed, rows):
    """Exactly in float32, the output type of the graph."""
    _, learner, trees = both(seed)
    expected = learner.predict(rows).astype(np.float32)
    assert trees.predict(rows).astype(np.float32).tolist() == expected.tolist()


def test_predictions_are_equal_at_every_threshold():
    """And at the next float32 on either side."""
    _, learner, trees = both(1)
    dumped = learner.dump_model()["tree_info"]
    values = {value for tree in dumped for _, value in thresholds(tree["tree_structure"])}
    at = np.array(sorted(values), np.float32)
    near = np.concatenate(
        [at, np.nextafter(at, np.float32(-np.inf)), np.nextafter(at, np.float32(np.inf))]
    )
    assert len(near) > 30
    for column in range(COLUMNS):
        rows = np.tile(both(1)[0][:1], (len(near), 1))
        rows[:, column] = near
        expected = learner.predict(rows).astype(np.float32)
        assert trees.predict(rows).astype(np.float32).tolist() == expected.tolist()


def test_trees_of_one_leaf_and_no_rows():
    _, learner = fitted(1, min_data_in_leaf=10_000)
    trees = Trees(tree_graph(learner), Path("trees.onnx"))
    assert trees.predict(np.zeros((2, COLUMNS), np.float32)).tolist() == [0, 0]
    assert both(1)[2].predict(np.zeros((0, COLUMNS), np.float32)).shape == (0,)


@pytest.mark.parametrize(
    "options", [{"zero_as_missing": True}, {"data": {"categorical_feature": [1]}}]
)
def test_splits_without_a_graph_are_refused(options):
    _, learner = fitted(1, **options)
    with pytest.raises(InputError, match=r"a split that no graph is made of .*; fit the ranker"):
        tree_graph(learner)


def test_an_invalid_graph():
    with pytest.raises(InputError, match=r"trees\.onnx: not for ONNX Runtime") as error:
        Trees(b"no graph", Path("trees.onnx"))
    assert "\n" not in str(error.value)
