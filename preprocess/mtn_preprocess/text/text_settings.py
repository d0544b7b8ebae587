"""The settings that turned typed text into queries, copied to everything made from that text.

`mtn-log-to-sessions` writes them beside the prepared text, `fairseq-preprocess` copies them beside
the dictionary, and count tables and rankers have them in their headers. So text typed later is read
in the same way as the training text, and parts made from different text are not combined.
"""

import json
from pathlib import Path
from typing import Any, Iterable, NamedTuple, Optional, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json

NAME = "text.json"  # beside the text, and beside the dictionary
AOL, SYMBOLS = CHARACTERS = ("aol", "symbols")  # character rules, see `typed_queries.normalise`


class TextSettings(NamedTuple):
    """The settings of `typed_queries.QueryReader`."""

    characters: str = AOL
    mask_numbers: bool = False  # successive words of digits become one `<number>`
    mask_emails: bool = False  # an e-mail address becomes `<email>`

    def flags(self) -> str:
        """The settings as flags of mtn-log-to-sessions."""
        masks = {"--mask-numbers": self.mask_numbers, "--mask-emails": self.mask_emails}
        given = [flag for flag, is_set in masks.items() if is_set]
        return " ".join([f"--characters {self.characters}", *given])


DEFAULT = TextSettings()
SettingsOf = Tuple[Path, Optional[TextSettings]]  # the file of a part, and its settings


def write_settings(folder: Path, settings: TextSettings) -> None:
    text = json.dumps(settings._asdict(), indent=2) + "\n"
    (folder / NAME).write_text(text, encoding="utf-8")


def read_settings(folder: Path) -> Optional[TextSettings]:
    """The settings of the text or dictionary in a folder; None for foreign or older text."""
    path = Path(folder) / NAME
    if not path.exists():
        return None
    return settings_of(read_json(path, _REMEDY), path)


def settings_of(fields: Any, path: Path) -> Optional[TextSettings]:
    """Parse settings from JSON; None if there are none.

    Args:
        path: the file with the settings, for messages
    """
    if fields is None:
        return None
    expected = TextSettings()._asdict()
    if not isinstance(fields, dict) or fields.keys() != expected.keys():
        raise InputError("no settings of prepared text that this version knows", _REMEDY, path)
    if any(type(fields[name]) is not type(value) for name, value in expected.items()):
        raise InputError("damaged settings of prepared text", _REMEDY, path)
    if fields["characters"] not in CHARACTERS:
        reason = f"{fields['characters']!r} is none of the character rules {', '.join(CHARACTERS)}"
        raise InputError(reason, _REMEDY, path)
    return TextSettings(**fields)


def agreed_settings(parts: Iterable[SettingsOf]) -> Optional[TextSettings]:
    """The settings that all parts share; None if no part has any. Raises if they differ.

    Args:
        parts: the file of each part, and its settings
    """
    known = [(path, settings) for path, settings in parts if settings is not None]
    if not known:
        return None
    (first, agreed), *others = known
    for path, settings in others:
        if settings != agreed:
            raise InputError(
                f"its text was prepared with {settings.flags()}, but that of {first} with "
                f"{agreed.flags()}",
                "make both from the same prepared text",
                path,
            )
    return agreed


_REMEDY = "prepare the text again, and what was made from it"
