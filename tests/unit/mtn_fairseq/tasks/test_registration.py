"""Everything registered, through argparse, hydra and back; and the sizes of the models."""

from argparse import Namespace
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path

import fairseq
import pytest
import torch
from fairseq import options
from fairseq.data import Dictionary
from fairseq.dataclass.initialize import add_defaults, hydra_init
from fairseq.dataclass.utils import convert_namespace_to_omegaconf, merge_with_parent
from fairseq.models import (
    ARCH_MODEL_REGISTRY,
    MODEL_DATACLASS_REGISTRY,
    MODEL_REGISTRY,
    build_model,
)
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY, setup_task
from hydra.core.global_hydra import GlobalHydra
from hydra.experimental import compose, initialize_config_dir
from omegaconf import OmegaConf
from sessions import (
    DATA,
    MTN_MODELS,
    OTHER_MODELS,
    SMALL,
    W,
    batch,
    build,
    parse,
    random_sessions,
    targets,
)

from mtn_fairseq.models.hlstm import HLSTMConfig, HLSTMModel, MNSRFModel
from mtn_fairseq.models.mtn import MTNConfig, MTNModel
from mtn_fairseq.models.seq2seq_attn import Seq2SeqAttnConfig, Seq2SeqAttnModel
from mtn_fairseq.models.transformer_session import (
    TransformerSessionConfig,
    TransformerSessionModel,
)
from mtn_fairseq.tasks.session_to_query import SessionToQueryConfig, SessionToQueryTask
from mtn_preprocess.errors import InputError
from mtn_report.registered import registered_architectures

# The options that an architecture sets; all others are the defaults of its model.
MTN_ARCHITECTURES = {
    "mtn": {},
    "mtn_tiny": {
        "level_layers": "2,1",
        "query_projection": "linear",
        "encoder_embed_dim": 128,
        "encoder_ffn_embed_dim": 256,
    },
    "mtn_aol": {
        "query_projection": "linear",
        "encoder_embed_dim": 512,
        "encoder_ffn_embed_dim": 1024,
        "encoder_attention_heads": 8,
    },
    "mtn_3level": {"level_layers": "3,2,1"},
    "mtn_small": {
        "level_layers": "2,1",
        "query_projection": "linear",
        "encoder_embed_dim": 192,
        "encoder_ffn_embed_dim": 384,
        "encoder_normalize_before": True,
        "decoder_normalize_before": True,
    },
}
ARCHITECTURES = {
    **MTN_ARCHITECTURES,
    "seq2seq_attn": {},
    "seq2seq_attn_aol": {},
    "seq2seq_attn_small": {"encoder_embed_dim": 192, "encoder_hidden_size": 200},
    "hlstm": {},
    "hlstm_aol": {},
    "hlstm_small": {"encoder_embed_dim": 192, "encoder_hidden_size": 174},
    "mnsrf": {},
    "mnsrf_aol": {},
    "mnsrf_small": {"encoder_embed_dim": 192, "encoder_hidden_size": 174},
    "transformer_session": {},
    "transformer_aol": {
        "encoder_embed_dim": 512,
        "encoder_ffn_embed_dim": 1024,
        "encoder_attention_heads": 8,
    },
    "transformer_small": {
        "encoder_layers": 3,
        "encoder_embed_dim": 192,
        "encoder_ffn_embed_dim": 384,
    },
}
MODELS = {
    "mtn": (MTNModel, MTNConfig),
    "seq2seq_attn": (Seq2SeqAttnModel, Seq2SeqAttnConfig),
    "hlstm": (HLSTMModel, HLSTMConfig),
    "mnsrf": (MNSRFModel, HLSTMConfig),
    "transformer_session": (TransformerSessionModel, TransformerSessionConfig),
}


def arguments(*flags, arch="mtn"):
    line = [str(DATA), "--task", "session_to_query", "--arch", arch, *flags]
    return options.parse_args_and_arch(options.get_training_parser(), line)


def test_registered():
    assert TASK_REGISTRY["session_to_query"] is SessionToQueryTask
    assert TASK_DATACLASS_REGISTRY["session_to_query"] is SessionToQueryConfig
    for name, (model, config) in MODELS.items():
        assert MODEL_REGISTRY[name] is model
        assert MODEL_DATACLASS_REGISTRY[name] is config
    assert set(ARCHITECTURES) == set(registered_architectures())
    for arch in ARCHITECTURES:
        assert ARCH_MODEL_REGISTRY[arch] is MODELS[model_of(arch)][0]


def model_of(arch):
    """`transformer_small` is a `transformer_session`, all others begin with their model's name."""
    return next((name for name in MODELS if arch.startswith(name)), "transformer_session")


def is_owned_elsewhere(field):
    return isinstance(field.default, str) and field.default.startswith("${")


