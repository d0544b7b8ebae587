"""The compared systems, as flags of fairseq-train."""

from typing import Dict, List, NamedTuple, Optional

MTN = "mtn"
MTN_QUERY = "mtn, context query"
MTN_FAIRSEQ_SEARCH = "mtn, fairseq's search"
MTN_FROZEN = "mtn, frozen weights"
PADDED = "mtn, padded"
PADDED_ALIKE = "mtn, padded, like batches"
PADDED_LOGITS = "mtn, padded, logits too"
MTN_ADAPTIVE = "mtn, adaptive softmax"
UNROLLED = "mtn, unrolled"
UNROLLED_ADAPTIVE = "mtn, adaptive softmax, unrolled"
STOCK = "stock transformer"
STOCK_LSTM = "stock lstm"
HLSTM = "hlstm"
MTN_COPYING = "mtn, copying"
FLAT = "transformer_session"
FLAT_COPYING = "transformer_session, copying"
SEQ2SEQ = "seq2seq_attn"
SEQ2SEQ_COPYING = "seq2seq_attn, copying"
# A simpler computation of a model -> the optimised one, to measure the speed-up.
PLAINER_THAN = {
    PADDED: MTN,
    PADDED_ALIKE: MTN,
    PADDED_LOGITS: MTN,
    UNROLLED: MTN,
    UNROLLED_ADAPTIVE: MTN_ADAPTIVE,
    MTN_FAIRSEQ_SEARCH: MTN,
}
WITHOUT_COPYING = {MTN_COPYING: MTN, FLAT_COPYING: FLAT, SEQ2SEQ_COPYING: SEQ2SEQ}

PAIRS = 128  # per training batch, for all systems
TIED = ["--share-decoder-input-output-embed"]  # one embedding table, as in stock


class Size(NamedTuple):
    """Sizes of a model.

    Args:
        width: channels C
        lstm: channels per direction of `hlstm`, for equally many parameters outside the embeddings
        stock_lstm: channels of fairseq's `lstm`, chosen in the same way
    """

    width: int
    lstm: int
    stock_lstm: int


SIZES = {5_000: Size(128, 143, 292), 20_000: Size(256, 286, 584), 76_000: Size(512, 572, 1168)}


def flags_of(
    system: str,
    vocabulary: int,
    size: Size,
    pairs_per_session: int,
    levels: str = "3,2",
    level_sizes: str = "12,40",
    pairs: Optional[int] = None,
) -> List[str]:
    """The flags of a system: architecture, sizes, batches.

    Args:
        pairs_per_session: batches of whole sessions have this many times fewer rows
        levels: Transformer layers per level of `mtn`; the decoder has as many as the first level
        pairs: per batch
    """
    pairs = pairs or PAIRS
    sessions = ["--batch-size", str(max(pairs // pairs_per_session, 1))]
    heads = str(max(4, size.width // 64))
    mtn = ["--arch", "mtn", "--level-layers", levels, "--level-sizes", level_sizes]
    mtn += ["--encoder-embed-dim", str(size.width), "--encoder-ffn-embed-dim", str(2 * size.width)]
    mtn += ["--encoder-attention-heads", heads, "--optimizer", "fused_adam"]
    mtn += ["--query-projection", "linear"]  # as in the paper
    one_by_one = ["--session-parallel", "never", "--batch-size", str(pairs)]
    adaptive = ["--adaptive-softmax-cutoff", f"{vocabulary // 20},{vocabulary // 5}"]
    adaptive += ["--criterion", "adaptive_loss", "--ddp-backend", "legacy_ddp"]
    # Enough for sources of 32 queries; nothing is cut in the benchmark's sessions.
    long = ["--max-source-positions", "1024"]
    each: Dict[str, List[str]] = {
        MTN: [*mtn, *TIED, *sessions],
        MTN_FAIRSEQ_SEARCH: [*mtn, *TIED, *sessions],
        MTN_FROZEN: [*mtn, *TIED, *sessions],
        PADDED: [*mtn, *TIED, *sessions, "--arch", "mtn_padded", "--train-batches", "random"],
        MTN_QUERY: [*mtn, *TIED, *sessions, "--decoder-context", "query"],
        MTN_ADAPTIVE: [*mtn, *sessions, *adaptive],
        UNROLLED_ADAPTIVE: [*mtn, *one_by_one, *adaptive],
        UNROLLED: [*mtn, *TIED, *one_by_one],
        STOCK: _stock(size.width, heads, pairs),
        STOCK_LSTM: [
            *("--task", "translation", "--arch", "lstm", "--share-all-embeddings"),
            *("--encoder-embed-dim", str(size.width), "--decoder-embed-dim", str(size.width)),
            *("--encoder-hidden-size", str(size.stock_lstm // 2), "--encoder-bidirectional"),
            *("--decoder-hidden-size", str(size.stock_lstm)),
            *("--decoder-out-embed-dim", str(size.width), "--batch-size", str(pairs)),
            *("--criterion", "cross_entropy", "--optimizer", "adam"),
        ],
        HLSTM: [
            *("--arch", "hlstm", "--encoder-embed-dim", str(size.width)),
            *("--encoder-hidden-size", str(size.lstm), "--optimizer", "fused_adam", *sessions),
        ],
    }
    each[PADDED_ALIKE] = [*each[PADDED], "--train-batches", "alike"]
    each[PADDED_LOGITS] = [*each[PADDED], "--arch", "mtn_padded_logits"]
    flat = ["--arch", "transformer_session", "--encoder-layers", "6", "--decoder-layers", "3"]
    flat += ["--encoder-embed-dim", str(size.width)]
    flat += ["--encoder-ffn-embed-dim", str(2 * size.width), "--encoder-attention-heads", heads]
    each[FLAT] = [*flat, *TIED, "--optimizer", "fused_adam", "--batch-size", str(pairs)]
    each[SEQ2SEQ] = ["--arch", "seq2seq_attn", "--encoder-embed-dim", str(size.width)]
    each[SEQ2SEQ] += ["--encoder-hidden-size", str(size.lstm), "--optimizer", "fused_adam"]
    each[SEQ2SEQ] += ["--batch-size", str(pairs)]
    for copying, same in WITHOUT_COPYING.items():
        each[copying] = [*each[same], "--copy-attention"]
    return [*each[system], *long]


def _stock(width: int, heads: str, pairs: int) -> List[str]:
    """fairseq's own task, batching, loss and optimizer, with as many parameters as `mtn`.

    The encoder of `mtn` with 3 + 2 layers and 12 words per query has 52 C² parameters (8 C² per
    layer, 12 C² in the projection), like 6 layers with a slightly wider feed-forward part.
    """
    encoder = ["--encoder-layers", "6", "--encoder-embed-dim", str(width)]
    encoder += ["--encoder-ffn-embed-dim", str(round(width * 7 / 3))]
    decoder = ["--decoder-layers", "3", "--decoder-embed-dim", str(width)]
    decoder += ["--decoder-ffn-embed-dim", str(2 * width)]
    attention = ["--encoder-attention-heads", heads, "--decoder-attention-heads", heads]
    common = ["--task", "translation", "--arch", "transformer", "--share-all-embeddings"]
    common += ["--batch-size", str(pairs), "--criterion", "cross_entropy", "--optimizer", "adam"]
    return [*common, *encoder, *decoder, *attention]
