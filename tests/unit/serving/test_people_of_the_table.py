"""Numbers of people per query, word and word pair: by hand, by brute force, and on disk."""

import json
import random
from itertools import chain, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_next_queries import edit_header, pairs_of, table_of

from mtn_preprocess.errors import InputError
from mtn_serving.counting import count_next_queries
from mtn_serving.next_queries import NextQueries
from mtn_serving.typed_words import EDGE

# Asked by the users 1, 2 and 1.
SESSIONS = [["red car", "car wash"], ["red car", "car wash"], ["old red car", "car wash", "tea"]]
USERS = [1, 2, 1, 1]


def users_after(table, query):
    (context,) = table.contexts([query])
    items, users = table.follower_users[context]
    assert items.tolist() == table.followers[context][0].tolist()
    return {table.queries[item]: count for item, count in zip(items.tolist(), users.tolist())}


# --- by hand --------------------------------------------------------------------------------------


def test_people_of_queries_and_of_followers():
    table = table_of(SESSIONS, users=USERS)
    assert table.has_users and table.facts["users"] == 2
    found = {query: table.users_of(number) for number, query in enumerate(table.queries)}
    assert found == {"car wash": 2, "old red car": 1, "red car": 2, "tea": 1}
    assert users_after(table, "red car") == {"car wash": 2}
    assert users_after(table, "old red car") == {"car wash": 1}
    assert table.total_asked == 7


def test_words_of_queries_that_too_few_asked():
    """One person asked `big tea`, another `big pot`; both typed `big`."""
    sessions = [["big tea", "x"], ["big pot", "x"], ["old pot", "x"]]
    table = table_of(sessions, users=[1, 2, 2], min_users=2)
    assert list(table.queries) == ["x"]
    known = [word for word in ("big", "old", "pot", "tea", "x", "new") if table.knows_word(word)]
    assert known == ["big", "x"]
    assert not table.knows_word_pair("big", "tea")
    assert list(table.words) == [EDGE, "big", "x"]  # no other word is stored


def test_pairs_of_neighbouring_words():
    table = table_of(SESSIONS, users=USERS, min_users=2)
    pairs = ("red car", "car wash", "old red", "car red", "wash tea", "car old", "never car")
    known = [pair for pair in pairs if table.knows_word_pair(*pair.split())]
    assert known == ["red car", "car wash"]
    assert table.knows_word_pair("red", "car", 2) and not table.knows_word_pair("red", "car", 3)


@pytest.mark.parametrize(
    "min_users, seldom_last",
    [(1, {"of", "map", "a", "rare"}), (2, {"of", "map"})],  # 2: one person of 20 may have done it
)
def test_words_that_hardly_anybody_puts_at_an_edge(min_users, seldom_last):
    """Of 50 people who type `of`, two end a query with it; of 20 who type `rare`, one starts with
    it, which is not seldom. Words that 19 people type are not judged."""
    queries = {f"map of {number}": [number] for number in range(50)}
    queries.update({"map of": [0, 1], "few maps": range(19), "rare map": [7]})
    queries.update({f"a rare {number}": [number] for number in range(20)})
    asked = [(user, [query, "x"]) for query, users in queries.items() for user in users]
    users, sessions = zip(*asked)
    table = table_of(sessions, users=users, min_users=min_users)
    assert table.seldom_first == {"of"} and table.seldom_last == seldom_last


def test_a_table_without_a_minimum_still_counts_people():
    table = table_of(SESSIONS, users=USERS, min_users=1)
    assert table.knows_word("old") and not table.knows_word("old", 2)
    assert table.knows_word_pair("old", "red") and not table.knows_word_pair("old", "red", 2)


def test_without_users_occurrences_are_counted():
    """`car` is in three queries; twice in one query counts once."""
    table = table_of([["car", "x"], ["big car car", "car"]])
    assert not table.has_users and table.follower_users is None and table.users_of(0) == 0
    assert table.knows_word("car", 3) and not table.knows_word("car", 4)
    assert table.knows_word_pair("car", "car", 1) and not table.knows_word_pair("car", "car", 2)


