"""fairseq's beam search over the few words that can win, instead of the whole vocabulary.

Only the 2 x beam best words of each hypothesis can be among the 2 x beam best of a session. They
are selected first, so the other steps of fairseq's loop (normalise, check for NaN, add, sort)
process a few dozen words instead of the dictionary. Before the first word, all hypotheses of a
session are identical and run as one. After it, they share the state of the session, if the decoder
supports this (`once_per_session` of its parts, `codes_once_per_session`).
"""

import copy
import re
from math import inf
from typing import Any, Dict, List, Optional, Tuple

import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.search import BeamSearch
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from mtn_preprocess.errors import InputError

from ..copying.best_words import CopyableColumns
from ..copying.pointer import Copying
from ..copying.words import SLOTS
from ..modules.packed_attention import IncrementalState
from .ended_hypotheses import EndedHypotheses
from .without_unknown import Hypotheses, forbids_unknown

# Messages of fairseq and torch when all scores are NaN: no hypothesis has ended at the greatest
# length, or there is nothing to sample from.
_WITHOUT_SCORES = re.compile(r"(\d+) < \1\Z|invalid multinomial distribution")

SPECIALS = 4  # <s>, <pad>, </s>, <unk>: the search has rules for these


class NarrowSequenceGenerator(SequenceGenerator):
    """A beam search that ends when it has the likeliest hypotheses (`EndedHypotheses`).

    With `stop_at_first` it returns the hypotheses of fairseq's generator in less time, except where
    scores are exactly equal. Prefixes, constraints, language models and the like need whole
    distributions, so they use fairseq's own search. Several threads may share a generator.
    """

    beam_size: int
    vocab_size: int
    unk_penalty: float
    penalty_behind_prefix: float

    def __init__(
        self,
        models: List[FairseqEncoderDecoderModel],
        tgt_dict: Dictionary,
        stop_at_first: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(models, tgt_dict, **options)
        self.stop_at_first = stop_at_first
        self.remembering = [
            part
            for part in models[0].decoder.modules()
            if hasattr(part, "reorder_incremental_state")
        ]
        self.words = min(2 * self.beam_size, len(tgt_dict) - SPECIALS)
        if any(getattr(model, "copies", False) for model in models):
            self.vocab_size += SLOTS
        self.can_be_narrow = (
            len(models) == 1
            and self.model.has_incremental_states()
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
    ) -> Hypotheses:
        try:
            with torch.inference_mode():  # saves a tenth of the time of a single session
                if self.can_be_narrow and prefix_tokens is None and constraints is None:
                    found = self._search(sample["net_input"], bos_token)
                else:
                    own = self._for_one_call(prefix_tokens)
                    found = SequenceGenerator._generate(
                        own, sample, prefix_tokens, constraints, bos_token
                    )
        except (AssertionError, RuntimeError) as error:
            if not _WITHOUT_SCORES.match(str(error)):
                raise
            raise _not_finite() from error
        # fairseq-generate changes some tensors in place, which is an error for inference tensors.
        return [
            [
                {key: part.clone() if isinstance(part, Tensor) else part for key, part in h.items()}
                for h in hypotheses
            ]
            for hypotheses in found
        ]

    def _search(self, net_input: Dict[str, Tensor], bos_token: Optional[int]) -> Hypotheses:
        """B sessions -> the hypotheses of each, best first.

        A session leaves the batch when it has enough hypotheses, so B decreases. R = B x beam.
        """
        model, beam = self.model.single_model, self.beam_size
        src_tokens, src_lengths = net_input["src_tokens"], net_input["src_lengths"]
        sessions = len(src_tokens)
        max_len = min(int(self.max_len_a * src_tokens.size(1) + self.max_len_b), self.max_len - 1)
        if self.match_source_len:
            max_len = int(src_lengths.max())
        assert self.min_len <= max_len, "min_len cannot be larger than max_len"

        shares_codes = getattr(model.decoder, "codes_once_per_session", False)  # our decoders
        no_weights = {"need_weights": False} if shares_codes else {}
        encoder_out = model.encoder.forward_torchscript(net_input)
        state: IncrementalState = {}
        copyable: Optional[CopyableColumns] = None
        tokens = src_tokens.new_full((sessions * beam, max_len + 2), self.pad)  # (R, …)
        tokens[:, 0] = self.eos if bos_token is None else bos_token
        scores = torch.zeros(sessions * beam, max_len + 1, device=tokens.device)  # cumulative
        ended = torch.zeros(sessions, beam, dtype=torch.bool, device=tokens.device)
        power = self.len_penalty if self.normalize_scores else 0.0
        found = EndedHypotheses(
            sessions, beam, self.stop_at_first, power, self.eos, device=tokens.device
        )

        for step in range(max_len + 1):
            # Score the next word of each hypothesis.
            prefix = tokens[:, : step + 1] if step else tokens[::beam, :1]
            logits, extra = model.decoder(
                prefix, encoder_out=encoder_out, incremental_state=state, **no_weights
            )
            logits = logits[:, -1].float()
            if self.temperature != 1:
                logits = logits / self.temperature
            copying = extra.get("copying") if isinstance(extra, dict) else None
            copyable = copying and CopyableColumns.of(copying.columns, logits, copyable)
            lprobs, words = best_words(logits, self.words, copying, copyable)
            self._apply_rules(lprobs, step, max_len)
            if step:
                lprobs += scores[:, step - 1 : step]
            so_far = tokens[:, : step + 1], scores[:, :step]
            too_long = src_lengths.lt(step) if self.match_source_len else None
            if not self.stop_at_first:  # every hypothesis may end, without a place in the beam
                end = lprobs[:, self.eos].view(sessions, -1)
                row = torch.arange(len(tokens), device=end.device).view(sessions, beam)
                found.add(end.gt(-inf), end, row[:, : end.size(1)], *so_far, too_long)
                lprobs[:, self.eos] = -inf
            width = lprobs.size(1)
            lprobs, words = lprobs.view(sessions, -1), words.view(sessions, -1)

            # The best of each session (B, 2 x beam): the word, and the row that it extends.
            best, place = lprobs.topk(min(2 * beam, lprobs.size(1) - 1))
            word = words.gather(1, place)
            row = torch.div(place, width, rounding_mode="floor")
            row += torch.arange(0, len(tokens), beam, device=row.device).unsqueeze(1)
            ends = word.eq(self.eos) & best.ne(-inf)
            ends[:, :beam] &= ~ended

            # As in fairseq, hypotheses that end here count if they are among the first `beam`.
            kept = None
            if bool(ends[:, :beam].any()):
                found.add(ends[:, :beam], best[:, :beam], row[:, :beam], *so_far, too_long)
            if step == max_len:
                if not all(found.of_session):
                    raise _not_finite()
                break
            full = found.are_enough(best.masked_fill(ends, -inf).amax(1))
            if bool(full.all()):
                break
            if bool(full.any()):
                kept = (~full).nonzero().squeeze(1)
                found.go_on_with(kept)
                best, word, row, ends, ended, src_lengths = (
                    part[kept] for part in (best, word, row, ends, ended, src_lengths)
                )
                sessions = len(kept)

            # Continue with the best hypotheses that have not ended.
            ends[:, :beam] |= ended
            rank = torch.arange(ends.size(1), device=row.device) + ends * 2 * beam
            rank, place = rank.topk(beam, dim=1, largest=False)
            ended = rank.ge(2 * beam)
            best, word, row = (part.gather(1, place).flatten() for part in (best, word, row))
            tokens, scores = tokens[row], scores[row]
            tokens[:, step + 1], scores[:, step] = word, best

            # Reorder the decoder's state, which has one row per session until the first word.
            row = row if step else torch.div(row, beam, rounding_mode="floor")
            for part in self.remembering:
                order = kept if getattr(part, "once_per_session", False) else row
                if order is not None:
                    part.reorder_incremental_state(state, order)
            # All hypotheses of a session have the same codes, so these keep their order.
            order = kept if shares_codes or (step and kept is None) else row
            if order is not None:
                encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)

        return found.ranked()

    def _apply_rules(self, lprobs: Tensor, step: int, max_len: int) -> None:
        """Apply fairseq's rules to the scores (R, 4 + words) of the next word."""
        lprobs.masked_fill_(lprobs.isnan(), -inf)
        lprobs[:, self.pad] = -inf
        lprobs[:, self.unk] -= self.unk_penalty
        if step >= max_len:
            lprobs[:, : self.eos] = -inf
            lprobs[:, self.eos + 1 :] = -inf
        if step < self.min_len:
            lprobs[:, self.eos] = -inf

    def _for_one_call(self, prefix_tokens: Optional[Tensor]) -> "NarrowSequenceGenerator":
        """A copy, because fairseq's generator and search change their attributes during a call."""
        own = _shallow_copy(self)
        own.search = _shallow_copy(self.search)
        own.penalty_behind_prefix = self.unk_penalty
        if prefix_tokens is not None and forbids_unknown(self):
            own.unk_penalty = 0.0  # a given `<unk>` keeps its score
        return own

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


