"""Typed lines as fairseq-interactive gets them, read as the training text was."""

from mtn_preprocess.text.text_settings import TextSettings
from mtn_preprocess.text.typed_sessions import SessionReader


class TypedLines:
    """A tokenizer of fairseq: what it encodes was typed, what it decodes is plain text already."""

    def __init__(self, settings: TextSettings) -> None:
        self._reader = SessionReader(settings)

    def encode(self, line: str) -> str:
        return self._reader.line(line)

    def decode(self, line: str) -> str:
        return line
