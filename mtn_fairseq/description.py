"""What the task needs to know about a model."""

from typing import List, NamedTuple, Optional


class ModelDescription(NamedTuple):
    """The defaults describe fairseq's own architectures."""

    levels: int = 2  # 2: reads a session; 3: also the earlier sessions of the same person
    level_sizes: Optional[List[int]] = None  # maximum sizes; None: no limit
    max_source_positions: Optional[int] = None  # maximum tokens per source; None: no limit
    source_context: str = "session"  # reads the whole `session` or only its `last` query
    reads_whole_sessions: bool = False  # can train on all pairs of a session in one pass
    copies: bool = False  # copies words of the source, including out-of-vocabulary words
    skips_padding: bool = False  # its layers receive real tokens only
    packs_logits: bool = False  # can return the logits of real tokens only
    inference_only: bool = False  # loaded from a checkpoint, not trained here
