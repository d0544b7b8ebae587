"""Models of every exported kind, in both engines, and sessions as input."""

import copy
import io
import random
import tempfile
from functools import lru_cache
from pathlib import Path

import sentencepiece
import torch
from fairseq import options, tasks
from sessions import (
    COPYING_MODELS,
    DICTIONARY,
    MTN_MODELS,
    OTHER_MODELS,
    SEPARATORS,
    SMALL,
    build,
    flat,
    random_sessions,
)

from mtn_fairseq.data.session_dictionary import SessionDictionary
from mtn_preprocess.text.word_pieces import MODEL, PieceEncoder
from mtn_serving.export.export_model import write_model
from mtn_serving.onnx_engine.exported_model import ExportedModel
from mtn_serving.torch_engine.trained_model import TrainedModel

_OTHER_FLAGS = {
    "gelu": (
        "mtn",
        f"{SMALL} --level-layers 1,2 --activation-fn gelu --decoder-attention-heads 4"
        " --decoder-layers 2 --decoder-ffn-embed-dim 20 --no-scale-embedding",
    ),
    "no-positions": (
        "transformer_session",
        f"{SMALL} --encoder-layers 1 --activation-fn gelu_accurate --decoder-layers 2"
        " --no-token-positional-embeddings --share-decoder-input-output-embed",
    ),
    "copying-linear": (
        "mtn",
        f"{SMALL} --level-layers 1,1,1 --query-projection linear --copy-attention"
        " --encoder-normalize-before --activation-fn gelu_fast --layernorm-embedding",
    ),
    "copying-1-level": ("mtn", f"{SMALL} --level-layers 1 --copy-attention --activation-fn tanh"),
}
EXPORTED = {
    **MTN_MODELS,
    **{name: kind for name, kind in OTHER_MODELS.items() if "transformer" in name},
    **{name: kind for name, kind in COPYING_MODELS.items() if "seq2seq" not in name},
    **_OTHER_FLAGS,
}

_FOLDERS = tempfile.TemporaryDirectory(prefix="mtn-exported-")  # removed when the tests end


def export(model, task, int8=False, shortlist=0):
    folder = Path(tempfile.mkdtemp(dir=_FOLDERS.name))
    write_model(model, task, folder, int8, shortlist)
    return folder


@lru_cache(maxsize=None)
def engines(name, int8=False):
    """(torch's, onnxruntime's) engine of one model, whose large weights make hypotheses differ."""
    task, model = build(*EXPORTED[name])
    model = _restless(model)
    return TrainedModel(model, task), ExportedModel.load(export(model, task, int8))


def _restless(model, seed=1):
    model = copy.deepcopy(model).float().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model


def session_lines(seed, count, unknown=0.2):
    """Sessions of up to four levels as prepared text, with some out-of-vocabulary words."""
    rng = random.Random(seed)

    def word(token):
        is_word = token not in SEPARATORS
        return f"new{rng.randrange(6)}" if is_word and rng.random() < unknown else DICTIONARY[token]

    sessions = random_sessions(seed, count)
    return [" ".join(map(word, flat(session)[:-1])) for session in sessions]


# --- word pieces ----------------------------------------------------------------------------------

PIECE_WORDS = {"flight": 30, "flights": 20, "hotels": 9, "hotel": 8, "paris": 3, "london": 2}


@lru_cache(maxsize=None)
def engines_in_pieces():
    """The same for a dictionary of word pieces."""
    data = Path(tempfile.mkdtemp(dir=_FOLDERS.name))
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(f"{word}\t{count}" for word, count in PIECE_WORDS.items()),
        input_format="tsv",
        model_writer=model,
        vocab_size=24,
        character_coverage=1.0,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    (data / MODEL).write_bytes(model.getvalue())
    dictionary = SessionDictionary()
    for piece in ("<q>", "<session>", *PieceEncoder(data / MODEL).pieces()):
        dictionary.add_symbol(piece, n=1)
    for language in ("session", "next"):
        dictionary.save(str(data / f"dict.{language}.txt"))
    line = f"{data} --task session_to_query --arch mtn {SMALL} --level-layers 1,1 --copy-attention"
    args = options.parse_args_and_arch(options.get_training_parser(), line.split())
    task = tasks.setup_task(args)
    torch.manual_seed(1)
    built = _restless(task.build_model(args))
    return TrainedModel(built, task), ExportedModel.load(export(built, task))


def lines_in_words(seed, count):
    rng = random.Random(seed)
    words = [*PIECE_WORDS, "hoξtel", "ξ"]

    def query():
        return " ".join(rng.choice(words) for _ in range(rng.randint(1, 2)))

    return [" <q> ".join(query() for _ in range(rng.randint(1, 3))) for _ in range(count)]


# --- comparing ------------------------------------------------------------------------------------

TOLERANCE = 1e-4


def torch_hypotheses(trained, lines, beam):
    """(text, score) of each hypothesis of the plugin's generator."""
    sources = trained.sources(lines)
    generator = trained.beam_search(beam).generator
    found = trained.task.inference_step(generator, [trained.model], sources)
    words = sources["unknown_words"]
    return [
        [(trained.text(each["tokens"], words), each["score"].item()) for each in beam]
        for beam in found
    ]


def onnx_hypotheses(exported, lines, beam):
    sources = exported.sources(lines)
    vocabulary = exported.vocabulary
    return [
        [
            (vocabulary.text(source.words_of(each.columns, vocabulary)), each.score)
            for each in hypotheses
        ]
        for hypotheses, source in zip(exported.hypotheses(sources, beam), sources.sources)
    ]


def texts_of(found):
    return [each.texts for each in found]


def assert_same_hypotheses(found, expected):
    """The same texts in the same order, except where scores are equal."""
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert [score for _, score in ours] == [
            score if abs(score - other) < TOLERANCE else other
            for (_, score), (_, other) in zip(ours, theirs)
        ], (ours, theirs)
        assert len(ours) == len(theirs)
        for place, (text, score) in enumerate(ours):
            near = {other for other, their_score in theirs if abs(score - their_score) < TOLERANCE}
            is_last = abs(score - theirs[-1][1]) < TOLERANCE  # a tie at the end of the list
            assert text in near or is_last, (place, ours, theirs)
