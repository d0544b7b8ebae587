"""`session_to_query`: given the queries of a session so far, generate the next one."""

import logging
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Type

import numpy as np
import torch
from fairseq import utils
from fairseq.data import Dictionary, FairseqDataset
from fairseq.data.iterators import EpochBatchIterator
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.sequence_generator import SequenceGenerator
from fairseq.sequence_scorer import SequenceScorer
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from torch import Tensor

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import (
    QUERY_SEPARATOR,
    join_units,
    without_open_query,
)
from mtn_preprocess.text.text_checks import check_session
from mtn_preprocess.text.text_settings import NAME as SETTINGS
from mtn_preprocess.text.text_settings import read_settings
from mtn_preprocess.text.word_pieces import MODEL, has_pieces

from ..copying.hypotheses import columns_of, put_words
from ..data.batching import ALIKE, Batching
from ..data.binarised import load_pairs
from ..data.open_lines import OpenLines
from ..data.padding import describe_batches
from ..data.session_dictionary import (
    SessionDictionary,
    build_session_dictionary,
    find_separators,
    fingerprint,
    load_session_dictionary,
    readable,
)
from ..data.session_sentencepiece import SessionSentencepiece, SessionSentencepieceConfig
from ..data.session_to_query_dataset import SessionSource, SessionToQueryDataset, TokenLines
from ..data.spelled_words import UnknownWords
from ..data.typed_lines import TypedLines
from ..data.whole_sessions import WholeSessionDataset
from ..description import ModelDescription
from ..flags import one_int_per_level
from ..generation.narrow_beam_search import NarrowSequenceGenerator
from ..generation.without_unknown import (
    Hypotheses,
    drop_unknown,
    forbid_unknown,
    forbids_unknown,
)

logger = logging.getLogger(__name__)


@dataclass
class SessionToQueryConfig(TranslationConfig):
    source_lang: str = field(
        default="session",
        metadata={"help": "ending of the session files", "argparse_alias": "-s"},
    )
    target_lang: str = field(
        default="next",
        metadata={"help": "ending of the next-query files", "argparse_alias": "-t"},
    )
    level_sizes: str = field(
        default="12,10,5",
        metadata={
            "help": "most tokens per query (its end counted), queries per session, sessions per "
            "history, …, bottom up: what a model is built for"
        },
    )
    oversize: ChoiceEnum(["truncate", "refuse"]) = field(  # type: ignore[valid-type]
        default="truncate",
        metadata={
            "help": "what to do with sources larger than --level-sizes or --max-source-positions: "
            "'truncate' drops the oldest queries, and last words of a query that is too long by "
            "itself, and logs how often; 'refuse' stops with the line"
        },
    )
    session_parallel: ChoiceEnum(["auto", "always", "never"]) = field(  # type: ignore[valid-type]
        default="auto",
        metadata={
            "help": "train on whole sessions, all their pairs in one pass, which gives the same "
            "loss and gradients in less time: 'auto': if the architecture can; 'never' reads "
            "the pairs as they stand in the data. Validation and test always do"
        },
    )
    train_batches: ChoiceEnum(  # type: ignore[valid-type]
        ["auto", "random", "alike", "by-queries"]
    ) = field(
        default="auto",
        metadata={
            "help": "examples of a training batch: 'random' ones, so that a model learns more; "
            "'alike' in shape, with less padding; 'by-queries': random ones of the same number of "
            "queries, as in the paper; 'auto': random where padding costs nothing, else alike"
        },
    )
    beam_stop: ChoiceEnum(["likeliest", "first"]) = field(  # type: ignore[valid-type]
        default="likeliest",
        metadata={
            "help": "when beam search ends: 'likeliest': when nothing unfinished is likelier than "
            "the --beam hypotheses found; 'first': when --beam hypotheses have ended, as in "
            "fairseq, which often misses the likeliest. Searches with prefixes, constraints, "
            "several models and the like are fairseq's own"
        },
    )
    generate_unknown: bool = field(
        default=False,
        metadata={
            "help": "let suggestions contain <unk>, which the paper's way of scoring needs; by "
            "default none does, and --unkpen has no effect"
        },
    )


