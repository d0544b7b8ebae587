"""The display rules as files of a bundle: settings in JSON, words in the format of block lists."""

import json
from pathlib import Path

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json
from mtn_preprocess.text.block_lists import read_block_list

from ..display_rules import ALLOW, EXPLICIT_WORDS, DisplayRules, read_rules

SETTINGS, BLOCK_LIST, EXPLICIT = "rules.json", "block_list.txt", "explicit_words.txt"
_AGAIN = "give the rules again with mtn-export --update"


def write_bundle_rules(folder: Path, rules: DisplayRules) -> None:
    """Write the rules; the bundled list of explicit words is written out, too, to be visible."""
    settings = {"min_users": rules.min_users, "personal_data": rules.personal_data}
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    explicit = read_block_list(EXPLICIT_WORDS) if rules.explicit is None else rules.explicit
    for name, entries in {BLOCK_LIST: rules.block_list, EXPLICIT: explicit}.items():
        text = "".join(f"{entry}\n" for entry in entries)
        (folder / name).write_text(text, encoding="utf-8")


def read_bundle_rules(folder: Path) -> DisplayRules:
    path = folder / SETTINGS
    settings = read_json(path, _AGAIN)
    if not isinstance(settings, dict) or settings.keys() != {"min_users", "personal_data"}:
        raise InputError("no rules that this version knows", _AGAIN, path)
    min_users, personal_data = settings["min_users"], settings["personal_data"]
    if type(min_users) not in (int, type(None)) or type(personal_data) is not bool:
        raise InputError("damaged", _AGAIN, path)
    return read_rules(
        min_users, folder / BLOCK_LIST, folder / EXPLICIT, ALLOW if personal_data else None
    )
