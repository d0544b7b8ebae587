"""A reference for the preparation of a log in AOL's format: slow, simple, one row at a time.

The array code, DuckDB and Spark must write the same bytes. The reference uses nothing of theirs but
the names `Rules` and `Reason`, and what personal data is.
"""

import hashlib
import io
import json
import re
import unicodedata
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from mtn_preprocess.reasons import FAULTS, RULES, Reason
from mtn_preprocess.rules import SPLITS, Rules
from mtn_preprocess.text.personal_data import has_personal_data

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
SHORT_HEADER = "AnonID\tQuery\tQueryTime"
LONGEST_LINE = 65536  # bytes, including its end
EPOCH = datetime(1970, 1, 1)


class Nothing(Exception):
    """Nothing to write; the message is the command's reason."""


class Row(NamedTuple):
    """An issued query. Rows compare in the order of processing."""

    user: str
    seconds: int
    query: str
    file: int
    line: int
    form: str = ""  # the typed form, "" if equal to the query


class Session(NamedTuple):
    user: str
    start: int
    end: int  # time of its last query, even if that was dropped
    queries: Tuple[str, ...]
    forms: Tuple[str, ...]

    @property
    def text(self) -> str:
        return " <q> ".join(self.queries)


class Prepared(NamedTuple):
    files: Dict[str, bytes]  # without stats.json and manifest.json
    stats: Dict[str, Any]  # the counts of stats.json


def prepare(logs: Sequence[Tuple[str, bytes]], rules: Rules, users: bool = False) -> Prepared:
    """All output for logs (address, content), with SPLIT.user if `users`."""
    counts: Counter = Counter()
    rows, rejects = read_rows(logs, rules, counts)
    popularity = Counter(query for _, query in {(row.user, row.query) for row in rows})
    everything: List[Session] = []  # of any length
    for user in sorted({row.user for row in rows}):
        issued = sorted(row for row in rows if row.user == user)
        everything += sessions_of_user(issued, rules, popularity, counts)
    sessions = of_a_length_to_train_on(everything, rules, counts)
    split_of = splits(sessions, rules)
    drop_for_training_only(sessions, split_of, rules, counts)
    named = [name for name, share in zip(SPLITS, rules.split) if share]
    for name in named:
        if not split_of:
            raise Nothing("no session is left under these rules")
        if name not in split_of.values():
            raise Nothing(f"no session falls into the {name} split")
    files = {
        "rejects.tsv": text_of(rejects),
        "text.json": settings_of(rules),
        **files_of(sessions, split_of, named, rules),
    }
    kept = [session for session in sessions if session in split_of]
    if users:
        files.update(users_of_pairs(kept, split_of, named))
    stats = statistics(kept, split_of, named, counts, rules)
    if rules.past:
        pasts = {name: pasts_of(everything, split_of, name, rules) for name in named}
        pasts.pop("train", None)
        files.update({f"{name}.history": text_of(lines) for name, lines in pasts.items()})
        stats["pairs with a past"] = {
            name: sum(line != "" for line in lines) for name, lines in pasts.items()
        }
    return Prepared(files, stats)


# --- lines and rows -------------------------------------------------------------------------------


def read_rows(
    logs: Sequence[Tuple[str, bytes]], rules: Rules, counts: Counter
) -> Tuple[List[Row], List[str]]:
    """The rows with a query, and the lines of rejects.tsv."""
    rows, rejects = [], ["file\tline\treason"]
    nothing_in = []
    for file, (address, data) in enumerate(logs):
        rows_of_file = 0
        for number, line in enumerate(io.BytesIO(data), 1):
            counts["lines"] += 1
            found = read_row(line, rules)
            if not isinstance(found, Reason):
                user, seconds, query, form = found
                rows.append(Row(user, seconds, query, file, number, form))
            else:
                counts[found] += 1
                if found in FAULTS:
                    rejects.append(f"{address}\t{number}\t{found.text}")
            rows_of_file += not isinstance(found, Reason) or found > Reason.HEADER
        if not rows_of_file:
            nothing_in.append(address)
    if nothing_in:
        raise Nothing("not one row of a search log")
    return rows, rejects


