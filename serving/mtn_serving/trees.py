"""The trees of a ranker as a graph that ONNX Runtime runs, without LightGBM.

Importing LightGBM costs 2 s and 190 MB, most of it scikit-learn.
"""

from pathlib import Path

import numpy as np
import onnxruntime

from mtn_preprocess.errors import InputError

INPUT, OUTPUT = "features", "scores"
_ERRORS_ONLY = 3


class Trees:
    """Makes the same predictions as LightGBM, up to float32 precision. Thread-safe.

    Args:
        graph: made by `bundle.tree_graph`
        path: of the graph, for messages
    """

    def __init__(self, graph: bytes, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        # A list has tens of candidates: a second thread costs more time than it saves.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        try:
            self._session = onnxruntime.InferenceSession(
                graph, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # ONNX Runtime's exceptions share no other base class
            reason = f"not for ONNX Runtime {onnxruntime.__version__} ({_first_line(error)})"
            raise InputError(reason, "export it again, or install a newer one", path) from None

    def predict(self, features: np.ndarray) -> np.ndarray:
        """(candidates, features) -> (candidates,)"""
        rows = np.asarray(features, dtype=np.float64)
        (scores,) = self._session.run([OUTPUT], {INPUT: rows})
        return scores[:, 0].astype(np.float64)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
