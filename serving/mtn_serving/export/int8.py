"""Weights of one byte: a quarter of the memory, which is what a large output layer waits for."""

import tempfile
from pathlib import Path

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic

from .graph import save_model, weights_of


def weights_of_one_byte(path: Path) -> None:
    """Replace a graph by one whose products take weights of one byte, a scale per column.

    What is multiplied by them is rounded to one byte, too, by the largest number of each call.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        quantized = Path(folder) / path.name
        quantize_dynamic(
            str(path),
            str(quantized),
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
        model = onnx.load(str(quantized))
    path.with_name(weights_of(path)).unlink(missing_ok=True)
    save_model(model, path)