def read_row(line: bytes, rules: Rules) -> Union[Reason, Tuple]:
    """User, seconds, query and its form; or the reason for rejecting the line."""
    faults = {
        Reason.LONG_LINE: len(line) > LONGEST_LINE,
        Reason.NOT_UTF8: not is_utf8(line),
        Reason.NUL: b"\0" in line,
    }
    if any(faults.values()):
        return min(fault for fault, found in faults.items() if found)
    text = line.decode("utf-8").rstrip("\r\n")
    if text in (HEADER, SHORT_HEADER):  # on any line: people concatenate the published files
        return Reason.HEADER
    columns = text.split("\t")
    if len(columns) not in (3, 5):
        return Reason.COLUMNS
    user, typed, time = (column.strip(" ") for column in columns[:3])
    if not user:
        return Reason.USER
    seconds = seconds_of(time)
    if seconds is None:
        return Reason.TIME
    if typed in ("", "-"):
        return Reason.BLANK
    query = read_query(typed, rules)
    return (user, seconds, query, form_of(typed, query)) if query else Reason.NOTHING_LEFT


def is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def seconds_of(time: str) -> Optional[int]:
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}", time):
        return None
    try:
        return (datetime.fromisoformat(time) - EPOCH) // timedelta(seconds=1)
    except ValueError:  # the 30th of February
        return None


def time_of(seconds: int) -> str:
    return str(EPOCH + timedelta(seconds=seconds))


def read_query(typed: str, rules: Rules) -> str:
    parts = re.split(r"[^\s@]+@[^\s@]+\.[^\s@.]+", typed) if rules.mask_emails else [typed]
    words: List[str] = []
    for number, part in enumerate(parts):
        if number > 0:
            words.append("<email>")
        for word in normalise(part, rules.characters).split():
            digits = "".join(character for character in word if character not in "+#.'&-")
            if not rules.mask_numbers or not digits.isdigit():
                words.append(escape(word))
            elif not words or words[-1] != "<number>":
                words.append("<number>")
    return " ".join(words)


def form_of(typed: str, query: str) -> str:
    """The typed form; "" if it equals the query, the query is masked, or it is invisible."""
    form = " ".join(unicodedata.normalize("NFC", typed.lower()).split())
    masked = "<number>" in query.split() or "<email>" in query.split()
    return "" if masked or form == query or not form.isprintable() else form


def normalise(typed: str, characters: str = "aol") -> str:
    unseen = "\u00ad\u200b\u2060\ufeff"
    seen = "".join(each for each in typed.lower() if each not in unseen)
    text = unicodedata.normalize("NFC", seen)
    if characters == "symbols":
        text = with_symbols(
            text.replace("\u2019", "'").replace("\u2010", "-").replace("\u2011", "-")
        )
        return " ".join(text.split())
    return " ".join("".join(each if is_letter(each) else " " for each in text).split())


def is_letter(character: str) -> bool:
    return unicodedata.category(character).startswith(("L", "M", "N"))


def with_symbols(text: str) -> str:
    """Decide on each run of symbols by the letters around it, if any."""
    result = ""
    for run in re.findall(r"[-+#.'&]+|[^-+#.'&]", text):
        if run[0] in "-+#.'&":
            result += f"\0{run}\0"  # decided below
        else:
            result += run if is_letter(run) else " "
    pieces = result.split("\0")
    for place in range(1, len(pieces), 2):
        run, before, after = pieces[place], pieces[place - 1], pieces[place + 1]
        ends_a_word = before != "" and before[-1] != " "
        starts_a_word = after != "" and after[0] != " "
        signs = len(run) - len(run.lstrip("+#"))  # at its start
        if ends_a_word and starts_a_word and len(run) - signs <= 1 and run[signs:] in (*".'&-", ""):
            kept = run
        elif ends_a_word:
            kept = run[:signs] + " "
        else:
            kept = " ." if run == "." and starts_a_word else " "
        pieces[place] = kept
    return "".join(pieces)


def escape(word: str) -> str:
    r"""`madeupword0001` is a symbol of fairseq; with a backslash it is a word."""
    return "\\" + word if re.fullmatch(r"madeupword\d{4}", word) else word


def is_blocked(query: str, rules: Rules) -> bool:
    words = query.split()
    for entry in rules.block_list:
        if len(entry) > 2 and entry.startswith("/") and entry.endswith("/"):
            if re.search(entry[1:-1], query):
                return True
        else:
            phrase = [escape(word) for word in normalise(entry, rules.characters).split()]
            if any(words[i : i + len(phrase)] == phrase for i in range(len(words))):
                return True
    return False


