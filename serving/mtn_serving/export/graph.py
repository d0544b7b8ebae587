"""Build an ONNX graph node by node; values are identified by name."""

from pathlib import Path
from typing import Any, List, Optional, Sequence, Union

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

Shape = Sequence[Union[int, str]]  # numbers, or names of variable sizes

FLOAT, INTEGER = TensorProto.FLOAT, TensorProto.INT64
OPSET = 17  # has LayerNormalization; onnxruntime 1.19, the last for Python 3.9, supports it
_IR_VERSION = 8
_MICROSOFT = "com.microsoft"  # onnxruntime's own operators, in every build


class Graph:
    """A graph under construction.

    Args:
        int8: whether weights of matrices take one byte each
    """

    def __init__(self, int8: bool = False) -> None:
        self.int8 = int8
        self._nodes: List[onnx.NodeProto] = []
        self._weights: List[onnx.TensorProto] = []
        self._inputs: List[onnx.ValueInfoProto] = []
        self._outputs: List[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Shape, kind: int = FLOAT) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Shape, kind: int = FLOAT) -> None:
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def weights(self, array: Union[Tensor, np.ndarray, Sequence[int]]) -> str:
        """A constant: weights in single precision or one byte, or integers such as sizes."""
        numbers = array.detach().numpy() if isinstance(array, Tensor) else np.asarray(array)
        if numbers.dtype != np.int8:
            kind = np.float32 if numbers.dtype.kind == "f" else np.int64
            numbers = numbers.astype(kind)
        numbers = np.ascontiguousarray(numbers)
        name = f"weights_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(numbers, name))
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """A node with one output."""
        return self.ops(kind, *inputs, outputs=1, domain=domain, **attributes)[0]

    def ops(
        self, kind: str, *inputs: str, outputs: int, domain: str = "", **attributes: Any
    ) -> List[str]:
        names = [f"{kind}_{len(self._nodes)}_{place}" for place in range(outputs)]
        name = f"{kind}_{len(self._nodes)}"
        node = helper.make_node(kind, inputs, names, name=name, domain=domain, **attributes)
        self._nodes.append(node)
        return names

    def split(self, x: str, sizes: Sequence[int], axis: int) -> List[str]:
        return self.ops("Split", x, self.weights(sizes), outputs=len(sizes), axis=axis)

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """Reshape; 0 keeps a size, -1 infers it."""
        return self.op("Reshape", x, self.weights(shape))

    def linear(self, x: str, weight: Tensor, bias: Optional[Tensor] = None) -> str:
        """(…, I) -> (…, O), with torch's weight (O, I)"""
        if self.int8:
            return self._linear_int8(x, weight, bias)
        x = self.op("MatMul", x, self.weights(weight.t()))
        return x if bias is None else self.op("Add", x, self.weights(bias))

    def _linear_int8(self, x: str, weight: Tensor, bias: Optional[Tensor]) -> str:
        """Round weights to 255 steps per column, and x to 256 steps per call, by its extremes."""
        scale = weight.detach().abs().amax(1).clamp_min(1e-12) / 127
        rounded = (weight.detach() / scale.unsqueeze(1)).round().to(torch.int8).t()
        inputs = [x, self.weights(rounded), self.weights(scale)]
        if bias is not None:
            inputs += ["", self.weights(bias)]
        return self.microsoft("DynamicQuantizeMatMul", *inputs)

    def norm(self, x: str, norm: Any) -> str:
        """torch's LayerNorm; x itself if `norm` is None"""
        if norm is None:
            return x
        scale, shift = self.weights(norm.weight), self.weights(norm.bias)
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=norm.eps)

    def attention(
        self, heads: int, query: str, key: str, value: str, bias: str, *past: str
    ) -> List[str]:
        """softmax(Q Kᵀ / √d + bias) V as one node: in small models, the cost is per node.

        Args:
            query: (B, N, C)
            key, value: (B, N, C), or (B, H, S, C/H) for a fixed source
            bias: (B, H, N, S); onnxruntime 1.19 ignores masks and a bias shared by all heads
            past: earlier keys and values (B, H, P, C/H); the second and third result are then the
                extended ones
        """
        inputs = [query, key, value, "", "", bias, *past]
        return self.ops(
            "MultiHeadAttention",
            *inputs,
            outputs=3 if past else 1,
            domain=_MICROSOFT,
            num_heads=heads,
        )

    def attention_weights(self, heads: int, size: int, query: str, key: str, bias: str) -> str:
        """The weights alone, averaged over heads: (B, N, N)

        Args:
            size: channels per head
            query, key: (B, N, C)
            bias: (B, H, N, N)
        """
        query, key = (self.reshape(each, [0, 0, heads, size]) for each in (query, key))
        query = self.op("Transpose", query, perm=[0, 2, 1, 3])
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 2, 3, 1]))
        scores = self.op("Mul", scores, self.weights(np.array(size**-0.5)))
        weights = self.op("Softmax", self.op("Add", scores, bias), axis=-1)
        return self.op("ReduceMean", weights, axes=[1], keepdims=0)

    def microsoft(self, kind: str, *inputs: str) -> str:
        return self.op(kind, *inputs, domain=_MICROSOFT)

    def save(self, path: Path) -> None:
        """Write two files: the graph, and its weights, which are memory-mapped on opening."""
        graph = helper.make_graph(
            self._nodes, path.stem, self._inputs, self._outputs, self._weights
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(_MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        onnx.save_model(
            model,
            str(path),
            save_as_external_data=True,
            all_tensors_to_one_file=True,
            location=f"{path.stem}.weights",
        )