def own_fields(dataclass):
    return [
        field
        for field in fields(dataclass)
        if not field.name.startswith("_") and not is_owned_elsewhere(field)
    ]


@pytest.mark.parametrize(
    "config", [*dict.fromkeys(config for _, config in MODELS.values()), SessionToQueryConfig]
)
def test_every_flag_has_help(config):
    for field in own_fields(config):
        assert len(field.metadata.get("help", "")) > 10, field.name


# --- every field through argparse and hydra -------------------------------------------------------


def other_value(field):
    """A value that is not the default."""
    special = {
        "level_layers": "2,1,1",
        "level_sizes": "9,8,7",
        "adaptive_softmax_cutoff": [9, 21],
        "encoder_embed_path": "some/path",
        "data": str(DATA),
        "eval_bleu_args": '{"beam": 2}',
        "eval_bleu_remove_bpe": "sentencepiece",
    }
    if field.name in special:
        return special[field.name]
    if isinstance(field.type, type) and issubclass(field.type, Enum):
        return next(option.value for option in field.type if option.value != field.default)
    if isinstance(field.default, bool):
        return not field.default
    if isinstance(field.default, int) or field.default is None:
        return (field.default or 0) + 3
    if isinstance(field.default, float):
        return 0.25
    return field.default + "x"


def other_values(dataclass):
    return {field.name: other_value(field) for field in own_fields(dataclass)}


def as_flags(dataclass, values):
    flags = []
    for field in own_fields(dataclass):
        value = values[field.name]
        if field.name == "data":
            continue  # it is not a flag
        flags.append("--" + field.name.replace("_", "-"))
        if isinstance(value, list):
            flags.append(",".join(map(str, value)))
        elif not isinstance(field.default, bool):  # otherwise the flag toggles it
            flags.append(str(value))
    return flags


def as_overrides(group, values):
    """hydra's command line; text is quoted, or `3,2` would be a sweep."""
    for name, value in values.items():
        text = "'{}'".format(value.replace("'", "\\'")) if isinstance(value, str) else value
        yield f"{group}.{name}={text}"


def from_hydra(*overrides):
    """The config that `fairseq-hydra-train` would start with."""
    hydra_init()
    GlobalHydra.instance().clear()
    with initialize_config_dir(config_dir=str(Path(fairseq.__file__).parent / "config")):
        config = compose("config", overrides=list(overrides))
    add_defaults(config)
    return config


def plain(value):
    value = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
    return value.value if isinstance(value, Enum) else value


def values_of(config, names):
    return {
        name: plain(config[name] if OmegaConf.is_config(config) else getattr(config, name))
        for name in names
    }


TASK = other_values(SessionToQueryConfig)


def test_other_values_are_other():
    """The control: no test below passes because a default was kept."""
    for dataclass in (*(config for _, config in MODELS.values()), SessionToQueryConfig):
        for field in own_fields(dataclass):
            default = field.default if field.default is not MISSING else None
            assert other_value(field) != default, field.name


@pytest.mark.parametrize("name", MODELS)
def test_every_flag_arrives_through_argparse(name):
    dataclass = MODELS[name][1]
    values = other_values(dataclass)
    flags = *as_flags(dataclass, values), *as_flags(SessionToQueryConfig, TASK)
    args = arguments(*flags, arch=name)
    assert values_of(args, values) == values
    assert values_of(args, TASK) == TASK
    assert_config(convert_namespace_to_omegaconf(args), dataclass, values)


@pytest.mark.parametrize("name", MODELS)
def test_every_field_arrives_through_hydra(name):
    dataclass = MODELS[name][1]
    values = other_values(dataclass)
    config = from_hydra(
        "task=session_to_query",
        f"model={name}",
        *as_overrides("model", values),
        *as_overrides("task", TASK),
    )
    assert config.model._name == name
    assert_config(config, dataclass, values)


def assert_config(config, dataclass, values):
    """The config has these values, also after fairseq reads it from a checkpoint."""
    assert values_of(config.model, values) == values
    assert values_of(config.task, TASK) == TASK
    for field in fields(dataclass):
        if is_owned_elsewhere(field):
            assert config.model[field.name] == config.task[field.name] == TASK[field.name]
    back = from_checkpoint(config)
    assert values_of(merge_with_parent(dataclass(), back.model), values) == values
    assert values_of(merge_with_parent(SessionToQueryConfig(), back.task), TASK) == TASK


def from_checkpoint(config):
    return OmegaConf.create(OmegaConf.to_container(config, resolve=True, enum_to_str=True))