# Flags of the translation task that do not fit session data.
_UNSUPPORTED = {
    "truncate_source": "it would drop the newest query; use --oversize truncate",
    "load_alignments": "there are no alignments between sessions and next queries",
    "num_batch_buckets": "sessions are batched by shape already",
}


_DICTIONARY = "dictionary"  # key of the dictionary's fingerprint in the state of the task


@register_task("session_to_query", dataclass=SessionToQueryConfig)
class SessionToQueryTask(TranslationTask):
    """Session data for any architecture: `mtn` splits it into queries, others read it flat."""

    cfg: SessionToQueryConfig

    def __init__(self, cfg: SessionToQueryConfig, src_dict: Dictionary, tgt_dict: Dictionary):
        super().__init__(cfg, src_dict, tgt_dict)
        for flag, reason in _UNSUPPORTED.items():
            if getattr(cfg, flag):
                raise InputError(f"--{flag.replace('_', '-')} is not for session data", reason)
        self.model = ModelDescription()  # until a model is built
        self.batches_described = False  # log the description only once
        self.lines_answered = 0  # fairseq-interactive numbers the lines of each buffer from 0
        self.dictionary_file = Path(utils.split_paths(cfg.data)[0]) / f"dict.{cfg.source_lang}.txt"
        self.settings_file = self.dictionary_file.with_name(SETTINGS)
        self.text_settings = read_settings(
            self.settings_file.parent
        )  # as fairseq-preprocess found them
        self.separators: List[int] = find_separators(src_dict, str(self.dictionary_file))
        self.state.merge_state_dict({_DICTIONARY: fingerprint(src_dict)})  # fairseq saves it
        if src_dict != tgt_dict:
            raise InputError(
                "sessions and next queries have different dictionaries",
                "binarise with --joined-dictionary",
                cfg.data,
            )
        self.unknown_words = UnknownWords()
        for dictionary in (src_dict, tgt_dict):
            if isinstance(dictionary, SessionDictionary):  # other dictionaries show `<unk>`
                dictionary.unknown_words = self.unknown_words
        self.in_pieces = has_pieces(src_dict.symbols)
        if self.in_pieces and cfg.eval_bleu_remove_bpe is None:
            cfg.eval_bleu_remove_bpe = "sentencepiece"  # --eval-bleu should compare words

    @classmethod
    def setup_task(cls, cfg: SessionToQueryConfig, **kwargs: object) -> "SessionToQueryTask":
        folder = Path(utils.split_paths(cfg.data)[0])
        for language in (cfg.source_lang, cfg.target_lang):
            if not (folder / f"dict.{language}.txt").is_file():
                raise InputError(
                    f"no dict.{language}.txt", "run fairseq-preprocess into this folder", folder
                )
        return super().setup_task(cfg, **kwargs)

    @classmethod
    def load_dictionary(cls, filename: str) -> Dictionary:
        return load_session_dictionary(filename)

    @classmethod
    def build_dictionary(
        cls,
        filenames: Iterable[str],
        workers: int = 1,
        threshold: int = -1,
        nwords: int = -1,
        padding_factor: int = 8,
    ) -> Dictionary:
        return build_session_dictionary(filenames, workers, threshold, nwords, padding_factor)

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self.check_state_dict(state_dict)
        super().load_state_dict(state_dict)

    def check_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Refuse the state of another dictionary's task; older checkpoints have no fingerprint."""
        ours = self.state_dict()[_DICTIONARY]
        if state_dict.get(_DICTIONARY, ours) != ours:
            raise InputError(
                "not the dictionary that the checkpoint was trained with",
                "use the data folder of that training, or binarise the new text with --srcdict and "
                "its dictionary",
                self.dictionary_file,
            )

    def load_dataset(
        self, split: str, epoch: int = 1, combine: bool = False, **kwargs: object
    ) -> None:
        folders = utils.split_paths(self.cfg.data)
        # Shards are for training; validation and test data are in the first folder.
        shard = (epoch - 1) % len(folders) if split == self.cfg.train_subset else 0
        languages = self.cfg.source_lang, self.cfg.target_lang
        source, target = load_pairs(
            folders[shard], split, languages, self.src_dict, self.cfg.dataset_impl, combine
        )
        prefix = Path(folders[shard]) / f"{split}.{'-'.join(languages)}"
        training = split == self.cfg.train_subset and not self.model.inference_only
        source, target = (self.open(lines, self.unknown_words) for lines in (source, target))
        if not training:
            source.learn_words()
            target.learn_words()
        pairs = SessionToQueryDataset(
            self._session_source(source, f"{prefix}.{languages[0]}"),
            self.src_dict,
            target,
            name=f"{prefix}.{languages[1]}",
            left_pad_source=self.cfg.left_pad_source,
            left_pad_target=self.cfg.left_pad_target,
            shuffle=split != "test",
            pad_to_multiple=self.cfg.required_seq_len_multiple,
            batching=self._batching() if training else ALIKE,
        )
        whole = self.trains_whole_sessions and split == self.cfg.train_subset
        self.datasets[split] = WholeSessionDataset(pairs) if whole else pairs
        if whole:
            logger.info(f"{prefix}: {len(pairs)} pairs of {len(self.datasets[split])} sessions")

    def get_batch_iterator(
        self,
        dataset: FairseqDataset,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
        max_positions: Optional[Tuple[int, int]] = None,
        **options: Any,
    ) -> EpochBatchIterator:
        if isinstance(dataset, WholeSessionDataset):
            dataset.split_to_fit(max_tokens, max_positions)
        batches = super().get_batch_iterator(
            dataset, max_tokens, max_sentences, max_positions, **options
        )
        if dataset is self.datasets.get(self.cfg.train_subset) and not self.batches_described:
            if not batches.frozen_batches:
                raise InputError(
                    f"no pair of the training data fits into --max-tokens {max_tokens}", "raise it"
                )
            rows = [dataset.row_lengths(np.asarray(batch)) for batch in batches.frozen_batches]
            remark = ", processed by attention only" if self.model.skips_padding else ""
            logger.info(f"training: {describe_batches(rows)}{remark}")
            self.batches_described = True
        return batches

    def get_interactive_tokens_and_lengths(
        self, lines: List[str], encode_fn: Callable[[str], str]
    ) -> Tuple[List[Tensor], List[int]]:
        """For fairseq-interactive, which must answer the lines after an invalid one.

        A line that is not a session is reported and becomes an empty line of length 0, see
        `inference_step`. A separator at the end of a line is ignored, as in mtn-suggest.
        """
        encoded = [without_open_query(readable(encode_fn(line), self.src_dict)) for line in lines]
        tokens, lengths = super().get_interactive_tokens_and_lengths(encoded, lambda line: line)
        for place, line in enumerate(encoded):
            before = self.lines_answered + place
            try:
                check_session(line, Path("input"), before + 1)
                opened = self.open([tokens[place]], self.unknown_words)
                self._session_source(opened, "input", lines_before=before, quiet=True)
            except InputError as error:
                logger.warning(f"no suggestions: {error}")
                tokens[place], lengths[place] = torch.tensor([self.src_dict.eos()]), 0
        return tokens, lengths

    def build_dataset_for_inference(
        self,
        src_tokens: List[Tensor],
        src_lengths: List[int],
        constraints: Optional[Tensor] = None,
        unknown_words: Optional[UnknownWords] = None,
    ) -> SessionToQueryDataset:
        """fairseq's method, for sessions.

        Args:
            unknown_words: learns the unknown words; default: those that the task's dictionary shows
        """
        if unknown_words is None:
            unknown_words = self.unknown_words
            unknown_words.forget_if_many()
        lines = self.open(src_tokens, unknown_words).learn_words()
        no_sessions = [place for place, length in enumerate(src_lengths) if not length]
        if constraints is not None:
            no_sessions += self._refuse_unknown_constraints(src_tokens, constraints)
        source = self._session_source(
            lines, "input", lines_before=self.lines_answered, no_sessions=no_sessions
        )
        self.lines_answered += len(src_tokens)
        return SessionToQueryDataset(source, self.src_dict, constraints=constraints)

    def _refuse_unknown_constraints(
        self, src_tokens: List[Tensor], constraints: Tensor
    ) -> List[int]:
        """Empty the lines of fairseq-interactive whose --constraints have an unknown word.

        Args:
            constraints: packed by fairseq: each row has a number and the tokens
        """
        refused = constraints[:, 1:].eq(self.tgt_dict.unk()).any(1).nonzero().flatten().tolist()
        for place in refused:
            logger.warning(
                f"no suggestions: input:{self.lines_answered + place + 1}: a constraint has a word "
                "that is not in the dictionary; take it out"
            )
            src_tokens[place] = torch.tensor([self.src_dict.eos()])
            constraints[place] = 0
        return refused

    def build_model(
        self, cfg: FairseqDataclass, from_checkpoint: bool = False
    ) -> FairseqEncoderDecoderModel:
        model = super().build_model(cfg, from_checkpoint)
        described = getattr(model, "description", ModelDescription())
        if str(self.cfg.session_parallel) == "always" and not described.reads_whole_sessions:
            raise InputError(
                "this architecture cannot train on whole sessions: its codes of a query change "
                "with the queries after it",
                "leave out --session-parallel always",
            )
        # With several models, data must fit the smallest.
        longest = min(model.max_positions()[0], self.model.max_source_positions or sys.maxsize)
        self.model = described._replace(
            max_source_positions=longest, inference_only=from_checkpoint
        )
        return model

    @property
    def trains_whole_sessions(self) -> bool:
        """False for a model from a checkpoint, so `--gen-subset train` reads pairs."""
        allowed = str(self.cfg.session_parallel) != "never" and not self.model.inference_only
        return allowed and self.model.reads_whole_sessions

    @property
    def level_sizes(self) -> List[int]:
        """Data must fit the model, even if generation does not repeat the flags of training."""
        return self.model.level_sizes or one_int_per_level(self.cfg.level_sizes, "--level-sizes")

    def train_step(
        self, sample: Dict[str, Any], *others: Any, **options: Any
    ) -> Tuple[Tensor, int, Dict[str, Any]]:
        if self.model.packs_logits:
            sample = {**sample, "net_input": {**sample["net_input"], "packed": True}}
        return super().train_step(sample, *others, **options)

    def can_reuse_epoch_itr(self, dataset: FairseqDataset) -> bool:
        """Not for training, which draws new batches for each epoch.

        fairseq 0.12.3 would keep the batches of the epoch in which this process starts. A run that
        resumes in a later epoch would then read some sessions twice and some never.
        """
        training = dataset is self.datasets.get(self.cfg.train_subset)
        return not training and super().can_reuse_epoch_itr(dataset)

    def begin_epoch(self, epoch: int, model: FairseqEncoderDecoderModel) -> None:
        super().begin_epoch(epoch, model)
        warn_of_training_alone()

    def build_tokenizer(self, cfg: Any) -> Any:
        """The default of fairseq-interactive: read typed lines as the training text was read."""
        chosen = super().build_tokenizer(cfg)
        if chosen is None and self.text_settings is not None:
            return TypedLines(self.text_settings)
        return chosen

    def build_bpe(self, cfg: Any) -> Any:
        """The default for word pieces: convert plain text to pieces and back."""
        chosen = super().build_bpe(cfg)
        if chosen is not None:
            apart = join_units(map(chosen.encode, ("a", "b")), level=1)
            if chosen.encode(join_units(("a", "b"), level=1)) != apart:
                raise InputError(
                    f"this --bpe does not keep {QUERY_SEPARATOR}, and queries would run together",
                    "leave it out, or use --bpe session_sentencepiece",
                )
            return chosen
        if not self.in_pieces:
            return None
        model = Path(utils.split_paths(self.cfg.data)[0]) / MODEL  # saved by fairseq-preprocess
        path = str(model) if model.is_file() else None
        return SessionSentencepiece(SessionSentencepieceConfig(sentencepiece_model=path))

    def build_generator(
        self,
        models: List[FairseqEncoderDecoderModel],
        args: Any,
        seq_gen_cls: Optional[Type[SequenceGenerator]] = None,
        **others: Any,
    ) -> SequenceGenerator:
        aligned = getattr(args, "print_alignment", False)  # fairseq has a generator for it
        described = [getattr(model, "description", ModelDescription()) for model in models]
        if len({each.copies for each in described}) > 1:
            raise InputError(
                "some of these models copy words, others do not: they have no words in common",
                "use checkpoints of one kind together",
            )
        if len({each.source_context for each in described}) > 1:
            raise InputError(
                "some of these models read the last query only, others the whole session",
                "use checkpoints of one --source-context together",
            )
        if aligned and self.model.copies:
            raise InputError(
                "--print-alignment is not for models with --copy-attention", "leave it out"
            )
        scoring = getattr(args, "score_reference", False)
        ours = seq_gen_cls is None and not aligned and not scoring
        if ours:
            seq_gen_cls = NarrowSequenceGenerator
        generator = super().build_generator(models, args, seq_gen_cls, **others)
        if ours:
            generator.stop_at_first = str(self.cfg.beam_stop) == "first"
        if not scoring and not self.cfg.generate_unknown:
            if getattr(args, "unkpen", 0):
                logger.warning("--unkpen has no effect without --generate-unknown")
            forbid_unknown(generator)
        return generator

    def inference_step(
        self,
        generator: SequenceGenerator,
        models: List[FairseqEncoderDecoderModel],
        sample: Dict[str, Any],
        prefix_tokens: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
    ) -> Hypotheses:
        # fairseq 0.12.3's diverse beam search confuses ids (line numbers) with rows of the batch.
        sample = {key: value for key, value in sample.items() if key != "id"}
        source = sample["net_input"]["src_tokens"]
        if self.model.copies and isinstance(generator, SequenceScorer):
            sample["target"] = columns_of(models, source, sample["target"])
        if self.model.copies and prefix_tokens is not None:
            prefix_tokens = columns_of(models, source, prefix_tokens)
        found = super().inference_step(generator, models, sample, prefix_tokens, constraints)
        if self.model.copies:
            put_words(found, source, models[0].encoder.columns)
        if forbids_unknown(generator):
            found = drop_unknown(found, self.tgt_dict.unk())
        is_session = source.ne(self.src_dict.pad()).sum(1).gt(1).tolist()  # more than `</s>`
        return [beam if valid else [] for beam, valid in zip(found, is_session)]

    def _batching(self) -> Batching:
        choice = str(self.cfg.train_batches)
        by_queries = choice == "by-queries"
        random = choice == "random" or by_queries or (choice == "auto" and self.model.skips_padding)
        return Batching(random, random and self.model.skips_padding, by_queries)

    def open(self, lines: TokenLines, unknown_words: UnknownWords) -> OpenLines:
        """Lines with their unknown words, if the model can copy them."""
        return OpenLines(lines, len(self.src_dict), unknown_words if self.model.copies else None)

    def _session_source(self, lines: TokenLines, name: str, **options: Any) -> SessionSource:
        return SessionSource(
            lines,
            self.separators,
            self.level_sizes,
            min(self.cfg.max_source_positions, self.model.max_source_positions or sys.maxsize),
            refuse_oversize=str(self.cfg.oversize) == "refuse",
            name=name,
            **options,
        )


def warn_of_training_alone() -> None:
    """fairseq 0.12.3 ignores its launcher's number of processes if it sees at most one GPU."""
    for name in ("WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
        if int(os.environ.get(name) or 1) > 1 and not torch.distributed.is_initialized():
            logger.warning(
                f"{name}={os.environ[name]}, but this process trains alone, and so does each of "
                "the others, all into the same --save-dir; pass --distributed-world-size "
                f"{os.environ[name]}, and without GPUs the flags of docs/scale.md"
            )
