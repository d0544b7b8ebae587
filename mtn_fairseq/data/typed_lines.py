"""Read the lines typed into fairseq-interactive as the training text was read."""

from mtn_preprocess.text.text_settings import TextSettings
from mtn_preprocess.text.typed_sessions import SessionReader


class TypedLines:
    """A fairseq tokenizer: encodes typed lines; decodes nothing, as output is plain text."""

    def __init__(self, settings: TextSettings) -> None:
        self._reader = SessionReader(settings)

    def encode(self, line: str) -> str:
        return self._reader.line(line)

    def decode(self, line: str) -> str:
        return line
