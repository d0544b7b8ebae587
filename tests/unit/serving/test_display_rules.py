"""What may be shown: each rule by hand, and all rules together for any candidates."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_next_queries import table_of
from test_people_of_the_table import as_earlier_code_wrote

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.block_lists import block_list, read_block_list
from mtn_preprocess.text.personal_data import has_personal_data
from mtn_preprocess.text.text_settings import SYMBOLS, TextSettings
from mtn_serving.candidates import BEAM, Candidate
from mtn_serving.display_rules import (
    ALLOW,
    EXPLICIT_WORDS,
    REASONS,
    DisplayFilter,
    DisplayRules,
    OwnText,
    read_rules,
)
from mtn_serving.engine import HistorySize, Hypotheses
from mtn_serving.next_queries import NextQueries
from mtn_serving.suggester import Suggester

# Asked by two people: `red car`, `car wash`, `tea`. By one: `secret`, `red tea`, `big pot`.
SESSIONS = [
    ["red car", "car wash"],
    ["red car", "car wash", "tea"],
    ["tea", "secret", "red tea", "big pot"],
]
USERS = [1, 2, 2, 1, 1, 1]
TABLES = {least: table_of(SESSIONS, users=USERS, min_users=least) for least in (1, 2)}


def shown(texts, session=("x",), rules=None, table=TABLES[2], history=(), text=None):
    """The texts that may be shown, and how many were held back for each reason."""
    held_back = Counter()
    candidates = [Candidate(each, BEAM) for each in texts]
    found = DisplayFilter(rules or DisplayRules(), table, text).shown(
        candidates, OwnText(session, history), held_back
    )
    return [each.text for each in found], dict(held_back)


# --- how many people ------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [1, 2])
def test_queries_of_one_person_are_not_shown(kept):
    """Whether the table leaves them out or not."""
    found = shown(["red car", "secret", "tea", "big pot"], table=TABLES[kept])
    assert found == (["red car", "tea"], {"few users": 2})
    found = shown(["secret"], table=TABLES[kept], rules=DisplayRules(min_users=0))
    assert found == (["secret"], {})


def test_made_up_text_by_its_word_pairs():
    """Two people typed each pair of `red car wash`; nobody typed `car tea` or `wash red`."""
    texts = ["red car wash", "car tea", "wash red", "red", "unheard"]
    assert shown(texts) == (["red car wash", "red"], {"few users": 3})


@pytest.mark.parametrize("kept", [1, 2])
def test_verdicts_of_a_batch_are_the_same_for_everybody(kept):
    """But what a person typed opens texts for this person only, in any order of requests."""
    display = DisplayFilter(DisplayRules(), TABLES[kept])
    texts = ["secret", "car tea", "tea unheard", "red car", "nude tea", "<email>", "bob gmail com"]
    candidates = [Candidate(each, BEAM) for each in texts]
    sessions = [["x"], ["secret"], ["car tea"], ["tea unheard"], ["nude"], ["bob gmail com"], ["x"]]
    verdicts = display.verdicts()
    for session in sessions:
        of_batch, alone = Counter(), Counter()
        found = display.shown(candidates, OwnText(session), of_batch, verdicts)
        assert found == display.shown(candidates, OwnText(session), alone)
        assert of_batch == alone
        assert [each.text for each in found if each.text in session] == [
            each for each in session if each in texts
        ]


def test_common_words_do_not_allow_a_query_of_one_person():
    """Two people typed `red` and `tea`, but only one asked `red tea`, and the table knows it."""
    assert shown(["red tea"], table=TABLES[1]) == ([], {"few users": 1})


def test_common_word_pairs_do_not_allow_a_query_of_one_person():
    """Two people typed `a b` and two `b c`; one asked `a b c`, which the table left out."""
    sessions = [["a b", "b c"], ["a b", "b c"], ["a b", "a b c"]]
    table = table_of(sessions, users=[1, 2, 3], min_users=2)
    assert table.queries.find("a b c") is None and table.was_left_out("a b c")
    assert not table.was_left_out("a b")
    assert shown(["a b c", "a b"], table=table) == (["a b"], {"few users": 1})


def test_two_people_are_too_few_for_a_minimum_of_three():
    assert shown(["red car"], rules=DisplayRules(min_users=3)) == ([], {"few users": 1})


def test_words_of_the_person_are_known():
    """Words of the session and of earlier sessions; pairs only as typed."""
    texts = ["my pot", "pot my", "my pot wash", "car wash my pot", "old thing tea"]
    found = shown(texts, session=["my pot"], history=["old thing"])
    assert found == (["my pot"], {"few users": 4})
    found = shown(["my car wash", "my red car"], session=["my car", "x"])
    assert found == (["my car wash"], {"few users": 1})


def test_own_queries_are_shown_to_the_person():
    assert shown(["secret", "unheard of"], session=["unheard of"], history=["secret"]) == (
        ["secret", "unheard of"],
        {},
    )
    assert shown(["secret", "unheard of"])[0] == []


def test_without_users_one_occurrence_is_enough():
    table = table_of(SESSIONS)
    assert shown(["secret", "red car wash", "wash red"], table=table) == (
        ["secret", "red car wash"],
        {"few users": 1},
    )
    rules = DisplayRules(min_users=2)  # times, because people are not known
    assert shown(["secret", "red car", "tea"], table=table, rules=rules)[0] == ["red car", "tea"]


def test_without_known_people_everything_is_shown_and_a_minimum_is_refused(tmp_path):
    TABLES[1].save(tmp_path / "table")
    as_earlier_code_wrote(tmp_path / "table")
    old = NextQueries.open(tmp_path / "table")
    for table, remedy in (None, "give --counts"), (old, "run mtn-count-next again"):
        assert shown(["secret", "made up"], table=table) == (["secret", "made up"], {})
        with pytest.raises(InputError, match=remedy):
            DisplayFilter(DisplayRules(min_users=2), table)
        DisplayFilter(DisplayRules(min_users=0), table)


# --- words ----------------------------------------------------------------------------------------


def test_the_block_list_holds_for_all_text(tmp_path):
    """Even for the person's own text: the operator decided never to show it."""
    (tmp_path / "blocked").write_text("# of us\nCar Wash\n/^t.a$/\n")
    rules = read_rules(block_list=tmp_path / "blocked")
    texts = ["red car wash", "red car", "tea", "car washer"]
    found = shown(texts, session=["tea", "car washer"], rules=rules)
    assert found == (["red car", "car washer"], {"block list": 2})


