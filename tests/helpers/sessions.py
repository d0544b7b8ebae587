"""Models through fairseq's own path, and sessions to feed them.

A session is a list of queries. A query is a list of token indices; the last one is its end: `<q>`,
`<session>` or `<unit3>` if another query follows, otherwise `</s>`. Only `batch` creates flat
sources, so a test can refer to "query 2" without counting tokens.
"""

import random
import tempfile
from functools import lru_cache
from pathlib import Path

import torch
from fairseq import options, tasks
from fairseq.data import Dictionary, data_utils
from fairseq.models.transformer import TransformerDecoderBase, TransformerEncoderBase
from fairseq.modules.transformer_layer import TransformerEncoderLayerBase
from hypothesis import strategies as st

import mtn_fairseq  # noqa: F401  (registers the task and the models)

WORDS = 24
SIZES = (6, 6, 4, 3)  # --level-sizes of every model here
MAX_QUERY_TOKENS = SIZES[0] - 1  # without its end
MAX_QUERIES = 6

SMALL = (
    "--encoder-embed-dim 16 --encoder-ffn-embed-dim 24 --encoder-attention-heads 2 --dropout 0.1"
)

# name -> (architecture, flags). All read data of up to four levels.
MTN_MODELS = {
    "1-level": ("mtn", f"{SMALL} --level-layers 2"),
    "2-level": ("mtn", f"{SMALL} --level-layers 2,2"),
    "3-level": ("mtn", f"{SMALL} --level-layers 1,2,1 --query-projection linear"),
    "4-level": ("mtn", f"{SMALL} --level-layers 1,1,1,1"),
    "linear": ("mtn", f"{SMALL} --level-layers 1,1,1 --query-projection linear"),
    "top": ("mtn", f"{SMALL} --level-layers 1,1,1 --add-back top"),
    "last-query": ("mtn", f"{SMALL} --level-layers 1,1 --decoder-context query"),
    "last-query-3": (
        "mtn",
        f"{SMALL} --level-layers 1,1,1 --decoder-context query --query-projection linear "
        "--add-back top",
    ),
    "pre-norm": (
        "mtn",
        f"{SMALL} --level-layers 1,1,1 --encoder-normalize-before --decoder-normalize-before",
    ),
    "learned": (
        "mtn",
        f"{SMALL} --level-layers 1,1,1 --encoder-learned-pos --decoder-learned-pos "
        "--layernorm-embedding --share-decoder-input-output-embed",
    ),
}
_LSTM = "--encoder-embed-dim 12 --encoder-hidden-size 8 --dropout 0.1"
_FLAT = f"{SMALL} --encoder-layers 2"
OTHER_MODELS = {
    "seq2seq": ("seq2seq_attn", _LSTM),
    "seq2seq-last": ("seq2seq_attn", f"{_LSTM} --source-context last"),
    "hlstm": ("hlstm", _LSTM),
    "mnsrf": ("mnsrf", _LSTM),
    "transformer": ("transformer_session", _FLAT),
    "transformer-last": ("transformer_session", f"{_FLAT} --source-context last"),
    "transformer-post-norm": ("transformer_session", f"{_FLAT} --post-norm"),
}
# Models that copy; test_copying.py also tests them with unknown words.
COPYING_MODELS = {
    "copying": ("mtn", f"{SMALL} --level-layers 2,1 --copy-attention"),
    "copying-last-query": (
        "mtn",
        f"{SMALL} --level-layers 1,1,1 --decoder-context query --copy-attention",
    ),
    "copying-3-level": ("mtn", f"{SMALL} --level-layers 1,1,1 --copy-attention"),
    "copying-transformer": ("transformer_session", f"{_FLAT} --copy-attention"),
    "copying-transformer-last": (
        "transformer_session",
        f"{_FLAT} --source-context last --copy-attention",
    ),
    "copying-seq2seq": ("seq2seq_attn", f"{_LSTM} --copy-attention"),
    "copying-seq2seq-last": ("seq2seq_attn", f"{_LSTM} --source-context last --copy-attention"),
}
# Tests of properties of all encoders that read sessions use this list.
ALL_MODELS = {**MTN_MODELS, **OTHER_MODELS, **COPYING_MODELS}


