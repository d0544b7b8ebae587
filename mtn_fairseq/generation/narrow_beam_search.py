"""fairseq's beam search on the few words that can win, in the place of the whole vocabulary.

Of each hypothesis only its 2 x beam best words can be among the 2 x beam best of a session. They
are picked before anything else looks at the scores, so what fairseq's loop does to every word of
the dictionary (normalise, look for NaN, add up, sort) it does to some dozen. And before the first
word all hypotheses of a session are one.
"""

import re
from math import inf
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.models.transformer import TransformerDecoderBase
from fairseq.modules import MultiheadAttention
from fairseq.search import BeamSearch
from fairseq.sequence_generator import EnsembleModel, SequenceGenerator
from torch import Tensor
from torch.nn.functional import logsigmoid

from mtn_preprocess.errors import InputError

from ..modules.copyable_words import NOTHING, SLOTS
from ..modules.pointer import Pointer
from .without_unknown import forbids_unknown

Parts = Tuple[EnsembleModel, BeamSearch, int]  # what is asked, what picks, of how many words

# What fairseq and torch say where no score is a number: no hypothesis has ended, not even at the
# greatest length; there is nothing to draw from.
_WITHOUT_SCORES = re.compile(r"(\d+) < \1\Z|invalid multinomial distribution")

SPECIALS = 4  # <s>, <pad>, </s>, <unk>: fairseq treats them by index, so they keep their columns


class NarrowSequenceGenerator(SequenceGenerator):
    """The hypotheses of fairseq's generator, sooner; where scores are exactly equal, maybe another.

    Prefixes, constraints, language models and the like look at whole distributions; with any of
    these it is fairseq's generator.
    """

    model: EnsembleModel
    search: BeamSearch
    vocab_size: int
    unk_penalty: float

    def __init__(
        self, models: List[FairseqEncoderDecoderModel], tgt_dict: Dictionary, **options: Any
    ) -> None:
        super().__init__(models, tgt_dict, **options)
        copies = any(getattr(model, "copies", False) for model in models)
        width = len(tgt_dict) + SLOTS if copies else len(tgt_dict)
        self.wide: Parts = self.model, self.search, width
        words = min(2 * self.beam_size, len(tgt_dict) - SPECIALS)
        model = NarrowModel(models, self.beam_size, words)
        self.narrow: Parts = model, NarrowBeamSearch(tgt_dict, model), SPECIALS + words
        self.can_be_narrow = (
            len(models) == 1
            and type(self.search) is BeamSearch
            and getattr(models[0].decoder, "adaptive_softmax", None) is None
            and self.lm_model is None
            and self.repeat_ngram_blocker is None
            and self.token_indices_to_suppress is None
            and (tgt_dict.bos(), tgt_dict.pad(), tgt_dict.eos(), tgt_dict.unk()) == (0, 1, 2, 3)
            and self.eos == tgt_dict.eos()
        )

    def _generate(
        self,
        sample: Dict[str, Dict[str, Tensor]],
        prefix_tokens: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
        bos_token: Optional[int] = None,
    ) -> List[List[Dict[str, Tensor]]]:
        narrow = self.can_be_narrow and prefix_tokens is None and constraints is None
        self.model, self.search, self.vocab_size = self.narrow if narrow else self.wide
        self.penalty_behind_prefix = self.unk_penalty
        if prefix_tokens is not None and forbids_unknown(self):
            self.unk_penalty = 0.0  # a given `<unk>` keeps its score
        try:
            with torch.inference_mode():  # a tenth less time for a single session
                found = super()._generate(sample, prefix_tokens, constraints, bos_token)
        except (AssertionError, RuntimeError) as error:
            if not _WITHOUT_SCORES.match(str(error)):
                raise
            raise InputError(
                "the model's scores are not finite (NaN or infinite)",
                "give an earlier checkpoint, or train again with a smaller --lr or a --clip-norm",
            ) from error
        finally:
            self.unk_penalty = self.penalty_behind_prefix
            self.narrow[0].share_codes_among(1)  # as anybody else expects the model
        # Copies are ordinary tensors; fairseq-generate changes some in place.
        return [
            [
                {key: part.clone() if isinstance(part, Tensor) else part for key, part in h.items()}
                for h in hypotheses
            ]
            for hypotheses in found
        ]

    def _prefix_tokens(
        self,
        step: int,
        lprobs: Tensor,
        scores: Tensor,
        tokens: Tensor,
        prefix_tokens: Tensor,
        beam_size: int,
    ) -> Tuple[Tensor, Tensor, Tensor]:
        if step + 1 == prefix_tokens.size(1):
            self.unk_penalty = self.penalty_behind_prefix
        return super()._prefix_tokens(step, lprobs, scores, tokens, prefix_tokens, beam_size)


