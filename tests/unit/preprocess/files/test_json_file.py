"""Damaged JSON files of this project: a one-line error with file and remedy."""

import pytest

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json

DAMAGED = {
    "cut off": (b'{"a": [1, 2', r":1: not JSON \(Expecting ',' delimiter"),
    "empty": (b"", r":1: not JSON \(Expecting value"),
    "not UTF-8": (b'{"a": "\xff"}', r": not JSON \('utf-8' codec can't decode"),
    "nested lists": (b"[" * 100_000, ": lists or objects nested too deeply"),
    "nested objects": (b'{"a":' * 100_000, ": lists or objects nested too deeply"),
    "5,000 digits": (b"[%s]" % (b"7" * 5_000), r": not JSON \(a number of 5,000 digits\)"),
    "no float so large": (b"[-%s]" % (b"7" * 309), r": not JSON \(a number of 309 digits\)"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_a_one_line_error(tmp_path, name):
    content, reason = DAMAGED[name]
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"^{path}{reason}.*; mend it$") as error:
        read_json(path, remedy="mend it")
    assert "\n" not in str(error.value)


def test_unreadable_files_are_one_line_errors(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match=r"cannot be read \(.+\); name a file that can be"):
            read_json(path)


def test_our_own_files_are_read(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"ä": [-1, 18446744073709551615, 0.5, 1e3, null, true]}', encoding="utf-8")
    assert read_json(str(path)) == {"ä": [-1, 2**64 - 1, 0.5, 1000.0, None, True]}
