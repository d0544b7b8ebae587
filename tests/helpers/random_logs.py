"""Random logs and rules with many kinds of faults: for hypothesis, and from a seed."""

from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import List, NamedTuple, Sequence, Tuple

from hypothesis import strategies as st
from reference_sessions import HEADER, SHORT_HEADER

from mtn_preprocess.rules import Rules
from mtn_preprocess.text.text_settings import CHARACTERS

USERS = ("1", "2", "10", " 2", "é", "\u00a0")
# Preparation of such logs: any year, any number of malformed lines.
ANY_LOG = {"time_range": (-(10**12), 10**12), "max_bad_rows": 100}
# Close to the gaps below; most often the same second.
STEPS = (0, 0, 0, 1, 1, 29, 30, 60, 965, 966, 1799, 1800, 100_000)
GAPS = (30, 30, 0.5, 16.1)
FIRST_DAYS = (
    datetime(2006, 3, 1, 23, 59, 40),
    datetime(1969, 12, 31, 23, 59, 58),
    datetime(1, 1, 1),
    datetime(9990, 1, 1),
)
WORDS = (
    *("a", "b", "b", "C", "c", "A", "e-bay.com", "it's", "42", "7", "x2"),
    *("É", "é", "e\u0301", "Straße", "İ", "हिन्दी", "東京", "٣٤", "½", "\U0001f600", "\u00a0"),
    *("bob@mail.example.org", "BOB@x.y", "@", "a@b", "?", "-", "", "'", '"', "\\", "%", "\r"),
    *(
        "madeupword0001",
        "MadeUpWord0001",
        "madeupword12345",
        "C++",
        "c#.net,",
        "x\u2019s",
        ".5-6",
        "+a",
        "a+b",
        "&",
        "b...",
        "<q>",
        "<session>",
        "</s>",
        "<number>",
    ),
)
TIME = b"2006-03-01 10:00:00"
NO_ROWS = (
    b"",
    b" ",
    b"one column",
    b"8\tfour columns\t" + TIME + b"\t1",
    b"8\tsix columns\t" + TIME + b"\t1\t\t",
    b"8\tno such day\t2006-02-30 10:00:00\t\t",
    b"8\tno such hour\t2006-03-01 24:00:00\t\t",
    b"8\tcompact\t20060301T100000\t\t",
    b"8\tfraction\t" + TIME + b".7\t\t",
    b"8\tfive digits\t10000-01-01 00:00:00\t\t",
    b"8\tyear 0\t0000-01-01 00:00:00\t\t",
    b"8\tbefore Christ\t0044-03-15 (BC) 10:00:00\t\t",
    b"8\tforever\tinfinity\t\t",
    b"8\tno time\t\t\t",
    b"\tnobody\t" + TIME,
    b"  \tnobody\t" + TIME,
    b"\tnobody at no time\t\t\t",
    b"8\tcaf\xe9\t" + TIME + b"\t\t",
    b"8\tnot UTF-8 \xff and \0\t" + TIME,
    b"8\tnul\0byte\t" + TIME + b"\t\t",
    b"8\t" + b"long " * 14000 + b"\t" + TIME,
    HEADER.encode(),
    SHORT_HEADER.encode(),
)
BLOCK_LISTS = (
    (),
    (),
    ("a",),
    ("É B", "/^c/"),
    ("/a b|42/", "madeupword0001", "E-Bay"),
    ("C++", "it's"),
)
SPLITS = ("100,0,0", "100,0,0", "50,25,25", "0,50,50", "33.3,33.4,33.3", "0,0,100")

# Sessions that every rule below keeps, in every split: otherwise most logs have no output.
FILLING = [
    f"filling{user}\t{query}\t2006-03-{day:02} 10:00:0{second}\t\t".encode()
    for user in range(12)
    for day in (1, 2)
    for second, query in enumerate("xyz")
]

Issued = Tuple[str, str, int]  # user, what was typed, seconds since the user's query before


class Shape(NamedTuple):
    """How to write the same rows."""

    seed: int = 0
    files: int = 1
    shuffled: bool = False
    headers: bool = True
    line_end: bytes = b"\n"


def shares(text: str) -> Tuple[Decimal, ...]:
    """Shares as the flag --split reads them."""
    return tuple(map(Decimal, text.split(",")))


some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
some_text = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\t\n\0"), max_size=8
)
some_rows = st.lists(
    st.tuples(
        st.sampled_from(USERS),
        st.one_of(st.sampled_from(WORDS), some_words, some_text),
        st.sampled_from(STEPS),
    ),
    min_size=8,
    max_size=60,
)
# Lines that are not rows.
some_others = st.builds(
    lambda no_rows, filling: no_rows + filling,
    st.lists(st.sampled_from(NO_ROWS), max_size=5),
    st.sampled_from([FILLING] * 5 + [[]]),
)
some_shape = st.builds(
    Shape,
    st.integers(0, 99),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.sampled_from([b"\n", b"\r\n"]),
)
some_rules = st.builds(
    Rules,
    gap_minutes=st.sampled_from(GAPS),
    min_queries=st.integers(2, 3),
    max_queries=st.integers(3, 6),
    max_query_tokens=st.sampled_from([1, 2, 3, 10]),
    min_users=st.sampled_from([1, 1, 2]),
    block_list=st.sampled_from(BLOCK_LISTS),
    characters=st.sampled_from(CHARACTERS),
    mask_numbers=st.booleans(),
    mask_emails=st.booleans(),
    split=st.sampled_from(SPLITS).map(shares),
    split_by=st.sampled_from(["session", "user", "time"]),
    seed=st.integers(0, 9),
    history=st.integers(0, 3),
    train_queries=st.sampled_from([None, None, (2, 6), (2, 8)]),
    past=st.sampled_from([0, 0, 1, 4, 50]),
)


def row_lines(rows: Sequence[Issued], first_day: datetime) -> List[bytes]:
    """Rows as lines, sorted by time for each user."""
    clock = dict.fromkeys(USERS, first_day)
    lines = []
    for number, (user, typed, step) in enumerate(rows):
        clock[user] += timedelta(seconds=step)
        click = ("\t\t", "", "\t1\thttp://a.example.com")[number % 3]
        time = clock[user].isoformat(" ")  # not strftime: its %Y may lack zeros
        lines.append(f"{user}\t{typed}\t{time}{click}".encode())
    return lines


def log_files(lines: Sequence[bytes], shape: Shape) -> List[bytes]:
    """Lines as the contents of non-empty files."""
    dice = Random(shape.seed)
    lines = list(lines)
    if shape.shuffled:
        dice.shuffle(lines)
    files: List[List[bytes]] = [[HEADER.encode()] * shape.headers for _ in range(shape.files)]
    for line in lines:
        dice.choice(files).append(line)
    contents = [shape.line_end.join([*file, b""]) for file in files]
    if shape.seed % 2:  # the last line may lack its end
        contents[-1] = contents[-1].rstrip(b"\r\n")
    return [content for content in contents if content]


def a_log(seed: int, rows: int, shape: Shape, first_day: datetime = FIRST_DAYS[0]) -> List[bytes]:
    """The same log for the same arguments."""
    dice = Random(seed)
    issued = []
    for _ in range(rows):
        words = [dice.choice(WORDS) for _ in range(dice.choice([1, 1, 2, 3]))]
        issued.append((dice.choice(USERS), " ".join(words), dice.choice(STEPS)))
    lines = row_lines(issued, first_day) + FILLING
    for line in NO_ROWS:
        lines.insert(dice.randrange(len(lines)), line)
    return log_files(lines, shape)