@pytest.mark.parametrize("text", [None, TextSettings(SYMBOLS)])
def test_the_block_list_is_matched_as_the_preparation_does(text):
    rules = DisplayRules(min_users=0, block_list=("at&t",))
    assert shown(["cheap at&t plans", "at home"], rules=rules, text=text)[0] == ["at home"]


def test_explicit_words_only_in_sessions_that_have_one():
    texts = ["red car", "car porn", "free-porn.com"]
    rules = DisplayRules(min_users=0)
    assert shown(texts, rules=rules) == (["red car"], {"explicit": 2})
    assert shown(texts, session=["tea", "xxx", "tea"], rules=rules) == (texts, {})
    # An earlier session does not make this one explicit.
    assert shown(texts, history=["car porn"], rules=rules) == (["red car"], {"explicit": 2})
    assert shown(texts, rules=rules._replace(explicit=())) == (texts, {})


def test_the_list_of_explicit_words_can_be_replaced(tmp_path):
    (tmp_path / "words").write_text("tea\n")
    rules = read_rules(min_users=0, explicit=tmp_path / "words")
    assert shown(["red tea", "porn"], rules=rules) == (["porn"], {"explicit": 1})
    assert shown(["red tea"], session=["tea"], rules=rules) == (["red tea"], {})


NOT_EXPLICIT = """
    breast cancer, sex education, sex and the city, middlesex, essex county, cockpit, scunthorpe,
    analysis, maine coon, spic and span, dick van dyke, adult education, gay marriage, document
"""


@pytest.mark.parametrize("text", [" ".join(each.split()) for each in NOT_EXPLICIT.split(",")])
def test_words_that_are_not_explicit(text):
    assert not block_list(read_block_list(EXPLICIT_WORDS))(text)


def test_the_bundled_list_names_each_word_once():
    entries = [each for each in read_block_list(EXPLICIT_WORDS) if not each.startswith("/")]
    assert len(set(entries)) == len(entries) > 100
    words = {each for each in entries if " " not in each}
    assert not [each for each in entries if " " in each and words & set(each.split())]


