"""The table of next queries: by hand, by brute force, on disk, and damaged."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_pairs import Pair
from mtn_serving.commands.count_next import main
from mtn_serving.counting import count_next_queries
from mtn_serving.kept_folder import content_checksum
from mtn_serving.next_queries import KIND, NextQueries
from mtn_serving.ranked_lists import RankedLists
from mtn_serving.suggester import Suggester
from mtn_serving.text_pool import TextPool

SESSIONS = [["a", "b", "c"], ["a", "b", "d"], ["x", "a", "c"], ["a", "d"]]


def pairs_of(sessions):
    return [
        Pair(" <q> ".join(session[:t]), session[t])
        for session in sessions
        for t in range(1, len(session))
    ]


def table_of(sessions, **options):
    return count_next_queries(pairs_of(sessions), **options)


def by_brute_force(sessions, asked, longest):
    """[(query, share)] by the longest context, then by shorter ones."""
    ranked = {}
    for length in range(min(longest, len(asked)), 0, -1):
        context = asked[-length:]
        followers = [
            session[t]
            for session in sessions
            for t in range(length, len(session))
            if session[t - length : t] == context
        ]
        for query in sorted(set(followers), key=lambda each: (-followers.count(each), each)):
            ranked.setdefault(query, followers.count(query) / len(followers))
    return list(ranked.items())


def write(folder, sessions, users=None):
    pairs = pairs_of(sessions)
    (folder / "train.session").write_text("".join(f"{pair.source}\n" for pair in pairs), "utf-8")
    (folder / "train.next").write_text("".join(f"{pair.next_query}\n" for pair in pairs), "utf-8")
    if users is not None:
        (folder / "train.user").write_text("".join(f"{user}\n" for user in users))


# --- suggestions ----------------------------------------------------------------------------------


def test_longer_contexts_come_first():
    table = table_of(SESSIONS)
    assert table.suggest(["a"], 9) == [("b", 0.5), ("c", 0.25), ("d", 0.25)]
    assert table.suggest(["x", "a"], 9) == [("c", 1.0), ("b", 0.5), ("d", 0.25)]
    assert table.suggest(["x", "a", "b"], 9) == [("c", 0.5), ("d", 0.5)]
    assert table.suggest(["c"], 9) == table.suggest(["a", "never seen"], 9) == []
    assert table.suggest(["x", "a"], 2) == [("c", 1.0), ("b", 0.5)]


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "a b", "é", "中"]), min_size=2, max_size=6)),
    st.lists(st.sampled_from(["a", "b", "a b", "é", "new"]), min_size=1, max_size=5),
    st.integers(1, 4),
)
def test_suggestions_equal_brute_force(sessions, asked, longest):
    found = table_of(sessions, longest=longest).suggest(asked, 99)
    expected = by_brute_force(sessions, asked, longest)
    assert found == [(query, pytest.approx(share)) for query, share in expected]


def test_popularity():
    """`a` began three sessions and is a later query of another."""
    table = table_of(SESSIONS)
    asked = {query: int(count) for query, count in zip(table.queries, table.asked)}
    assert asked == {"a": 4, "b": 2, "c": 2, "d": 2, "x": 1}
    assert table.asked_next.tolist() == [1, 2, 2, 2, 0]


def test_queries_of_a_word_by_popularity():
    table = table_of([["red car", "car"], ["red car", "car wash"], ["x", "car"]])
    items, counts = table.queries_of_word[table.words.find("car")]
    assert [table.queries[item] for item in items] == ["car", "red car", "car wash"]
    assert counts.tolist() == [2, 2, 1]


def test_a_change_counts_once_per_pair_of_queries():
    sessions = 5 * [["cheap cars", "old cars"]] + [["cheap flats", "old flats"]]
    sessions += 5 * [["red cars", "blue cars"]]  # one pair of queries only
    table = table_of(sessions)
    items, counts = table.changes[table.words.find("cheap")]
    assert [table.words[item] for item in items] == ["old"] and counts.tolist() == [2]
    assert table.changes[table.words.find("red")][0].tolist() == []


# --- few users ------------------------------------------------------------------------------------


def test_queries_of_few_users_are_left_out():
    """One person asked `rare`, six times: it is neither suggested nor a context."""
    sessions = [*5 * [["a", "rare", "b"]], ["a", "b"], ["rare", "b"]]
    users = [*10 * [1], 2, 1]
    table = table_of(sessions, users=users, min_users=2)
    assert list(table.queries) == ["a", "b"]
    assert table.suggest(["a"], 9) == [("b", 1.0)]
    assert table.suggest(["rare"], 9) == table.suggest(["a", "rare"], 9) == []
    assert table.facts["queries_of_too_few_users"] == 1
    assert len(table_of(sessions, users=users, min_users=1).queries) == 3


@given(st.integers(0, 2**32), st.integers(1, 3))
def test_counts_of_the_remaining_queries_do_not_change(seed, min_users):
    rng = random.Random(seed)
    sessions = [[rng.choice("abcde") for _ in range(rng.randint(2, 5))] for _ in range(8)]
    who = [rng.randrange(4) for _ in sessions]
    users = [who[i] for i, session in enumerate(sessions) for _ in session[1:]]
    askers = {query: set() for query in "abcde"}
    for user, session in zip(who, sessions):
        for query in session:
            askers[query].add(user)
    table = table_of(sessions, users=users, min_users=min_users)
    kept = sorted(query for query in askers if len(askers[query]) >= min_users)
    assert [query for query in table.queries if askers[query]] == [q for q in kept if askers[q]]
    for query in kept:
        followers = [
            session[t]
            for session in sessions
            for t in range(1, len(session))
            if session[t - 1] == query and session[t] in kept
        ]
        found = dict(table.suggest([query], 99))
        assert found == {each: followers.count(each) / len(followers) for each in followers}


@pytest.mark.parametrize("users", [[1], [1, 2, 3]])
def test_users_and_pairs_must_have_the_same_number(users):
    with pytest.raises(InputError, match="not of the same number"):
        table_of([["a", "b", "c"]], users=users)


def test_very_long_contexts():
    session = [f"q{number}" for number in range(300)]
    table = table_of([session, ["q298", "other"]], longest=290)
    assert table.suggest(session[:-1], 9) == [("q299", 1.0), ("other", 0.5)]
    assert len(table.contexts(session[:-1])) == 290


def test_min_users_needs_the_file_of_users(tmp_path):
    write(tmp_path, SESSIONS)
    with pytest.raises(InputError, match=r"train\.user: no such file.*--users"):
        main(["--train", f"{tmp_path}/train", "--output", f"{tmp_path}/table", "--min-users", "2"])
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize("user", ["bob", "-1", "²", str(1 << 32)])
def test_a_damaged_file_of_users(tmp_path, user):
    write(tmp_path, [["a", "b", "c"]], ["1", user])
    with pytest.raises(InputError, match=r"train\.user:2: not a number"):
        main(["--train", f"{tmp_path}/train", "--output", f"{tmp_path}/table"])


# --- on disk --------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    write(tmp_path, SESSIONS, [1, 1, 2, 2, 3, 3, 1])
    main(["--train", f"{tmp_path}/train", "--output", f"{tmp_path}/table", "--min-users", "1"])
    return tmp_path / "table"


def test_an_opened_table_equals_the_saved_one(saved):
    table = NextQueries.open(saved)
    assert table.suggest(["x", "a"], 9) == [("c", 1.0), ("b", 0.5), ("d", 0.25)]
    assert table.facts["pairs"] == 7
    maps = table.queries.letters, table.context_keys, table.followers.items
    assert all(isinstance(each.base, np.memmap) for each in maps)


def test_a_table_is_replaced_as_a_whole(saved):
    table_of([["a", "z"]]).save(saved)
    assert NextQueries.open(saved).suggest(["a"], 9) == [("z", 1.0)]
    assert {path.name for path in saved.parent.iterdir()} == {
        "table",
        "train.next",
        "train.session",
        "train.user",
    }


def test_nothing_else_is_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("ten years")
    with pytest.raises(InputError, match="something else is there already, no next queries"):
        table_of(SESSIONS).save(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "ten years"


def test_a_refused_output_is_reported_before_the_work(tmp_path):
    """The text is not read: there is none."""
    (tmp_path / "thesis.txt").write_text("ten years")
    with pytest.raises(InputError, match="something else is there already"):
        main(["--train", "none", "--output", str(tmp_path)])


def test_the_number_of_queries_left_out_is_reported(tmp_path, capsys):
    """By default, queries of one person are left out if people are known."""
    write(tmp_path, [["a", "b"]], ["1"])
    line = ["--train", f"{tmp_path}/train", "--output", f"{tmp_path}/table"]
    main([*line, "--min-users", "1"])
    found = capsys.readouterr().err
    assert found.endswith(f"after 1 contexts; in {tmp_path}/table\n") and "left out" not in found
    for more, said in (["--min-users", "2"], False), ([], True):
        main([*line, *more])
        found = capsys.readouterr().err
        assert "0 queries after 0 contexts, 2 queries of fewer than 2 users left out" in found
        assert (f"found {tmp_path}/train.user: queries of fewer than 2 people" in found) == said
        assert NextQueries.open(tmp_path / "table").suggest(["a"], 9) == []
    (tmp_path / "train.user").unlink()
    main(line)
    assert "no " in capsys.readouterr().err
    assert NextQueries.open(tmp_path / "table").suggest(["a"], 9) == [("b", 1.0)]


def test_an_empty_folder_and_the_target_of_a_link_are_replaced(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for sessions in (SESSIONS, [["a", "z"]]):
        table_of(sessions).save(tmp_path / "link")
    assert NextQueries.open(tmp_path / "empty").suggest(["a"], 9) == [("z", 1.0)]
    assert {path.name for path in tmp_path.iterdir()} == {"empty", "link"}


def test_an_output_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        table_of(SESSIONS).save(tmp_path / "file" / "table")


def edit_header(folder, signed=True, **changes):
    """Change a header; if signed, its checksum is valid, as if another version had written it."""
    header = {**json.loads((folder / "header.json").read_text()), **changes}
    checksum = header.pop("sha256")
    checksum = content_checksum(header) if signed else checksum
    (folder / "header.json").write_text(json.dumps({**header, "sha256": checksum}))


def flip(file, bit):
    content = bytearray(file.read_bytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    file.write_bytes(content)


# Headers that break Python's parser, each in a different way.
MONSTERS = {
    "deeply nested": "[" * 100_000 + "]" * 100_000,
    "nested within": '{"kind": "next queries", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "a long number": '{"kind": "next queries", "schema": 1' + "0" * 5_000 + "}",
}


def change_length(folder, name, length):
    lengths = json.loads((folder / "header.json").read_text())["lengths"]
    edit_header(folder, lengths={**lengths, name: length})


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda folder: (folder / "header.json").unlink(), "it has no header.json"),
        (lambda folder: (folder / "header.json").write_text("{"), "damaged"),
        (lambda folder: (folder / "header.json").write_text("[]"), "damaged"),
        (lambda folder: edit_header(folder, lengths=[]), "header.json: of another version; run"),
        (lambda folder: edit_header(folder, lengths={}), "header.json: of another version; run"),
        (lambda folder: change_length(folder, "asked", -1), "header.json: damaged"),
        (lambda folder: change_length(folder, "asked", 1), "not of the length of queries_ends"),
        (lambda folder: change_length(folder, "asked", 10**9), "asked.npy: cannot be mapped"),
        (lambda folder: edit_header(folder, files={}), "npy: missing or damaged"),
        (lambda folder: edit_header(folder, kind="recipes"), "not of next queries"),
        (lambda folder: edit_header(folder, schema=99), "of schema 99, not 2; run mtn-count-next"),
        (lambda folder: edit_header(folder, schema=1, signed=False), "of schema 1, not 2; run"),
        (lambda folder: edit_header(folder, schema="x"), "header.json: damaged"),
        (lambda folder: edit_header(folder, pairs=8, signed=False), "header.json: damaged"),
        (lambda folder: (folder / "followers.npy").unlink(), "followers.npy: missing or damaged"),
        (lambda folder: (folder / "asked.npy").write_bytes(b"x"), "asked.npy: missing or damaged"),
        (lambda folder: (folder / "asked.npy").write_bytes(b""), "asked.npy: missing or damaged"),
        (
            lambda folder: (folder / "asked.npy").write_bytes(
                (folder / "asked.npy").read_bytes()[:-1]
            ),
            "asked.npy: missing or damaged",
        ),
        (
            lambda folder: np.save(folder / "asked.npy", np.zeros(3, np.uint32)),
            "asked.npy: missing or damaged",
        ),
        *(
            (
                lambda folder, monster=monster: (folder / "header.json").write_text(monster),
                "header.json: damaged; run mtn-count-next again",
            )
            for monster in MONSTERS.values()
        ),
    ],
)
def test_a_damaged_table_gives_one_line_of_error(saved, damage, message):
    damage(saved)
    with pytest.raises(InputError, match=message) as error:
        NextQueries.open(saved)
    assert "\n" not in str(error.value)


ARRAYS = sorted(KIND.files)


@pytest.mark.parametrize("name", ["header.json", *ARRAYS])
def test_a_flipped_bit(saved, name):
    """Checksums always detect it. Without them, a lookup detects it or gives a result: no crash."""
    rng = random.Random(name)
    whole = (saved / name).read_bytes()
    for _ in range(20):
        flip(saved / name, rng.randrange(8 * len(whole)))
        if name != "header.json":  # some bits of a header only change white space
            with pytest.raises(InputError, match=f"{name}: damaged .*; run mtn-count-next again"):
                NextQueries.open(saved, verify=True)
        try:
            suggester = Suggester(NextQueries.open(saved))
            for session in (["a"], ["x", "a"], ["x", "a", "b"], ["b x", "a"]):
                suggester.suggest(session)
                list(suggester.describe([session]))
        except InputError as error:
            assert "damaged" in str(error) or "another" in str(error) or "not of" in str(error)
            assert str(saved) in str(error) and "\n" not in str(error)
        (saved / name).write_bytes(whole)
    assert NextQueries.open(saved, verify=True).facts["pairs"] == 7


def test_opening_reads_no_array(saved):
    """Their lengths are enough."""
    for name in ARRAYS:
        flip(saved / name, -1)
    NextQueries.open(saved)


def test_other_files_are_not_deleted(saved):
    """Saving is refused, and the command refuses before the long work."""
    (saved / "thesis.txt").write_text("ten years")
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    refused = r"table: holds thesis\.txt, which mtn-count-next did not write; it is not deleted"
    with pytest.raises(InputError, match=refused):
        table_of(SESSIONS).save(saved)
    with pytest.raises(InputError, match=refused):
        main(["--train", "none", "--output", str(saved)])
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before


def test_a_file_that_appears_meanwhile_is_not_deleted(saved, monkeypatch):
    save = np.save

    def save_and_disturb(*args, **options):
        save(*args, **options)
        (saved / "thesis.txt").write_text("ten years")

    monkeypatch.setattr(np, "save", save_and_disturb)
    with pytest.raises(InputError, match=r"holds thesis\.txt"):
        table_of(SESSIONS).save(saved)
    assert (saved / "thesis.txt").read_text() == "ten years"


def test_a_folder_named_like_a_file_of_the_table_is_not_deleted(saved):
    (saved / "asked.npy").unlink()
    (saved / "asked.npy").mkdir()
    (saved / "asked.npy" / "thesis.txt").write_text("ten years")
    with pytest.raises(InputError, match=r"table: holds asked\.npy/, which mtn-count-next did not"):
        main(["--train", "none", "--output", str(saved)])
    assert (saved / "asked.npy" / "thesis.txt").read_text() == "ten years"


@pytest.mark.parametrize("header", [*MONSTERS.values(), "", "[]", "{"])
def test_a_table_with_a_damaged_header_is_replaced(saved, header):
    """As the error message recommends."""
    (saved / "header.json").write_text(header)
    with pytest.raises(InputError, match=r"damaged.*; run mtn-count-next again"):
        NextQueries.open(saved)
    main(["--train", str(saved.parent / "train"), "--output", str(saved)])
    NextQueries.open(saved, verify=True)


def test_a_damaged_header_beside_other_files(saved):
    (saved / "header.json").write_text("{")
    (saved / "thesis.txt").write_text("ten years")
    with pytest.raises(InputError, match="something else is there already, no next queries"):
        main(["--train", "none", "--output", str(saved)])
    assert (saved / "thesis.txt").exists()


@pytest.mark.parametrize("monster", MONSTERS)
def test_a_folder_with_only_a_monster_header_is_not_replaced(tmp_path, monster):
    (tmp_path / "header.json").write_text(MONSTERS[monster])
    with pytest.raises(InputError, match="something else is there already, no next queries"):
        main(["--train", "none", "--output", str(tmp_path)])


# --- parts of the table ---------------------------------------------------------------------------


@given(st.sets(st.text(st.characters(exclude_categories=["Cs"]))), st.text(max_size=3))
def test_text_pool(texts, wanted):
    pool = TextPool.of(texts)
    assert list(pool) == sorted(texts)
    for place, text in enumerate(sorted(texts)):
        assert pool.find(text) == place and pool[place] == text
    assert (pool.find(wanted) is None) == (wanted not in texts)
    prefix = wanted[:1]
    starting = [pool[place] for place in pool.starting_with(prefix)]
    assert starting == [text for text in sorted(texts) if text.startswith(prefix)]


@pytest.mark.parametrize("count", [1023, 1024, 1025, 5000])
def test_many_texts_are_found(count):
    """Some are decoded in advance, the others are between two of these."""
    rng = random.Random(count)
    texts = {"".join(rng.choices("ab é\U0001f600", k=rng.randint(0, 12))) for _ in range(2 * count)}
    texts = sorted(texts)[:count]
    pool = TextPool.of(texts)
    assert [pool.find(text) for text in texts] == list(range(count))
    assert all(pool.find(text + "\0") is None for text in texts)
    assert pool.find("\ud800") is None  # half a character: no file has it, but a request may
    for prefix in ("", "a", "b é", "\U0001f600"):
        found = [pool[place] for place in pool.starting_with(prefix)]
        assert found == [text for text in texts if text.startswith(prefix)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4))))
def test_ranked_lists(events):
    lists = RankedLists.count([key for key, _ in events], [item for _, item in events], 5)
    for key in range(5):
        items = [item for of, item in events if of == key]
        ranked = sorted(set(items), key=lambda item: (-items.count(item), item))
        found, counts = lists[key]
        assert found.tolist() == ranked
        assert counts.tolist() == [items.count(item) for item in ranked]


def test_long_lists_are_truncated_at_the_end():
    keys, items = np.array([1, 1, 1, 2]), np.array([5, 6, 7, 8])
    lists = RankedLists.rank(keys, items, np.array([1, 3, 2, 1]), size=3, longest=2)
    assert [lists[key][0].tolist() for key in range(3)] == [[], [6, 7], [8]]
