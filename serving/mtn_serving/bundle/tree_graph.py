"""LightGBM's trees as one ONNX graph: every candidate reaches the same leaves.

Thresholds and features are compared in float64, as in LightGBM; leaves are summed in float64, and
the sum is returned in float32. LightGBM's rules for a split `x <= threshold`:

    missing_type NaN     NaN goes to the default side
    missing_type None    NaN counts as 0
    missing_type Zero    0 and NaN go to the default side: only with `zero_as_missing`, refused here

LightGBM treats features up to 1e-35 (in float32) as 0, so thresholds in that range are moved out.
"""

from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper

from mtn_preprocess.errors import InputError

from ..trees import INPUT, OUTPUT

# The newest versions that every ONNX Runtime for Python 3.9 to 3.13 supports.
_IR_VERSION, _OPSET, _ML_OPSET = 8, 17, 3
_BRANCH, _LEAF = "BRANCH_LEQ", "LEAF"
_ZERO = float(np.float32(1e-35))
_REFIT = "fit the ranker again with mtn-fit-ranker"


class _Node(NamedTuple):
    """A node of a tree; nodes are numbered from 0 in each tree."""

    feature: int = 0
    threshold: float = 0.0
    mode: str = _LEAF
    left: int = 0
    right: int = 0
    missing_goes_left: bool = False
    value: float = 0.0  # the output of a leaf


def tree_graph(learner: Any) -> bytes:
    """Args:
    learner: LightGBM's Booster
    """
    dumped = learner.dump_model(num_iteration=-1)
    if dumped.get("average_output") or dumped["num_tree_per_iteration"] != 1:
        raise InputError("a learner that is no sum of trees", _REFIT)
    trees = [_nodes(tree["tree_structure"]) for tree in dumped["tree_info"]]
    model = _model(trees, dumped["max_feature_idx"] + 1)
    checker.check_model(model)
    return model.SerializeToString()


def _nodes(root: Dict[str, Any]) -> List[_Node]:
    """The nodes of one tree, root first."""
    nodes: List[_Node] = []
    _add(root, nodes)
    return nodes


def _add(split: Dict[str, Any], nodes: List[_Node]) -> int:
    """Append a subtree and return its number. Trees have about 30 leaves, so recursion is safe."""
    number = len(nodes)
    if "leaf_value" in split:
        nodes.append(_Node(value=split["leaf_value"]))
        return number
    nodes.append(_branch(split))
    left, right = (_add(split[side], nodes) for side in ("left_child", "right_child"))
    nodes[number] = nodes[number]._replace(left=left, right=right)
    return number


def _branch(split: Dict[str, Any]) -> _Node:
    if split["decision_type"] != "<=" or split["missing_type"] not in ("NaN", "None"):
        kind = f"{split['decision_type']}, missing type {split['missing_type']}"
        raise InputError(f"a split that no graph is made of ({kind})", _REFIT)
    threshold = float(split["threshold"])
    if abs(threshold) <= _ZERO:
        threshold = _ZERO if threshold >= 0 else float(np.nextafter(-_ZERO, -1))
    missing_goes_left = split["default_left"] if split["missing_type"] == "NaN" else threshold >= 0
    return _Node(split["split_feature"], threshold, _BRANCH, 0, 0, bool(missing_goes_left))


def _model(trees: List[List[_Node]], features: int) -> ModelProto:
    ensemble = helper.make_node(
        "TreeEnsembleRegressor",
        [INPUT],
        [OUTPUT],
        domain="ai.onnx.ml",
        n_targets=1,
        **_attributes(trees),
    )
    rows = helper.make_tensor_value_info(INPUT, TensorProto.DOUBLE, [None, features])
    scores = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [None, 1])
    return helper.make_model(
        helper.make_graph([ensemble], "ranker", [rows], [scores]),
        ir_version=_IR_VERSION,
        opset_imports=[
            helper.make_opsetid("", _OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ],
        producer_name="mtn-export",
    )


def _attributes(trees: List[List[_Node]]) -> Dict[str, Any]:
    """The nodes of all trees, concatenated."""
    placed = list(_placed(trees))
    leaves = [each for each in placed if each[2].mode == _LEAF]
    nodes = [node for _, _, node in placed]
    return {
        "nodes_treeids": [tree for tree, _, _ in placed],
        "nodes_nodeids": [number for _, number, _ in placed],
        "nodes_featureids": [node.feature for node in nodes],
        "nodes_modes": [node.mode for node in nodes],
        "nodes_values_as_tensor": _doubles([node.threshold for node in nodes]),
        "nodes_truenodeids": [node.left for node in nodes],
        "nodes_falsenodeids": [node.right for node in nodes],
        "nodes_missing_value_tracks_true": [int(node.missing_goes_left) for node in nodes],
        "target_treeids": [tree for tree, _, _ in leaves],
        "target_nodeids": [number for _, number, _ in leaves],
        "target_ids": [0] * len(leaves),
        "target_weights_as_tensor": _doubles([node.value for _, _, node in leaves]),
    }


def _placed(trees: List[List[_Node]]) -> Iterator[Tuple[int, int, _Node]]:
    """Yield (number of the tree, number of the node, node)."""
    for tree, nodes in enumerate(trees):
        for number, node in enumerate(nodes):
            yield tree, number, node


def _doubles(values: List[float]) -> TensorProto:
    return numpy_helper.from_array(np.array(values, dtype=np.float64))