# --- personal data --------------------------------------------------------------------------------


def test_only_the_persons_own_personal_data_is_shown():
    rules = DisplayRules(min_users=0)
    texts = ["555 1234", "bob@example.com", "tea"]
    assert shown(texts, rules=rules) == (["tea"], {"personal data": 2})
    assert shown(texts, session=["555 1234"], history=["bob@example.com"], rules=rules)[0] == texts
    assert shown(texts, rules=rules._replace(personal_data=True))[0] == texts


def test_personal_data_in_the_form_that_would_be_shown():
    table = table_of([["x", "bob example com"]], forms={"bob example com": "bob@example.com"})
    assert shown(["bob example com"], table=table) == ([], {"personal data": 1})


ADDRESS, FORM = "anna keller firma xy de", "anna.keller@firma-xy.de"  # a host that no list has
FORMS = {ADDRESS: FORM}


def table_with_address(**options):
    """The address of one query was asked by three people, and words of it in others by two."""
    sessions = [["x", ADDRESS]] * 3 + [["x", "bosch anna", "bosch bohrer"]] * 2
    return table_of(sessions, users=[1, 2, 3, 1, 1, 2, 2], **options)


def without_its_rule(forms):
    """As earlier code counted: words of all queries, and then the forms."""
    table, known = table_with_address(), table_with_address(forms=forms)
    table.shown, table.forms = known.shown, known.forms
    return table


@pytest.mark.parametrize("table", [table_with_address(forms=FORMS), without_its_rule(FORMS)])
def test_composed_text_has_no_query_with_personal_data(table):
    for text in (f"bosch {ADDRESS}", f"{ADDRESS} bosch", f"bosch {ADDRESS} bosch"):
        own = OwnText([f"{text.split()[0]} bosch anna"])
        own.word_pairs |= set(zip(text.split(), text.split()[1:]))  # typed by this person
        own.words |= set(text.split())
        for allowed, wanted in ((False, []), (True, [text])):
            rules = DisplayRules(personal_data=allowed)
            found = DisplayFilter(rules, table).shown([Candidate(text, BEAM)], own)
            assert [each.text for each in found] == wanted
    suggester = Suggester(table)
    for prefix in ("bosch anna k", "bosch a", f"bosch {ADDRESS[:-1]}", "x anna keller f"):
        for each in suggester.complete([], prefix):
            assert "@" not in each.text and ADDRESS not in each.text


def test_no_words_of_a_query_with_personal_data_are_material():
    """Neither its words nor its pairs; those that people typed elsewhere, too, stay."""
    table = table_with_address(forms=FORMS, min_users=2)
    assert not table.knows_word("keller") and not table.knows_word_pair("anna", "keller")
    assert table.knows_word("anna", 2) and not table.knows_word("anna", 3)
    assert table.queries.find(ADDRESS) is not None  # what follows it is still known
    assert table_with_address(min_users=2).knows_word_pair("anna", "keller", 3)
    assert Suggester(table).complete([], "bosch anna ") == []


def test_rare_queries_with_personal_data_are_no_material():
    """Each was asked by one person, so neither is in the table; their common words would be."""
    invoice, order = ("invoice", "order")
    for address, typed in (
        ("max mustermann web de", None),  # recognised in normalised text
        ("anna keller huber de", "anna.keller@huber.de"),
    ):
        queries = [f"{word} {address}" for word in (invoice, order)]
        forms = typed and {f"{word} {address}": f"{word} {typed}" for word in (invoice, order)}
        table = table_of([["x", query] for query in queries], min_users=2, forms=forms)
        assert not any(map(table.knows_word, address.split()))
        first, second, *_ = address.split()
        assert not table.knows_word_pair(first, second)


def test_no_change_has_words_of_a_query_with_personal_data():
    """`pot` became `bob example com` in two queries, as an address in one of them."""
    sessions = [[f"{word} pot", f"{word} bob example com"] for word in ("red", "big")]
    forms = {"red bob example com": "red bob@example.com"}
    for some_forms, known in ((None, 1), (forms, 0)):
        table = table_of(sessions, forms=some_forms)
        number = table.words.find("pot")
        assert len(table.changes[number][0]) == known


