"""Lines of a log as rows in the order of sessions: one SQL text, for every engine.

It is standard SQL, but for a few words that each engine defines its own way:

    fields(text)      the fields of a line, an array; width(array), field(array, n) from 1
    words(text)       ASCII text, lower case, everything but letters and digits one space
    lowered(text)     ASCII text, lower case, single spaces
    matches(text, p)  whether a regular expression is found in the text
    seconds(text)     `2006-03-01 10:00:00` in seconds, null if it is no such time: a fraction of a
                      second, or a year that is not four digits, an engine might well read

and three functions in Python, registered with each engine:

    read_query(text)  what was typed as a query (`typed_queries`)
    read_form(text)   what was typed as it may be shown (`display_forms`)
    read_time(text)   a time in the format asked for, as AOL writes it (`log_times`)

Python is called for few rows: those that are more than plain ASCII, and with another character rule
than AOL's those with the symbols that it may keep.

No text of a user or of a log is part of the SQL, whose engines differ in how they quote: numbers
and the words above are all there is.
"""

from mtn_preprocess.log_files import Log
from mtn_preprocess.log_times import AOL_TIME
from mtn_preprocess.reasons import KEPT, Reason
from mtn_preprocess.rules import Rules
from mtn_preprocess.text.text_settings import AOL

_SYMBOLS = r"[-+#.&\x27]"  # typed_queries.KEPT_SYMBOLS; a quote would end the text of the SQL

# Rows that are none come first, by place; then users as text, each user's queries by time, those of
# the same second by alphabet.
ORDER = ("who", "seconds", "query", "place")


def rows(log: Log, rules: Rules) -> str:
    """SELECT place, reason (why it is no query, or 0), who, seconds, query, form, from `lines`.

    The form is how the query was typed, "" where that is the query. Masked queries have none: what
    was masked is not to be seen again.
    """
    plain = _is_plain(rules)
    user, query, time = (_trimmed(f"field(parts, {n})") for n in log.layout.columns)
    widths = ", ".join(map(str, log.layout.widths))
    first, end = log.times
    return f"""
WITH divided AS (
    SELECT place, fault, fields(text) AS parts FROM lines
), named AS (
    SELECT place, fault, width(parts) AS columns,
           {user} AS who, {query} AS typed, {time} AS time
    FROM divided
), understood AS (
    SELECT place, fault, columns, who, typed, words(typed) AS plain,
           {_seconds(log.time_format)} AS seconds
    FROM named
), queries AS (
    SELECT place, fault, columns, who, typed, seconds,
           CASE WHEN {plain} THEN plain ELSE read_query(typed) END AS query,
           CASE WHEN plain = typed THEN plain
                WHEN {plain} THEN lowered(typed)
                ELSE read_form(typed) END AS form
    FROM understood
), judged AS (
    SELECT place, who, seconds, query, form,
           CASE WHEN fault <> {KEPT} THEN fault
                WHEN columns NOT IN ({widths}) THEN {Reason.COLUMNS:d}
                WHEN who = '' THEN {Reason.USER:d}
                WHEN seconds IS NULL THEN {Reason.TIME:d}
                WHEN seconds < {first:d} OR seconds >= {end:d} THEN {Reason.TIME_RANGE:d}
                WHEN typed IN ('', '-') THEN {Reason.BLANK:d}
                WHEN query = '' THEN {Reason.NOTHING_LEFT:d}
                ELSE {KEPT} END AS reason
    FROM queries
)
SELECT place, reason,
       CASE WHEN reason = {KEPT} THEN who END AS who,
       CASE WHEN reason = {KEPT} THEN seconds END AS seconds,
       CASE WHEN reason = {KEPT} THEN query END AS query,
       CASE WHEN reason <> {KEPT} THEN NULL
            WHEN form = query OR query LIKE '%<%' THEN ''
            ELSE form END AS form
FROM judged
"""


def rows_and_popularity(source: str) -> str:
    """The same rows with `users`, how many asked the query; from a table of them."""
    return f"""
SELECT place, reason, who, seconds, {source}.query, form, users
FROM {source} LEFT JOIN (
    SELECT query, count(DISTINCT who) AS users FROM {source} WHERE query IS NOT NULL GROUP BY query
) popularity ON popularity.query = {source}.query
"""


def in_order(select: str) -> str:
    keys = ", ".join(f"{key} NULLS FIRST" for key in ORDER)
    return f"SELECT * FROM ({select}) unsorted ORDER BY {keys}"


def _trimmed(text: str) -> str:
    """Without spaces at its ends; to look first is quicker, since hardly any text has some."""
    # Spaces alone: by default DuckDB would trim what Unicode calls a space too, Spark would not.
    trimmed = f"trim(BOTH ' ' FROM {text})"
    return f"CASE WHEN {text} LIKE ' %' OR {text} LIKE '% ' THEN {trimmed} ELSE {text} END"


def _is_plain(rules: Rules) -> str:
    """Whether SQL alone can read what was typed."""
    # Printable ASCII, which is quickly seen where nothing had to be changed; and not one of the
    # words that the session text format escapes.
    tests = ["(plain = typed OR NOT matches(typed, '[^ -~]'))", "plain NOT LIKE '%madeupword%'"]
    if rules.characters != AOL:  # what of these is part of a word, Python decides
        tests.append(rf"NOT matches(typed, '{_SYMBOLS}')")
    if rules.mask_numbers:
        tests.append("NOT matches(typed, '[0-9]')")
    if rules.mask_emails:
        tests.append("typed NOT LIKE '%@%'")
    return " AND ".join(tests)


def _seconds(time_format: str) -> str:
    if time_format == AOL_TIME:
        return "seconds(time)"
    # \z and not $, which to Java is also before a carriage return at the end.
    if time_format == "epoch":
        number = "try_cast(split_part(time, '.', 1) AS BIGINT)"
        return rf"CASE WHEN matches(time, '^[0-9]{{1,11}}([.][0-9]*)?\z') THEN {number} END"
    if time_format == "epoch-ms":
        number = "try_cast(substring(time, 1, length(time) - 3) AS BIGINT)"
        return rf"CASE WHEN matches(time, '^[0-9]{{4,14}}\z') THEN {number} END"
    return "seconds(read_time(time))"
