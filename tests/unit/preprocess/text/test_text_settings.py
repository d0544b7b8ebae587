"""Settings of prepared text are written, read and compared; errors are one line."""

import json
from pathlib import Path

import pytest

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import (
    AOL,
    NAME,
    SYMBOLS,
    TextSettings,
    agreed_settings,
    read_settings,
    write_settings,
)


def test_written_and_read(tmp_path):
    assert read_settings(tmp_path) is None
    for settings in (TextSettings(), TextSettings(SYMBOLS, True, True)):
        write_settings(tmp_path, settings)
        assert read_settings(tmp_path) == settings


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "not JSON"),
        ("[]", "no settings of prepared text that this version knows"),
        ('{"characters": "aol"}', "no settings of prepared text that this version knows"),
        (json.dumps({**TextSettings()._asdict(), "moon": 1}), "that this version knows"),
        (json.dumps(TextSettings("moon")._asdict()), "'moon' is none of the character rules aol, "),
        (json.dumps(TextSettings(AOL, 1)._asdict()), "damaged settings of prepared text"),
    ],
)
def test_settings_that_are_damaged_or_of_another_version(tmp_path, content, reason):
    (tmp_path / NAME).write_text(content)
    with pytest.raises(InputError, match=reason) as error:
        read_settings(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / NAME}:")
    assert str(error.value).endswith("; prepare the text again, and what was made from it")


def test_parts_with_different_settings_are_refused():
    one, other = TextSettings(), TextSettings(SYMBOLS, mask_emails=True)
    a, b, c = map(Path, "abc")
    assert agreed_settings([]) is agreed_settings([(a, None)]) is None
    assert agreed_settings([(a, None), (b, one), (c, one)]) == one
    with pytest.raises(InputError) as error:
        agreed_settings([(a, one), (b, None), (c, other)])
    assert str(error.value) == (
        "c: its text was prepared with --characters symbols --mask-emails, but that of a with "
        "--characters aol; make both from the same prepared text"
    )
