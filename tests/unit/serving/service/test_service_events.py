"""Events: which parts are kept, where and for how long; and click-through rates."""

import json
import os
import sys
from datetime import datetime, timezone

import pytest
from processes import run

from mtn_preprocess.errors import InputError
from mtn_serving.commands.events import main
from mtn_serving.service import events as events_module
from mtn_serving.service.click_rates import design_effect, difference, rate_of, summarise, wilson
from mtn_serving.service.events import EVENTS, QUERIES, EventLog

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc).timestamp()
DAY = 86_400


def query_id(number, arm="champion"):
    return f"{arm}.abc123.{number:032x}"


def impression(number, arm="champion", **more):
    return {"action_name": "impression", "query_id": query_id(number, arm), **more}


def click(number, arm="champion", **more):
    return {"action_name": "click", "query_id": query_id(number, arm), **more}


def rows_in(folder, name):
    return [
        json.loads(line)
        for path in sorted(folder.glob(f"{name}.*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def kept(client, *events):
    return client.post("/v1/events", json={"events": list(events)})


# --- kept fields ---------------------------------------------------------------------------------


def test_off_by_default(client_of):
    answer = kept(client_of(), impression(1))
    assert answer.status_code == 404 and "--events" in answer.json()["detail"]


def test_kept_fields(client_of, tmp_path):
    folder = tmp_path / "events"
    client = client_of(events=folder)
    position = {"position": {"ordinal": 2}, "object": {"object_id": "paris hotels"}}
    answer = kept(
        client,
        impression(1, session_id="s", application="suggest", timestamp="2000-01-01T00:00:00Z"),
        click(1, session_id="s", message="paris hotels", event_attributes=position),
        {"action_name": "search", "client_id": "c", "session_id": "s", "message": "Paris Hôtels"},
    )
    assert answer.json() == {"kept": 3}
    shown, chosen = rows_in(folder, EVENTS)
    assert shown.pop("timestamp") > "2026" and chosen.pop("timestamp")
    assert shown == {
        "action_name": "impression",
        "application": "suggest",
        "session_id": "s",
        "query_id": query_id(1),
    }
    assert chosen == {
        "action_name": "click",
        "application": "",
        "session_id": "s",
        "query_id": query_id(1),
        "event_attributes": {"position": {"ordinal": 2}},
    }
    (asked,) = rows_in(folder, QUERIES)
    assert asked["user_query"] == "Paris Hôtels" and asked["client_id"] == "c"


def test_prefixes_are_never_recorded(client_of, tmp_path):
    client = client_of(events=tmp_path / "events")
    for end in range(1, 6):
        client.post("/v1/complete", json={"prefix": "paris"[:end], "session_id": "s"})
    search = {"action_name": "search", "session_id": "s", "client_id": "c", "message": "paris"}
    kept(client, search)
    (row,) = rows_in(tmp_path / "events", QUERIES)
    assert row["user_query"] == "paris" and row["client_id"] == "c"
    assert rows_in(tmp_path / "events", EVENTS) == []


@pytest.mark.parametrize(
    "event",
    [
        {"action_name": "impression"},
        {"action_name": "click", "query_id": "made up"},
        {"action_name": "purchase", "query_id": query_id(1)},
        {"action_name": "search", "client_id": "c"},
        {"action_name": "search", "client_id": "c", "message": " "},
        {"action_name": "search", "message": "paris"},
        {"action_name": "search", "session_id": "s", "message": "paris"},  # a session is no person
        {"action_name": "click", "query_id": query_id(1), "event_attributes": {"position": 3}},
        {"query_id": query_id(1)},
    ],
    ids=str,
)
def test_invalid_events(client_of, tmp_path, event):
    client = client_of(events=tmp_path / "events")
    assert kept(client, impression(1), event).status_code == 422
    assert list((tmp_path / "events").iterdir()) == []  # all events of a request, or none


# --- files ---------------------------------------------------------------------------------------


class Clock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


def test_a_clock_that_goes_backwards(tmp_path):
    clock = Clock(NOON)
    log = EventLog(tmp_path, 30, clock)
    for seconds in (0, -3 * DAY, 1, -5, 2):
        clock.now = NOON + seconds
        log.append([(EVENTS, {"n": seconds})])
    times = [row["timestamp"] for row in rows_in(tmp_path, EVENTS)]
    assert times == [
        f"2026-03-01T12:00:0{seconds}Z"
        for seconds in ("0.000000", "0.000001", "1.000000", "1.000001", "2.000000")
    ]
    assert [path.name for path in tmp_path.iterdir()] == [f"events.2026-03-01.{os.getpid()}.jsonl"]


def search(client_id, message):
    return {"action_name": "search", "client_id": client_id, "message": message}


@pytest.mark.parametrize("others", [False, True])
def test_searches_of_one_request_keep_their_order(client_of, tmp_path, others):
    """Read as the documentation says. Equal seconds would be sorted by the alphabet."""
    queries = ["rome metro", "paris", "rome hotels"]
    events = [search("c", query) for query in queries]
    if others:  # of another client and with other actions between them
        events[1:1] = [search("d", "x"), impression(1), search("d", "b"), search("d", "a")]
    assert kept(client_of(events=tmp_path / "events"), *events).status_code == 200
    rows = rows_in(tmp_path / "events", QUERIES)
    times = [row["timestamp"] for row in rows]
    assert times == sorted(set(times)) and len(rows) == len(events) - others
    run(
        f"{sys.executable} -m mtn_preprocess.log_to_sessions '{tmp_path}/events/queries.*.jsonl'"
        " --user-column client_id --query-column user_query --time-column timestamp"
        f" --time-format iso --min-queries 3 --split 100,0,0 --output {tmp_path}/text"
    )
    sessions = (tmp_path / "text/train.session").read_text().splitlines()
    expected = ["rome metro", "rome metro <q> paris"] + others * ["x", "x <q> b"]
    assert sessions == expected
    nexts = (tmp_path / "text/train.next").read_text().splitlines()
    assert nexts == ["paris", "rome hotels"] + others * ["b", "a"]


def test_times_of_one_request(tmp_path):
    """The last one has the time of the clock, and none is later, even if the clock goes back."""
    clock = Clock(NOON)
    log = EventLog(tmp_path, 30, clock)
    for client_ids in ("ccd", "ab"):
        log.append([(QUERIES, {"client_id": each}) for each in client_ids])
        clock.now -= DAY
    assert [row["timestamp"][11:] for row in rows_in(tmp_path, QUERIES)] == [
        "11:59:59.000000Z",
        "12:00:00.000001Z",
        "12:00:00.000002Z",
        "12:00:00.000003Z",
        "12:00:00.000004Z",
    ]


def test_old_files_are_deleted_and_nothing_else(tmp_path):
    for name in ("events.2026-01-29.7.jsonl", "queries.2026-01-30.7.jsonl", "events.2020.jsonl"):
        (tmp_path / name).write_text("{}\n")
    clock = Clock(NOON)
    log = EventLog(tmp_path, 30, clock)
    log.append([(QUERIES, {"n": 1})])
    own = f"queries.2026-03-01.{os.getpid()}.jsonl"
    assert {path.name for path in tmp_path.iterdir()} == {
        "queries.2026-01-30.7.jsonl",
        "events.2020.jsonl",
        own,
    }
    clock.now += 31 * DAY
    log.append([(QUERIES, {"n": 2})])
    left = {path.name for path in tmp_path.iterdir()}
    assert own not in left and f"queries.2026-04-01.{os.getpid()}.jsonl" in left


def test_a_full_disk_leaves_no_partial_line_and_lists_still_work(client_of, tmp_path, monkeypatch):
    client = client_of(events=tmp_path / "events")
    assert kept(client, impression(1)).status_code == 200
    real = open

    class Full:
        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.stream.close()

        def write(self, content):
            return self.stream.write(content[: len(content) // 2])  # until the disk is full

        def __getattr__(self, name):
            return getattr(self.stream, name)

    monkeypatch.setattr(
        events_module, "open", lambda *args, **how: Full(real(*args, **how)), raising=False
    )
    answer = kept(client, impression(2), impression(3))
    assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
    assert "could not be stored" in answer.json()["detail"]
    assert client.post("/v1/suggest", json={"session": ["paris"]}).json()["suggestions"]
    monkeypatch.undo()
    assert kept(client, impression(4)).status_code == 200
    assert [row["query_id"] for row in rows_in(tmp_path / "events", EVENTS)] == [
        query_id(1),
        query_id(4),
    ]
    text = client.get("/metrics").text
    assert 'mtn_events_total{result="kept"} 2.0' in text
    assert 'mtn_events_total{result="lost"} 2.0' in text


def test_a_folder_that_cannot_be_made(client_of, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="give --events another folder"):
        client_of(events=tmp_path / "file" / "events")


# --- rates ---------------------------------------------------------------------------------------


def test_wilson_by_hand():
    """2 of 10: 5.7 % to 51.0 % (textbook); 0 of 10: 0 to z²/(10 + z²)."""
    low, high = wilson(0.2, 10)
    assert (round(low, 4), round(high, 4)) == (0.0567, 0.5098)
    low, high = wilson(0.0, 10)
    assert low == 0 and round(high, 4) == 0.2775


def test_lists_of_one_session_are_not_independent():
    """Two sessions of 10 lists, one with all lists clicked, one with none, count as two lists."""
    assert design_effect([(10, 10), (10, 0)]) == pytest.approx(10)
    clustered, alone = rate_of([(10, 10), (10, 0)]), rate_of([(1, 1), (1, 0)] * 10)
    assert (clustered.rate, alone.rate) == (0.5, 0.5)
    assert clustered.high - clustered.low > 1.9 * (alone.high - alone.low)
    assert design_effect([(1, 1)]) == design_effect([(3, 0), (4, 0)]) == 1


def test_the_difference_by_hand():
    """Newcombe's own example, 56 of 70 and 48 of 80: 0.2 (0.0524 to 0.3339)."""
    found = difference(
        rate_of([(1, n < 56) for n in range(70)]), rate_of([(1, n < 48) for n in range(80)])
    )
    assert [round(value, 4) for value in found] == [0.2, 0.0524, 0.3339]


def test_rates_of_two_bundles(tmp_path, capsys):
    log = EventLog(tmp_path, 30, Clock(NOON))
    events = [impression(n, session_id=f"s{n}") for n in range(100)]
    events += [impression(n, "challenger", session_id=f"t{n}") for n in range(100)]
    events += [click(n) for n in range(10)] + [click(n, "challenger") for n in range(40)]
    events += [click(3), impression(4)]  # reported twice
    events += [click(777)]  # never shown
    events += [impression(n, session_id="z", application="complete") for n in range(1000, 1004)]
    log.append([(EVENTS, {"application": "suggest", **event}) for event in events])
    (tmp_path / "events.2026-03-01.1.jsonl").write_text('{"cut off\n[]\n{}\n')
    rates = {
        (group.application, group.arm): (rate.sessions, rate.shown, rate.clicked)
        for group, rate in summarise(tmp_path).rates.items()
    }
    assert rates == {
        ("suggest", "champion"): (100, 100, 10),
        ("suggest", "challenger"): (100, 100, 40),
        ("complete", "champion"): (1, 4, 0),
    }
    main([str(tmp_path)])
    said = capsys.readouterr()
    assert "| suggest | champion | abc123 | 100 | 100 | 10 | 10.00% | 5.52% to 17.44% |" in said.out
    assert "challenger abc123 less champion abc123: +30.00 points (+18.28 to +40.77): better" in (
        said.out
    )
    for line in ("2 left out: damaged", "1 left out: no query_id", "1 left out: clicks of lists"):
        assert line in said.err


def test_no_events(tmp_path):
    with pytest.raises(InputError, match="give the folder of mtn-serve --events"):
        summarise(tmp_path)