# --- dictionary, task, model ----------------------------------------------------------------------


def _dictionary():
    """Data of four levels."""
    dictionary = Dictionary()
    for word in ("<q>", "<session>", "<unit3>", *(f"w{i}" for i in range(WORDS))):
        dictionary.add_symbol(word, n=1)
    return dictionary


DICTIONARY = _dictionary()
_FOLDER = tempfile.TemporaryDirectory(prefix="mtn-unit-")  # removed when the tests end
DATA = Path(_FOLDER.name)
for _language in ("session", "next"):
    DICTIONARY.save(str(DATA / f"dict.{_language}.txt"))


def parse(arch, flags=""):
    """Parse a `fairseq-train` command line as fairseq does (without hydra, which is slow)."""
    sizes = ",".join(map(str, SIZES))
    line = f"{DATA} --task session_to_query --arch {arch} --level-sizes {sizes} "
    return options.parse_args_and_arch(options.get_training_parser(), (line + flags).split())


@lru_cache(maxsize=None)
def build(arch, flags="", seed=1):
    """(task, model): as read from a checkpoint, for generation, in double precision.

    No weight has a special value: biases and the padding's embedding are not zero, gains not one,
    so that nothing cancels by chance. The weights are loaded, because fairseq 0.12.2 takes its fast
    path, without masks, only after loading.
    """
    args = parse(arch, flags)
    task = tasks.setup_task(args)
    torch.manual_seed(seed)
    trained, model = task.build_model(args), task.build_model(args)
    with torch.no_grad():
        for parameter in trained.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.load_state_dict(trained.state_dict())
    return task, model.double().eval()


# --- sessions -------------------------------------------------------------------------------------

PAD, EOS = DICTIONARY.pad(), DICTIONARY.eos()
SEPARATORS = [DICTIONARY.index(word) for word in ("<q>", "<session>", "<unit3>")]
Q, SESSION, UNIT3 = SEPARATORS
W = DICTIONARY.index("w0")  # the words are W … W + WORDS - 1


def words(rng, least=1, most=MAX_QUERY_TOKENS):
    return [W + rng.randrange(WORDS) for _ in range(rng.randint(least, most))]


def make(texts, ends):
    """Queries and the separators between them -> a session."""
    return [[*text, end] for text, end in zip(texts, [*ends, EOS])]


def random_session(rng, least=1, most=MAX_QUERIES, separators=SEPARATORS):
    """Nested in any way that `SIZES` allow; two thirds of the ends are plain `<q>`."""
    count = rng.randint(least, most)
    ends = [Q if rng.random() < 0.6 else rng.choice(separators) for _ in range(count - 1)]
    ends = _within_sizes(ends)
    return make([words(rng) for _ in range(count)], ends)


def _within_sizes(ends):
    """Replace separators by lower ones where a unit would have too many parts."""
    kept = []
    for end in ends:
        while end != Q and _units(kept, end) >= SIZES[SEPARATORS.index(end) + 1] - 1:
            end = SEPARATORS[SEPARATORS.index(end) - 1]
        kept.append(end)
    return kept


def _units(ends, separator):
    higher = SEPARATORS[SEPARATORS.index(separator) + 1 :]
    count = 0
    for end in ends:
        count = 0 if end in higher else count + (end == separator)
    return count


def random_sessions(seed, count, **options):
    rng = random.Random(seed)
    return [random_session(rng, **options) for _ in range(count)]


session_strategy = st.integers(0, 2**32).map(lambda seed: random_session(random.Random(seed)))


def prefix(session, queries):
    """The source just after its query number `queries` was issued."""
    *before, last = session[:queries]
    return [*before, [*last[:-1], EOS]]