# --- sessions -------------------------------------------------------------------------------------


def sessions_of_user(
    issued: Sequence[Row], rules: Rules, popularity: Counter, counts: Counter
) -> List[Session]:
    """Rules 2 to 5."""
    for before, row in zip(issued, issued[1:]):
        if row.seconds > before.seconds and row.file == before.file and row.line < before.line:
            counts["time going backwards"] += 1
    found = []
    for session in divided_at_gaps(issued, rules):
        counts["found"] += 1
        queries: List[str] = []
        forms: List[str] = []
        asked = set()
        for row in session:
            reason = None
            if (row.seconds, row.query) in asked:
                reason = Reason.CLICK
            elif is_blocked(row.query, rules):
                reason = Reason.BLOCKED
            elif len(row.query.split()) > rules.max_query_tokens:
                reason = Reason.LONG_QUERY
            elif popularity[row.query] < rules.min_users:
                reason = Reason.RARE
            elif queries and queries[-1] == row.query:
                reason = Reason.DUPLICATE
            asked.add((row.seconds, row.query))
            if reason:
                counts[reason] += 1
            else:
                queries.append(row.query)
                clicks = [each for each in session if each[:3] == row[:3]]
                forms.append(min(each.form for each in clicks))
        bounds = session[0].seconds, session[-1].seconds
        found.append(Session(issued[0].user, *bounds, tuple(queries), tuple(forms)))
    return found


def of_a_length_to_train_on(
    sessions: Sequence[Session], rules: Rules, counts: Counter
) -> List[Session]:
    """Rule 6."""
    fewest, most = rules.train_queries or (rules.min_queries, rules.max_queries)
    kept = []
    for session in sessions:
        if len(session.queries) < fewest:
            counts["short"] += 1
            counts[Reason.SHORT_SESSION] += len(session.queries)
        elif len(session.queries) > most:
            counts["long"] += 1
            counts[Reason.LONG_SESSION] += len(session.queries)
        else:
            kept.append(session)
    return kept


def divided_at_gaps(issued: Sequence[Row], rules: Rules) -> Iterator[List[Row]]:
    gap = Fraction(str(rules.gap_minutes)) * 60
    session: List[Row] = []
    for row in issued:
        if session and row.seconds - session[-1].seconds >= gap:
            yield session
            session = []
        session.append(row)
    yield session


# --- splits and files -----------------------------------------------------------------------------


def splits(sessions: Sequence[Session], rules: Rules) -> Dict[Session, str]:
    """The name of each session's split."""
    found = {}
    bounds = [Fraction(rules.split[0]), Fraction(rules.split[0]) + Fraction(rules.split[1])]
    counted = [session.start for session in sessions if may_be_tested(session, rules)]
    for session in sessions:
        if rules.split_by == "time":
            # As the last counted one that did not start later; before all of them, as the first.
            like = max((start for start in counted if start <= session.start), default=None)
            before = sum(start < like for start in counted) if like is not None else 0
            percent = Fraction(100 * before, max(len(counted), 1))
        else:
            percent = percent_by_hash(session, rules)
        found[session] = SPLITS[sum(percent >= bound for bound in bounds)]
    return found


def may_be_tested(session: Session, rules: Rules) -> bool:
    return rules.min_queries <= len(session.queries) <= rules.max_queries


def drop_for_training_only(
    sessions: Sequence[Session], split_of: Dict[Session, str], rules: Rules, counts: Counter
) -> None:
    for session in sessions:
        if split_of[session] != "train" and not may_be_tested(session, rules):
            del split_of[session]
            counts["for training only"] += 1
            counts[Reason.TRAINING_SESSION] += len(session.queries)


def percent_by_hash(session: Session, rules: Rules) -> Fraction:
    identity = [str(rules.seed), session.user]
    if rules.split_by == "session":
        identity += [time_of(session.start), session.text]
    digest = hashlib.sha256("\t".join(identity).encode("utf-8")).hexdigest()
    return Fraction(100 * int(digest[:13], 16), 16**13)


