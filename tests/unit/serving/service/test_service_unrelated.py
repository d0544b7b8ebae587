"""Lists that end with unrelated suggestions, from bundles with a ranker and without."""

import pytest
from optional_parts import need_lightgbm

from mtn_preprocess.text.session_pairs import Pair
from mtn_serving.commands.export import main as export
from mtn_serving.counting import count_next_queries
from mtn_serving.fitting import fit_ranker
from mtn_serving.suggester import Suggester


@pytest.fixture
def ranked(tmp_path):
    """A bundle with a ranker. One person asked `a` after `x`, and one `b`: both are unrelated."""
    need_lightgbm()
    table = count_next_queries([Pair("x", "b"), Pair("x", "a")])
    suggester = Suggester(table)
    described = list(suggester.describe([["x"]] * 100))
    ranker = fit_ranker(described, ["a"] * 100, range(100), suggester.conditions).ranker
    table.save(tmp_path / "two")
    ranker.save(tmp_path / "ranker")
    export(f"--counts {tmp_path}/two --ranker {tmp_path}/ranker --output {tmp_path}/ranked".split())
    return tmp_path / "ranked"


def rules(client, query="x", **more):
    found = client.post("/v1/suggest", json={"session": [query], **more}).json()
    assert found["degraded"] is False
    return {each["text"]: each["rule"] for each in found["suggestions"]}


def test_unrelated_suggestions_also_after_a_reload(client_of, ranked):
    assert rules(client_of(bundle=ranked)) == {}
    client = client_of(bundle=ranked, unrelated=True)
    shown = {"a": "unrelated", "b": "unrelated"}
    assert rules(client) == shown
    assert client.post("/admin/reload").status_code == 200
    assert rules(client) == shown
    explain = {"session": ["x"], "suggestion": "a"}
    assert client.post("/v1/explain", json=explain).json()["explanation"]["rule"] == "unrelated"


def test_unrelated_suggestions_beside_bundles_without_a_ranker(client_of, ranked, counts, tmp_path):
    export(["--counts", str(counts), "--output", str(tmp_path / "unranked")])
    for unranked in (counts, tmp_path / "unranked"):
        client = client_of(bundle=ranked, challenger=unranked, unrelated=True)
        assert set(rules(client).values()) == {"unrelated"}
        found = rules(client, "paris", bundle="challenger")
        assert set(found.values()) == {"in turn"}
        # The version that replaces a bundle may be without a ranker.
        (tmp_path / "served").unlink(missing_ok=True)
        (tmp_path / "served").symlink_to(ranked)
        client = client_of(bundle=tmp_path / "served", unrelated=True)
        (tmp_path / "served").unlink()
        (tmp_path / "served").symlink_to(unranked)
        assert client.post("/admin/reload").status_code == 200
        assert set(rules(client, "paris").values()) == {"in turn"}


def test_the_list_from_counts_beside_unrelated_suggestions(client_of, ranked):
    client = client_of(bundle=ranked, unrelated=True, seconds=0)
    found = client.post("/v1/suggest", json={"session": ["x", "fail"]}).json()
    assert found["reason"] == "error"
    assert {each["rule"] for each in found["suggestions"]} == {"in turn"}