def flat(session):
    return [token for query in session for token in query]


def batch(sessions, left_pad=True, extra_pad=0):
    """(src_tokens (B, T), src_lengths (B,)), as `LanguagePairDataset` collates them."""
    rows = [torch.tensor(flat(session)) for session in sessions]
    lengths = torch.tensor([len(row) for row in rows])
    width = int(lengths.max()) + extra_pad
    tokens = data_utils.collate_tokens(rows, PAD, EOS, left_pad=left_pad, pad_to_length=width)
    return tokens, lengths


# --- running a model ------------------------------------------------------------------------------


def targets(seed, count, length=5):
    """prev_output_tokens (B, length): `</s>`, then words."""
    rng = random.Random(seed)
    return torch.tensor([[EOS, *words(rng, length - 1, length - 1)] for _ in range(count)])


def logits(model, sessions, prev_output_tokens, **padding):
    """(B, targets, V)"""
    with torch.no_grad():
        src_tokens, src_lengths = batch(sessions, **padding)
        return outputs(model, model(src_tokens, src_lengths, prev_output_tokens))


def outputs(model, net_output):
    """Logits; for a model that copies log probabilities, as its mixture has no logits."""
    if not model.copies:
        return net_output[0]
    return model.get_normalized_probs(net_output, log_probs=True)


def encoder_out_of(model, src_tokens, src_lengths):
    """The encoder's output as fairseq's generator requests it."""
    return model.encoder.forward_torchscript({"src_tokens": src_tokens, "src_lengths": src_lengths})


def encode(model, sessions, **padding):
    """The encoder's output for fairseq's generator."""
    with torch.no_grad():
        return encoder_out_of(model, *batch(sessions, **padding))


def stock(part):
    """fairseq's encoder, decoder or encoder layer with the weights of ours."""
    if isinstance(part, TransformerDecoderBase):
        own = TransformerDecoderBase(
            part.cfg, part.dictionary, part.embed_tokens, False, part.output_projection
        )
    elif isinstance(part, TransformerEncoderBase):
        own = TransformerEncoderBase(part.cfg, part.dictionary, part.embed_tokens)
    else:
        own = TransformerEncoderLayerBase(part.cfg)
        own.can_use_fastpath = False  # 0.12.2: it drops masks
    own.load_state_dict(part.state_dict(), strict=False)  # ours may have a pointer
    return own.to(next(part.parameters())).eval()


def codes(model, sessions, **padding):
    """For each session, the codes (tokens, C) of each query."""
    return split_codes(encode(model, sessions, **padding), sessions)


def split_codes(encoder_out, sessions):
    out = encoder_out["encoder_out"][0].transpose(0, 1)
    real = ~encoder_out["encoder_padding_mask"][0]
    return [
        out[b][real[b]].split([len(query) for query in session])
        for b, session in enumerate(sessions)
    ]


def context_codes(model, sessions, **padding):
    """For each session, all codes that the decoder may attend to, without padding."""
    encoder_out = encode(model, sessions, **padding)
    out = encoder_out["encoder_out"][0].transpose(0, 1)
    masks = encoder_out.get("encoder_padding_mask") or [torch.zeros(out.shape[:2]).bool()]
    real = ~masks[0]
    return [out[b][real[b]] for b in range(len(sessions))]


# fairseq's decoder computes the softmax of its source attention in single precision.
LOGIT_TOLERANCE = 1e-5


def assert_close(found, expected, tolerance=1e-9):
    assert found.shape == expected.shape, (found.shape, expected.shape)
    difference = (found - expected).abs().max().item() if found.numel() else 0.0
    assert difference <= tolerance, f"off by {difference}"


TRANSFORMERS = [
    name
    for name, (arch, flags) in ALL_MODELS.items()
    if isinstance(build(arch, flags)[1].decoder, TransformerDecoderBase)
]
