"""`--bpe session_sentencepiece`: typed text to word pieces, and word pieces to plain text."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from fairseq.data.encoders import register_bpe
from fairseq.dataclass import FairseqDataclass

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import escape_symbols, without_unseen
from mtn_preprocess.text.word_pieces import MODEL, WORD_START, PieceEncoder, decode_pieces


@dataclass
class SessionSentencepieceConfig(FairseqDataclass):
    # The same name as in fairseq's --bpe sentencepiece, because fairseq.hub_utils looks for it.
    sentencepiece_model: Optional[str] = field(
        default=None,
        metadata={"help": f"path to {MODEL}, which is needed where plain text is typed"},
    )


@register_bpe("session_sentencepiece", dataclass=SessionSentencepieceConfig)
class SessionSentencepiece:
    """Like fairseq's `sentencepiece`, but it does not cut separators such as `<q>` into pieces.

    Decoding needs no model.
    """

    def __init__(self, cfg: SessionSentencepieceConfig) -> None:
        path = cfg.sentencepiece_model
        self._encoder = None if path is None else PieceEncoder(Path(path))

    def encode(self, line: str) -> str:
        if WORD_START in line:
            return line  # the text is prepared already
        if self._encoder is None:
            raise InputError(
                "the data are in word pieces, and what is typed cannot be cut without the model",
                f"copy {MODEL} from the prepared text into the data folder, or pass "
                "--bpe session_sentencepiece --sentencepiece-model FILE",
            )
        return self._encoder(escape_symbols(without_unseen(line)))  # as in prepared text

    def decode(self, line: str) -> str:
        return decode_pieces(line)