def expected_of(arch):
    """All options of an architecture, by name."""
    dataclass = MODELS[model_of(arch)][1]
    defaults = {field.name: plain(field.default) for field in own_fields(dataclass)}
    return {**defaults, **ARCHITECTURES[arch]}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_named_architectures(arch):
    """As a config for hydra, and read from a checkpoint."""
    expected, dataclass = expected_of(arch), MODELS[model_of(arch)][1]
    args = arguments(arch=arch)
    assert values_of(dataclass.from_namespace(args), expected) == expected
    config = convert_namespace_to_omegaconf(args)
    assert config.model._name == arch
    assert values_of(config.model, expected) == expected
    back = from_checkpoint(config).model
    assert back._name == arch
    assert values_of(merge_with_parent(dataclass(), back), expected) == expected


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_flags_override_the_architecture(arch):
    """All options that it sets, except switches, which no flag turns off."""
    set_by_it = [name for name, value in ARCHITECTURES[arch].items() if value is not True]
    given = dict.fromkeys(["encoder_embed_dim", *set_by_it], "28")
    if "query_projection" in given:
        given["query_projection"] = "vector"
    flags = (f"--{name.replace('_', '-')}={value}" for name, value in given.items())
    args = arguments(*flags, arch=arch)
    assert {name: str(getattr(args, name)) for name in given} == given


def test_a_model_from_hydra_is_the_one_from_argparse():
    args = arguments(*SMALL.split(), "--level-layers", "1,2", "--query-projection", "linear")
    config = from_hydra(
        "task=session_to_query",
        f"task.data={DATA}",
        "model=mtn",
        "model.level_layers='1,2'",
        "model.query_projection=linear",
        "model.encoder_embed_dim=16",
        "model.encoder_ffn_embed_dim=24",
        "model.encoder_attention_heads=2",
    )
    one = setup_task(args).build_model(args)
    other = setup_task(config.task).build_model(config.model)
    assert shapes(one) == shapes(other)


def shapes(model):
    return {name: tuple(value.shape) for name, value in model.state_dict().items()}


# --- sizes ----------------------------------------------------------------------------------------


def words(count):
    dictionary = Dictionary()
    for i in range(len(dictionary), count):
        dictionary.add_symbol(f"w{i}")
    return dictionary


def untrained(arch, vocabulary, *flags):
    dictionary = words(vocabulary)
    task = Namespace(source_dictionary=dictionary, target_dictionary=dictionary, separators=[4, 5])
    config = MTNConfig.from_namespace(arguments(*flags, arch=arch))
    return MTNModel.build_model(config, task)


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


def test_a_word_adds_its_embedding_its_output_weights_and_its_bias():
    small, large = (size(untrained("mtn_tiny", words)) for words in (100, 150))
    assert large - small == 50 * (2 * 128 + 1)


def test_paper_size():
    """101,684,540 with V = 76,604. Built with few words, to save 400 MB."""
    few = 1000
    found = size(untrained("mtn_aol", few)) + (76_604 - few) * (2 * 512 + 1)
    assert abs(found - 101_684_540) / 101_684_540 < 0.001
    assert found == paper_size_by_hand(76_604)


def paper_size_by_hand(V, C=512, F=1024, n=12):
    """3 query, 2 session and 3 decoder layers; the same on every version of fairseq."""
    norm = 2 * C
    attention = 4 * (C * C + C)
    feed_forward = (C * F + F) + (F * C + C)
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    projection = n * C * C + C
    words = V * C + (V * C + V)
    return words + 5 * encoder_layer + projection + norm + 3 * decoder_layer


def test_tying_saves_the_output_layer():
    own, tied = (
        size(untrained("mtn_tiny", 100, *flags))
        for flags in ([], ["--share-decoder-input-output-embed"])
    )
    assert own - tied == 100 * 128 + 100


