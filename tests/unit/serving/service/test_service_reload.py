"""A new version of a bundle or block list is loaded atomically."""

import os
import threading
import time

import pytest

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import Pair
from mtn_serving.bundle.folder import Bundle
from mtn_serving.commands.export import main as export
from mtn_serving.counting import count_next_queries
from mtn_serving.service.app import create_app
from mtn_serving.service.settings import Settings

ASK = {"session": ["paris"], "n": 1}


def save(folder, next_query):
    """A table in which `paris` has one next query."""
    count_next_queries([Pair("paris", next_query)]).save(folder)


def answer(client):
    found = client.post("/v1/suggest", json=ASK).json()
    return found["suggestions"][0]["text"], found["bundle"]["version"]


def test_a_new_version(client_of, tmp_path):
    save(tmp_path / "table", "old")
    client = client_of(bundle=tmp_path / "table")
    text, version = answer(client)
    assert text == "old"
    save(tmp_path / "table", "new")
    assert answer(client) == ("old", version)
    reloaded = client.post("/admin/reload")
    assert reloaded.status_code == 200
    text, new_version = answer(client)  # not from the cache
    assert text == "new" and new_version != version
    assert reloaded.json()["bundles"][0]["version"] == new_version
    metrics = client.get("/metrics").text
    assert f'mtn_bundle_info{{name="champion",version="{new_version}"}} 1.0' in metrics
    assert f'mtn_bundle_info{{name="champion",version="{version}"}} 0.0' in metrics


def test_the_service_reports_the_version_of_the_bundle(client_of, tmp_path, counts):
    export(["--counts", str(counts), "--output", str(tmp_path / "bundle")])
    client = client_of(bundle=tmp_path / "bundle")
    assert answer(client) == ("paris hotels", Bundle.open(tmp_path / "bundle").version)


def test_a_new_block_list(client_of, tmp_path, counts):
    blocked = tmp_path / "blocked"
    blocked.write_text("metro\n")
    client = client_of(block_list=blocked)
    text, version = answer(client)
    assert text == "paris hotels"
    blocked.write_text("hotels\n")
    assert client.post("/admin/reload").status_code == 200
    text, new_version = answer(client)
    assert text == "paris metro" and new_version != version
    blocked.write_text("/(/\n")
    refused = client.post("/admin/reload")
    assert refused.status_code == 409 and "blocked" in refused.json()["detail"]
    assert answer(client) == (text, new_version)


@pytest.mark.parametrize("fault", ["missing", "damaged", "cut off", "foreign", "no header"])
def test_a_bad_bundle_is_refused_and_the_old_one_stays(client_of, tmp_path, fault):
    folder = tmp_path / "table"
    save(folder, "old")
    client = client_of(bundle=folder)
    before = answer(client)
    letters = folder / "queries_letters.npy"
    content = letters.read_bytes()
    if fault == "missing":
        folder.rename(tmp_path / "elsewhere")
    else:
        # Replaced, as by a copy: the mapped file does not change.
        letters.unlink()
        bad = {"damaged": content[:-1] + b"\xff", "cut off": content[:-1]}.get(fault, content)
        letters.write_bytes(bad)
    if fault == "foreign":
        (folder / "header.json").write_text('{"kind": "something else"}')
    if fault == "no header":
        (folder / "header.json").unlink()
    refused = client.post("/admin/reload")
    assert refused.status_code == 409 and str(tmp_path) in refused.json()["detail"]
    assert answer(client) == before
    assert client.get("/readyz").status_code == 200
    assert 'mtn_reloads_total{result="refused"} 1.0' in client.get("/metrics").text
    with pytest.raises(InputError):
        create_app(Settings(folder))


def test_a_file_that_may_not_be_read(counts, monkeypatch):
    """Permissions do not stop root, so `open` refuses the file here."""
    really_open, letters = os.open, counts / "queries_letters.npy"

    def opened(path, *how, **more):
        if path == letters:
            raise PermissionError(13, "Permission denied", str(path))
        return really_open(path, *how, **more)

    monkeypatch.setattr(os, "open", opened)
    with pytest.raises(InputError) as refused:
        create_app(Settings(counts))
    expected = f"{letters}: cannot be read (Permission denied); check its permissions"
    assert str(refused.value) == expected


def test_a_part_that_cannot_be_served_alone(tmp_path):
    (tmp_path / "header.json").write_text('{"kind": "ranker"}')
    message = "'ranker', which cannot be served alone; give a folder of mtn-export or"
    with pytest.raises(InputError, match=message):
        create_app(Settings(tmp_path))


def test_a_defect_while_loading_is_refused_too(client_of, monkeypatch):
    client = client_of()
    before = answer(client)

    def load(settings):
        raise RuntimeError("a defect")

    monkeypatch.setattr("mtn_serving.service.service.load_bundles", load)
    assert client.post("/admin/reload").json() == {"detail": "RuntimeError"}
    assert answer(client) == before


def test_requests_in_progress_finish_with_their_version(client_of, tmp_path):
    save(tmp_path / "table", "old")
    client = client_of(bundle=tmp_path / "table", seconds=4.0, deadline=20.0)
    _, version = answer(client)
    found = []
    asking = threading.Thread(
        target=lambda: found.append(client.post("/v1/suggest", json={**ASK, "n": 2}).json())
    )
    asking.start()
    time.sleep(0.2)
    save(tmp_path / "table", "new")
    assert client.post("/admin/reload").status_code == 200
    assert not found
    assert answer(client)[0] == "new"
    asking.join()
    assert found[0]["bundle"]["version"] == version
    assert found[0]["suggestions"][0]["text"] == "old" and found[0]["degraded"] is False
