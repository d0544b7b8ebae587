"""The level-1 encoder: fairseq's own Transformer encoder, one query a row."""

from fairseq.distributed import fsdp_wrap
from fairseq.models.transformer import TransformerConfig, TransformerEncoderBase
from fairseq.modules.checkpoint_activations import checkpoint_wrapper
from fairseq.modules.transformer_layer import TransformerEncoderLayerBase
from torch import nn

_FAST_PATH_WEIGHTS = [
    f"{part}_{kind}"
    for part in ("in_proj", "out_proj", "fc1", "fc2")
    for kind in ("weight", "bias")
]


class EncoderLayer(TransformerEncoderLayerBase):
    """fairseq's layer without the fast path of 0.12.2.

    That path is taken in eval mode only and drops attention masks: a masked level would train well
    and leak later queries at generation. It also keeps a second copy of all weights as parameters;
    without them a checkpoint is the same on both versions of fairseq.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__(cfg)
        self.can_use_fastpath = False
        for name in _FAST_PATH_WEIGHTS:
            self._parameters.pop(name, None)

    # 0.12.2 overrides it to fill the second copy.
    _load_from_state_dict = nn.Module._load_from_state_dict


class QueryEncoder(TransformerEncoderBase):
    """Also the maker of the layers of every level, so that all are of one kind."""

    def build_encoder_layer(self, cfg: TransformerConfig) -> nn.Module:
        layer = EncoderLayer(cfg)
        if cfg.checkpoint_activations:
            layer = checkpoint_wrapper(layer, offload_to_cpu=cfg.offload_activations)
        return fsdp_wrap(
            layer, min_num_params=0 if cfg.checkpoint_activations else cfg.min_params_to_wrap
        )