def _not_finite() -> InputError:
    return InputError(
        "the model's scores are not finite (NaN or infinite)",
        "give an earlier checkpoint, or train again with a smaller --lr or a --clip-norm",
    )


def _shallow_copy(module: Any) -> Any:
    """A copy with the same submodules; assignments to the copy do not change the original."""
    own = copy.copy(module)
    own._modules = dict(module._modules)
    return own


def best_words(
    logits: Tensor, count: int, copying: Optional[Copying], copyable: Optional[CopyableColumns]
) -> Tuple[Tensor, Tensor]:
    """Logits (R, V) -> log probabilities (R, 4 + count) of the specials and of the best words, and
    the indices of these words. The logits are overwritten."""
    best, words = largest(logits[:, SPECIALS:], count)
    words = words + SPECIALS
    scores = torch.cat([logits[:, :SPECIALS], best], 1)
    if copying is None or copyable is None:
        total = _log_total(logits, scores)
    else:
        generated = copyable.generated(logits)
        total = _log_total(logits, scores)
        scores, words, total = copyable.mix(scores, words, total, generated, copying)
    specials = torch.arange(SPECIALS, device=words.device).expand(len(words), -1)
    return scores - total, torch.cat([specials, words], 1)


def _log_total(logits: Tensor, scores: Tensor) -> Tensor:
    """log Σ exp of logits (R, V), of which the largest are among the scores -> (R, 1)

    In place, because the logits are the largest tensor and are not read again.
    """
    highest = scores.amax(1, keepdim=True)
    return highest + logits.sub_(highest).exp_().sum(1, keepdim=True).log_()


def largest(scores: Tensor, count: int) -> Tuple[Tensor, Tensor]:
    """`topk` for a small `count` in long rows: (R, V) -> (R, count) scores and places.

    The `count` largest scores of a row are in the `count` blocks with the largest maxima.
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
