"""What the task must know of a model."""

from typing import List, NamedTuple, Optional


class ModelDescription(NamedTuple):
    """Its defaults are true of fairseq's own architectures."""

    levels: int = 2  # 2: reads a session; 3: also the earlier sessions of the same person
    level_sizes: Optional[List[int]] = None  # built for these; None: any
    max_source_positions: Optional[int] = None  # likewise
    source_context: str = "session"  # what is read of a source, or its `last` query
    reads_whole_sessions: bool = False  # learns all pairs of a session in one pass
    copies: bool = False  # also words that the dictionary does not have
    skips_padding: bool = False  # layers are given real tokens only
    packs_logits: bool = False  # can be asked for logits of real tokens only
    inference_only: bool = False  # loaded from a checkpoint, not trained here