class NarrowModel(EnsembleModel):
    """One model, with scores for the special symbols and for each hypothesis' best words.

    Args:
        models: the one model
        beam: hypotheses a session
        words: how many words of each hypothesis are looked at
    """

    def __init__(self, models: List[FairseqEncoderDecoderModel], beam: int, words: int) -> None:
        super().__init__(models)
        self.beam, self.words = beam, words
        self.columns = torch.empty(0)  # (R, 4 + words): which word of the dictionary each score is
        # For all hypotheses of a session, a pointer can do with one memory, and fairseq's
        # Transformer decoder with one set of codes.
        decoder = self.single_model.decoder
        self.shares_codes = isinstance(decoder, TransformerDecoderBase)
        kinds = (MultiheadAttention, Pointer) if self.shares_codes else Pointer
        self.sharing = [part for part in decoder.modules() if isinstance(part, kinds)]
        self.at_first_word = True
        self.copyable: Optional[CopyableColumns] = None

    def forward_encoder(
        self, net_input: Dict[str, Tensor]
    ) -> Optional[List[Dict[str, List[Tensor]]]]:
        self.at_first_word = True
        self.copyable = None
        return super().forward_encoder(net_input)

    def forward_decoder(
        self,
        tokens: Tensor,
        encoder_outs: List[Dict[str, List[Tensor]]],
        incremental_states: List[Dict[str, Dict[str, Optional[Tensor]]]],
        temperature: float = 1.0,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        if self.at_first_word:
            scores = self._first_word(tokens, encoder_outs, incremental_states, temperature)
        else:
            scores = self._scores(tokens, encoder_outs[0], incremental_states, temperature)
        return scores, None

    def _first_word(
        self,
        tokens: Tensor,
        encoder_outs: List[Dict[str, List[Tensor]]],
        incremental_states: List[Dict[str, Dict[str, Optional[Tensor]]]],
        temperature: float,
    ) -> Tensor:
        """Once a session; then as many states of it as there are hypotheses."""
        rows = torch.arange(len(tokens), device=tokens.device)
        session = torch.div(rows, self.beam, rounding_mode="floor")
        self.share_codes_among(1)
        scores = self._scores(
            tokens[:: self.beam], encoder_outs[0], incremental_states, temperature
        )
        self.share_codes_among(self.beam)
        self.at_first_word = False
        if isinstance(encoder_outs[0], dict):
            encoder_outs[0].pop("copyable", None)  # the pointer has it: no need to reorder it
        encoder_outs[:] = self.reorder_encoder_out(encoder_outs, session)
        self.reorder_incremental_state(incremental_states, session)
        self.columns = self.columns[session]
        return scores[session]

    def _scores(
        self,
        tokens: Tensor,
        encoder_out: Dict[str, List[Tensor]],
        incremental_states: List[Dict[str, Dict[str, Optional[Tensor]]]],
        temperature: float,
    ) -> Tensor:
        """(R, t) -> log probabilities (R, 4 + words)"""
        no_weights = {"alignment_layer": -1} if self.shares_codes else {}  # nobody asks for them
        logits, extra = self.single_model.decoder(
            tokens, encoder_out=encoder_out, incremental_state=incremental_states[0], **no_weights
        )
        logits = logits[:, -1].float()
        if temperature != 1.0:
            logits = logits / temperature
        copying = extra.get("copying") if isinstance(extra, dict) else None
        best, words = largest(logits[:, SPECIALS:], self.words)
        words = words + SPECIALS
        scores = torch.cat([logits[:, :SPECIALS], best], 1)
        if copying is None:
            total = _log_total(logits, scores)
        else:
            self.copyable = CopyableColumns.of(copying.columns, logits, self.copyable)
            gate, share = (part.flatten(0, 1).float() for part in (copying.gate, copying.share))
            scores, words, total = self._mix(logits, scores, words, gate, share, self.copyable)
        self.columns = _with_specials(words)
        return scores - total

    def _mix(
        self,
        logits: Tensor,
        scores: Tensor,
        words: Tensor,
        gate: Tensor,
        share: Tensor,
        copyable: "CopyableColumns",
    ) -> Tuple[Tensor, Tensor, Tensor]:
        """Scores and words of the mixture of (R, V) logits and K copied words, and its total.

        A word that is not copied keeps its place among such words. So those that can be best are
        the best of the vocabulary and the copied ones.

        Args:
            gate, share: of `Copying`, (R, 1), (R, K)
        """
        _, columns, known, no_logit = copyable
        generated = logits.gather(1, known).masked_fill_(no_logit, -inf)
        total = _log_total(logits, scores)
        # The logit that copying alone would be: the gate is log(g / (1 - g)).
        copied = share.log() + (total - gate)
        specials, best = scores.split([SPECIALS, self.words], 1)
        twice = words.unsqueeze(2).eq(known.unsqueeze(1)).any(2)
        best = torch.cat([best.masked_fill_(twice, -inf), torch.logaddexp(generated, copied)], 1)
        best, places = best.topk(self.words, dim=1)
        words = torch.cat([words, columns], 1).gather(1, places)
        return torch.cat([specials, best], 1), words, total - logsigmoid(gate)

    def reorder_encoder_out(
        self, encoder_outs: List[Dict[str, List[Tensor]]], new_order: Tensor
    ) -> List[Dict[str, List[Tensor]]]:
        # Until the first word there is one set a session. After it, keys and values are kept.
        if self.at_first_word or self.shares_codes:
            return encoder_outs
        return super().reorder_encoder_out(encoder_outs, new_order)

    def reorder_incremental_state(
        self,
        incremental_states: List[Dict[str, Dict[str, Optional[Tensor]]]],
        new_order: Tensor,
    ) -> None:
        if not self.shares_codes:
            return super().reorder_incremental_state(incremental_states, new_order)
        for part in self.sharing:  # fairseq would look for them all over, every time
            part.reorder_incremental_state(incremental_states[0], new_order)

    def share_codes_among(self, hypotheses: int) -> None:
        for part in self.sharing:
            part.set_beam_size(hypotheses)


class CopyableColumns(NamedTuple):
    """Of K places of its session, for each hypothesis. Most steps can do with those of the last."""

    read_from: Tensor  # (B, 1, K)
    columns: Tensor  # (R, K)
    known: Tensor  # (R, K) those of the vocabulary, each once; else 0
    no_logit: Tensor  # (R, K) where there is none

    @classmethod
    def of(
        cls, columns: Tensor, logits: Tensor, last: Optional["CopyableColumns"]
    ) -> "CopyableColumns":
        """columns (B, 1, K), logits (R, V)"""
        rows, vocabulary = logits.shape
        if last is not None and last.read_from is columns and len(last.columns) == rows:
            return last
        of_rows = columns.expand(-1, rows // len(columns), -1).flatten(0, 1)
        no_logit = of_rows.eq(NOTHING) | of_rows.ge(vocabulary)
        return cls(columns, of_rows, of_rows.masked_fill(no_logit, 0), no_logit)


def _with_specials(words: Tensor) -> Tensor:
    specials = torch.arange(SPECIALS, device=words.device).expand(len(words), -1)
    return torch.cat([specials, words], 1)


def _log_total(logits: Tensor, scores: Tensor) -> Tensor:
    """log Σ exp of (R, V) logits, the largest of which are among the scores -> (R, 1)

    In place: nothing is as wide, and nobody reads it again.
    """
    highest = scores.amax(1, keepdim=True)
    return highest + logits.sub_(highest).exp_().sum(1, keepdim=True).log_()


def largest(scores: Tensor, count: int) -> Tuple[Tensor, Tensor]:
    """`topk`, for short lists out of long rows: (R, V) -> (R, count) scores and places.

    The largest are all in those blocks of a row whose own largest are the largest.
    """
    block = 64
    blocks = scores.size(1) // block
    if blocks <= 2 * count:
        return scores.topk(count, dim=1)
    end = blocks * block
    best = scores[:, :end].unflatten(1, (blocks, block)).amax(2).topk(count, dim=1).indices
    places = (best.unsqueeze(2) * block + torch.arange(block, device=best.device)).flatten(1)
    rest = torch.arange(end, scores.size(1), device=best.device).expand(len(scores), -1)
    places = torch.cat([places, rest], 1)
    found, index = scores.gather(1, places).topk(count, dim=1)
    return found, places.gather(1, index)


class NarrowBeamSearch(BeamSearch):
    """fairseq's, telling which words of the dictionary the narrow columns are.

    Args:
        tgt_dict: the dictionary
        model: whose columns
    """

    def __init__(self, tgt_dict: Dictionary, model: NarrowModel) -> None:
        super().__init__(tgt_dict)
        self.columns_of = [model]  # in a list, or it would become a part of the search

    def step(
        self, step: int, lprobs: Tensor, scores: Optional[Tensor], *others: Any
    ) -> Tuple[Tensor, Tensor, Tensor]:
        best, columns, beams = super().step(step, lprobs, scores, *others)
        sessions, hypotheses, width = lprobs.shape
        words = self.columns_of[0].columns.view(sessions, hypotheses * width)
        return best, words.gather(1, beams * width + columns), beams