def test_a_persons_own_query_is_not_shown_in_the_form_of_others():
    table = table_of([["x", "bob example com"]] * 2, forms={"bob example com": "bob@example.com"})
    (own,) = Suggester(table).suggest(["bob example com", "y"], 1)
    assert (own.text, own.query) == ("bob example com", "bob example com")
    allowed = Suggester(table, rules=DisplayRules(personal_data=True))
    assert allowed.suggest(["bob example com", "y"], 1)[0].text == "bob@example.com"


# --- settings -------------------------------------------------------------------------------------


def test_settings(tmp_path):
    assert read_rules() == DisplayRules() == (None, (), None, False)
    assert read_rules(0, None, ALLOW, ALLOW) == (0, (), (), True)
    with pytest.raises(InputError, match="check --explicit"):
        read_rules(explicit=tmp_path / "none")
    with pytest.raises(InputError, match="personal data: 'yes'; give 'allow'"):
        read_rules(personal_data="yes")


# --- all sources ----------------------------------------------------------------------------------

WORDS = ["red", "car", "wash", "tea", "secret", "pot", "porn", "blocked", "555 1234", "a@b.c"]
QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


def engine_of(beam):
    return SimpleNamespace(
        text_settings=None,
        settings_file=Path("text.json"),
        history_size=HistorySize(0, 0),
        sources=lambda lines: lines,
        beam_search=lambda size: lambda lines: [Hypotheses(beam) for _ in lines],
    )


@given(
    st.lists(QUERIES, max_size=8),
    st.lists(QUERIES, min_size=1, max_size=3),
    st.lists(QUERIES, max_size=2),
    st.sampled_from([1, 2]),
)
def test_all_rules_hold_for_any_candidates(beam, session, earlier, kept):
    table = TABLES[kept]
    rules = DisplayRules(block_list=("blocked",))
    suggester = Suggester(table, engine_of(beam), rules=rules)
    line = " <session> ".join([*earlier, " <q> ".join(session)])
    held_back = Counter()
    (found,) = suggester.suggest_many([line], 1000, held_back=held_back)
    everything = Suggester(table, engine_of(beam), rules=DisplayRules(0, (), (), True))
    (free,) = everything.suggest_many([line], 1000)
    assert sum(held_back.values()) == len(free) - len(found) and set(held_back) <= set(REASONS)
    texts = {each.query for each in found}
    assert texts <= {each.query for each in free}
    own = {*session, *earlier}
    pairs = {pair for query in own for pair in neighbours(query)}
    words = {word for query in own for word in query.split()}
    asked_by_two = {"red car", "car wash", "tea"}
    for text in texts:
        assert "blocked" not in text.split()
        assert "porn" not in text.split() or "porn" in " ".join(session).split()
        if text not in own:
            assert not has_personal_data(text)
            assert text in asked_by_two or (
                set(text.split()) <= words | {"red", "car", "wash", "tea"}
                and neighbours(text) <= pairs | {("red", "car"), ("car", "wash")}
            )
    for each in free:  # conversely, everything that may be shown is shown
        if each.query in own and not {"porn", "blocked"} & set(each.query.split()):
            assert each.query in texts


def neighbours(query):
    words = query.split()
    return set(zip(words, words[1:]))


# --- masks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["<email>", "<number>", "mail <email> now", "route <number>"])
def test_masks_are_no_queries(text):
    """Whoever asked it, and whatever is allowed."""
    table = table_of([["x", text], ["x", text]], users=[1, 2])
    assert shown([text], table=table) == ([], {"mask": 1})
    allowed = DisplayRules(min_users=0, personal_data=True)
    assert shown([text], (text,), allowed, table, [text]) == ([], {"mask": 1})
    suggester = Suggester(table, rules=allowed)
    assert suggester.suggest([text, "x"], history=[["x", text]]) == [
        each for each in suggester.suggest([text, "x"]) if "<" not in each.text
    ]
    assert suggester.complete([], text[:2]) == [] == suggester.complete("x", text.split()[0][:1])


def test_words_that_only_look_like_masks_are_shown():
    allowed = DisplayRules(min_users=0)
    assert shown(["email", "number 1", "<url>"], rules=allowed)[0] == ["email", "number 1", "<url>"]