def files_of(
    sessions: Sequence[Session], split_of: Dict[Session, str], named: Sequence[str], rules: Rules
) -> Dict[str, bytes]:
    names = [f"{name}.{end}" for name in named for end in ("session", "next")]
    lines: Dict[str, List[str]] = {name: [] for name in names}
    if "train" in named:
        lines["train.whole"] = []
        lines["display.tsv"] = display_lines(
            [session for session in sessions if split_of.get(session) == "train"], rules
        )
    earlier: Dict[str, List[str]] = defaultdict(list)
    for session in sessions:
        name = split_of.get(session)  # None: dropped, but still history of other sessions
        history = earlier[session.user][-rules.history :] if rules.history else []
        for known in range(1, len(session.queries) if name else 1):
            so_far = " <q> ".join(session.queries[:known])
            lines[f"{name}.session"].append(" <session> ".join([*history, so_far]))
            lines[f"{name}.next"].append(session.queries[known])
        if name == "train":
            lines["train.whole"].append(session.text)
        earlier[session.user].append(session.text)
    return {name: text_of(some) for name, some in lines.items()}


def display_lines(sessions: Sequence[Session], rules: Rules) -> List[str]:
    """For each query the form of most people, if it differs and two typed it or it is personal."""
    people: Dict[str, Dict[str, set]] = defaultdict(lambda: defaultdict(set))
    for session in sessions:
        for query, form in zip(session.queries, session.forms):
            people[query][form].add(session.user)
    lines = []
    for query, forms in sorted(people.items()):
        form = min(forms, key=lambda each: (-len(forms[each]), each))
        enough = len(forms[form]) >= 2 or has_personal_data(form)
        if form and enough and read_query(form, rules) == query:
            lines.append(f"{query}\t{form}")
    return lines


def users_of_pairs(
    sessions: Sequence[Session], split_of: Dict[Session, str], named: Sequence[str]
) -> Dict[str, bytes]:
    """Number the users of written sessions by order of appearance."""
    numbers: Dict[str, int] = {}
    lines: Dict[str, List[str]] = {f"{name}.user": [] for name in named}
    for session in sessions:
        number = numbers.setdefault(session.user, len(numbers))
        lines[f"{split_of[session]}.user"] += [str(number)] * (len(session.queries) - 1)
    return {name: text_of(some) for name, some in lines.items()}


def pasts_of(
    everything: Sequence[Session], split_of: Dict[Session, str], name: str, rules: Rules
) -> List[str]:
    """By time only: the sessions that ended before a session began, sorted by their end."""
    lines: List[str] = []
    for session in everything:
        if split_of.get(session) == name:
            mine = [each for each in everything if each.user == session.user and each.queries]
            past = sorted((each for each in mine if each.end < session.start), key=lambda s: s.end)
            line = " <session> ".join(each.text for each in past[-rules.past :])
            lines += [line] * (len(session.queries) - 1)
    return lines


def settings_of(rules: Rules) -> bytes:
    names = ("characters", "mask_numbers", "mask_emails")
    text = json.dumps({name: getattr(rules, name) for name in names}, indent=2)
    return f"{text}\n".encode()


def text_of(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def statistics(
    sessions: Sequence[Session],
    split_of: Dict[Session, str],
    named: Sequence[str],
    counts: Counter,
    rules: Rules,
) -> Dict[str, Any]:
    per_split = {}
    words: Dict[str, Counter] = {}
    for name in named:
        mine = [session for session in sessions if split_of[session] == name]
        queries = [query for session in mine for query in session.queries]
        words[name] = Counter(word for query in queries for word in query.split())
        per_split[name] = {
            "sessions": len(mine),
            "queries": len(queries),
            "pairs": len(queries) - len(mine),
            "words": len(words[name]),
        }
    malformed = {fault.text: counts[fault] for fault in FAULTS}
    removed = {rule.text: counts[rule] for rule in RULES}
    dropped = {}
    if rules.train_queries:
        removed["in a session for training only"] = counts[Reason.TRAINING_SESSION]
        dropped["for training only, in valid or test"] = counts["for training only"]
    return {
        "lines": {
            "read": counts["lines"],
            "header": counts[Reason.HEADER],
            "malformed": malformed,
        },
        "rows": {
            "read": counts["lines"] - counts[Reason.HEADER] - sum(malformed.values()),
            "removed": removed,
            "kept": sum(len(session.queries) for session in sessions),
            "time going backwards": counts["time going backwards"],
        },
        "sessions": {
            "found": counts["found"],
            "too few queries": counts["short"],
            "too many queries": counts["long"],
            **dropped,
            "kept": len(sessions),
        },
        "splits": per_split,
        "vocabulary": sum(number >= 8 for number in words.get("train", {}).values()),
    }