@pytest.mark.parametrize("name", MTN_MODELS)
def test_levels_share_no_parameters(name):
    model = build(*MTN_MODELS[name])[1]
    places = {}
    for key, value in model.state_dict().items():
        places.setdefault(value.data_ptr(), []).append(key)
    shared = {frozenset(keys) for keys in places.values() if len(keys) > 1}
    embedding = {"encoder.query_encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
    if "--share-decoder-input-output-embed" in MTN_MODELS[name][1]:
        embedding.add("decoder.output_projection.weight")
    assert shared == {frozenset(embedding)}


@pytest.mark.parametrize(
    "flags, decoder_layers",
    [("--level-layers 3,1", 3), ("--level-layers 3,1 --decoder-layers 2", 2)],
)
def test_as_many_decoder_layers_as_query_layers(flags, decoder_layers):
    model = build("mtn", f"{SMALL} {flags}")[1]
    assert len(model.encoder.query_encoder.layers) == 3
    assert [len(level.layers) for level in model.encoder.levels] == [1]
    assert len(model.decoder.layers) == decoder_layers


# --- training -------------------------------------------------------------------------------------

MTN_OPTIONS = {
    **{name: flags for name, (_, flags) in MTN_MODELS.items()},
    "no positions": f"{SMALL} --level-layers 1,1,1 --no-token-positional-embeddings",
    "gelu": f"{SMALL} --level-layers 1,1 --activation-fn gelu --no-scale-embedding",
    "dropouts": f"{SMALL} --level-layers 1,1 --attention-dropout 0.1 --activation-dropout 0.1",
    "layerdrop": f"{SMALL} --level-layers 2,1 --encoder-layerdrop 0.01 --decoder-layerdrop 0.01",
    "decoder": f"{SMALL} --level-layers 1,1 --decoder-layers 2 --decoder-ffn-embed-dim 20 "
    "--decoder-attention-heads 4",
    "quant noise": f"{SMALL} --level-layers 1,1 --quant-noise-pq 0.1",
    "checkpointed": f"{SMALL} --level-layers 1,1,1 --checkpoint-activations",
    "adaptive": f"{SMALL} --level-layers 1,1 --adaptive-softmax-cutoff 10,20",
}
OPTIONS = {**{name: ("mtn", flags) for name, flags in MTN_OPTIONS.items()}, **OTHER_MODELS}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_parameter_learns(name):
    """With any options, the loss depends on every parameter."""
    args = parse(*OPTIONS[name])
    torch.manual_seed(1)
    model = setup_task(args).build_model(args).train()
    sessions = random_sessions(1, 16, least=4)
    out = model(*batch(sessions), targets(2, 16))
    if "adaptive" in name:
        words_, _ = model.decoder.adaptive_softmax(out[0], torch.arange(80).view(16, 5) % 30)
        loss = sum(part.logsumexp(1).sum() for part in words_)
    else:
        loss = model.get_normalized_probs(out, log_probs=True)[..., W:].pow(2).sum()
    loss.backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        # The bias of keys shifts all scores of a row equally, which softmax ignores.
        assert parameter.grad.abs().sum() > 0 or key.endswith("k_proj.bias"), key


def test_checkpointed_activations_change_no_gradient():
    flags = f"{SMALL} --level-layers 1,1,1 --dropout 0"
    gradients = []
    for more in ("", " --checkpoint-activations"):
        args = parse("mtn", flags + more)
        torch.manual_seed(1)
        model = setup_task(args).build_model(args).train()
        model(*batch(random_sessions(1, 4)), targets(2, 4))[0].pow(2).sum().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    for plain_one, checkpointed in zip(*gradients):
        assert torch.allclose(plain_one, checkpointed, rtol=1e-4, atol=1e-5)


# --- invalid configurations -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags, message",
    [
        ("--level-layers 3,x", "--level-layers '3,x' is not a list"),
        ("--level-layers 1,1 --level-sizes 5", "2 levels.*1 in --level-sizes; give a size"),
        ("--level-layers 1,1,1,1,1 --level-sizes 5,5,5,5,5", "5 levels.*separators for 4; "),
    ],
)
def test_levels_that_do_not_match(flags, message):
    args = arguments(*flags.split())
    task = setup_task(args)
    with pytest.raises(InputError, match=message):
        task.build_model(args)


def test_a_task_without_separators():
    task = Namespace(source_dictionary=words(9), target_dictionary=words(9))
    with pytest.raises(InputError, match="--task session_to_query"):
        build_model(arguments(), task)


@pytest.mark.parametrize(
    "flags", [["--truncate-source"], ["--load-alignments"], ["--num-batch-buckets", "2"]]
)
def test_flags_that_do_not_fit_session_data(flags):
    with pytest.raises(InputError, match=f"^{flags[0]} is not for session data; "):
        setup_task(arguments(*flags))


def save_dictionary(path, words):
    dictionary = Dictionary()
    for word in words:
        dictionary.add_symbol(word)
    dictionary.save(str(path))


def test_folders_that_do_not_fit(tmp_path):
    args = arguments()
    args.data = str(tmp_path)
    with pytest.raises(InputError, match=r"no dict\.session\.txt; run fairseq-preprocess"):
        setup_task(args)
    for language in ("session", "next"):
        save_dictionary(tmp_path / f"dict.{language}.txt", ["a", "b"])
    with pytest.raises(InputError, match=r"dict\.session\.txt: no <q> in the dictionary"):
        setup_task(args)
    save_dictionary(tmp_path / "dict.session.txt", ["<q>", "a", "b"])
    with pytest.raises(InputError, match=r"different dictionaries; .*--joined-dictionary"):
        setup_task(args)


def test_part_of_a_checkpoint_loads_if_not_strict():
    _, model = build("mtn", SMALL)
    state = {name: weight for name, weight in model.state_dict().items() if "norms" not in name}
    with pytest.raises(SystemExit, match="another architecture"):
        model.load_state_dict(dict(state))
    assert "encoder.norms.0.weight" in model.load_state_dict(state, strict=False).missing_keys