# --- by brute force -------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans())
def test_people_by_brute_force(seed, min_users, with_users):
    rng = random.Random(seed)
    texts = ["a", "b", "a b", "b a", "a b c", "c c", "d"]
    sessions = [[rng.choice(texts) for _ in range(rng.randint(2, 4))] for _ in range(9)]
    who = [rng.choice([0, 7, 2**32 - 1]) for _ in sessions]
    users = [user for user, session in zip(who, sessions) for _ in session[1:]]
    table = table_of(
        sessions, users=users if with_users else None, min_users=min_users if with_users else 1
    )
    asked = [(user, query) for user, session in zip(who, sessions) for query in session]
    if not with_users:  # as if each query came from a different person
        asked = [(number, query) for number, (_, query) in enumerate(asked)]

    def people(condition):
        return len({user for user, query in asked if condition(query.split())})

    smallest = table.facts["min_users"]
    for word in "abcd":
        count = people(lambda words, word=word: word in words)
        for least in range(1, 4):
            assert table.knows_word(word, least) == (count >= max(least, smallest))
    for pair in product("abcd", repeat=2):
        count = people(lambda words, pair=pair: pair in zip(words, words[1:]))
        assert table.knows_word_pair(*pair) == (count >= smallest)
    for word in "abcd":
        for place, pair in ((0, (EDGE, word)), (-1, (word, EDGE))):
            count = people(lambda words, word=word, place=place: words[place] == word)
            assert table.knows_word_pair(*pair) == (count >= smallest)
    for number, query in enumerate(table.queries) if with_users else ():
        assert table.users_of(number) == people(lambda words, query=query: words == query.split())
        for after, count in users_after(table, query).items() if table.contexts([query]) else ():
            pair = query, after
            having = zip(who, (zip(session, session[1:]) for session in sessions))
            assert count == len({user for user, pairs in having if pair in pairs})


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_data_does_not_matter(rng):
    people = list(zip(SESSIONS, [[1], [2], [1, 1]]))
    shuffled = rng.sample(people, len(people))
    tables = [
        count_next_queries(
            pairs_of(session for session, _ in each),
            list(chain.from_iterable(users for _, users in each)),
        )
        for each in (people, shuffled)
    ]
    for name in ("words", "word_users", "word_pairs", "word_pair_users"):
        one, other = (list(getattr(table.typed_words, name)) for table in tables)
        assert one == other
    one, other = tables
    assert one.users.tolist() == other.users.tolist() and one.facts == other.facts
    assert one.follower_users.counts.tolist() == other.follower_users.counts.tolist()


# --- on disk --------------------------------------------------------------------------------------


def as_earlier_code_wrote(folder):
    """Turn a table into one of an earlier version: without users and their arrays."""
    header = json.loads((folder / "header.json").read_text())
    new = ["users", "follower_users", "word_users", "word_pairs", "word_pair_users"]
    lengths = {name: size for name, size in header["lengths"].items() if name not in new}
    files = {name: facts for name, facts in header["files"].items() if name[:-4] not in new}
    for name in new:
        (folder / f"{name}.npy").unlink()
    del header["users"]
    (folder / "header.json").write_text(json.dumps(header))
    edit_header(folder, lengths=lengths, files=files)


@pytest.mark.parametrize("users", [USERS, None])
def test_numbers_of_people_are_saved(tmp_path, users):
    made = table_of(SESSIONS, users=users)
    made.save(tmp_path / "table")
    table = NextQueries.open(tmp_path / "table", verify=True)
    assert table.has_users == (users is not None) and table.total_asked == 7
    assert table.users.tolist() == made.users.tolist()
    assert table.knows_word_pair("old", "red") and not table.knows_word_pair("red", "old")
    if users is not None:
        assert users_after(table, "red car") == {"car wash": 2}


def test_tables_of_earlier_versions(tmp_path):
    table_of(SESSIONS, users=USERS).save(tmp_path / "table")
    as_earlier_code_wrote(tmp_path / "table")
    table = NextQueries.open(tmp_path / "table", verify=True)
    assert not table.has_users and table.follower_users is None and table.typed_words is None
    assert not table.knows_word("car") and not table.knows_word_pair("red", "car")
    assert table.suggest(["red car"], 9) == [("car wash", 1.0)]
    table.save(tmp_path / "again")
    again = NextQueries.open(tmp_path / "again", verify=True)
    assert again.typed_words is None and not again.has_users


@pytest.mark.parametrize("name", ["users", "follower_users", "word_users", "word_pair_users"])
def test_arrays_of_wrong_lengths(tmp_path, name):
    folder = tmp_path / "table"
    table_of(SESSIONS, users=USERS).save(folder)
    lengths = json.loads((folder / "header.json").read_text())["lengths"]
    edit_header(folder, lengths={**lengths, name: lengths[name] - 1})
    with pytest.raises(InputError, match="not of the length of"):
        NextQueries.open(folder)
