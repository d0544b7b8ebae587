"""The SQL that turns the lines of a log into rows in session order; one text for all engines.

It is standard SQL, except for a few functions that each engine defines:

    fields(text)      the fields of a line, an array; width(array), field(array, n) from 1
    words(text)       ASCII text in lower case, all but letters and digits as one space
    lowered(text)     ASCII text in lower case, single spaces
    matches(text, p)  whether a regular expression is found in the text
    seconds(text)     `2006-03-01 10:00:00` in seconds; null for any other form, such as fractions
                      of a second or years without four digits, which some engines accept

and three Python functions, registered with each engine:

    read_query(text)  the query for a typed text (`typed_queries`)
    read_form(text)   the typed text as it may be shown (`display_forms`)
    read_time(text)   a time in the requested format, converted to AOL's format (`log_times`)

Few rows need Python: only those that are not plain ASCII and, with other character rules than
AOL's, those with symbols that the rule may keep.

The SQL contains no text from a user or a log, because engines quote differently: only numbers
and the functions above.
"""

from mtn_preprocess.log_files import Log
from mtn_preprocess.log_times import AOL_TIME
from mtn_preprocess.reasons import KEPT, Reason
from mtn_preprocess.rules import Rules
from mtn_preprocess.text.text_settings import AOL

_SYMBOLS = r"[-+#.&\x27]"  # typed_queries.KEPT_SYMBOLS; \x27: a quote would end the SQL text

# First the lines that are not rows, by place. Then users as text; per user, queries by time, and in
# the same second by alphabet.
ORDER = ("who", "seconds", "query", "place")


def rows(log: Log, rules: Rules) -> str:
    """SELECT place, reason (why it is not a query, or 0), who, seconds, query, form FROM lines.

    The form is how the query was typed, or "" if it is the same. Masked queries have no form: it
    would reveal what was masked.
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
    """Select the rows of a table, with `users`: how many people asked the query."""
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
    """Without spaces at both ends; checking first is faster, since hardly any text has them."""
    # Only spaces: by default DuckDB would also trim other Unicode spaces, unlike Spark.
    trimmed = f"trim(BOTH ' ' FROM {text})"
    return f"CASE WHEN {text} LIKE ' %' OR {text} LIKE '% ' THEN {trimmed} ELSE {text} END"


def _is_plain(rules: Rules) -> str:
    """The condition under which SQL alone can read the typed text."""
    # Printable ASCII, which is certain where nothing had to be changed; and none of the words that
    # the session text format escapes.
    tests = ["(plain = typed OR NOT matches(typed, '[^ -~]'))", "plain NOT LIKE '%madeupword%'"]
    if rules.characters != AOL:  # Python decides which symbols belong to a word
        tests.append(rf"NOT matches(typed, '{_SYMBOLS}')")
    if rules.mask_numbers:
        tests.append("NOT matches(typed, '[0-9]')")
    if rules.mask_emails:
        tests.append("typed NOT LIKE '%@%'")
    return " AND ".join(tests)


def _seconds(time_format: str) -> str:
    if time_format == AOL_TIME:
        return "seconds(time)"
    # \z, not $: in Java, $ also matches before a carriage return at the end.
    if time_format == "epoch":
        number = "try_cast(split_part(time, '.', 1) AS BIGINT)"
        return rf"CASE WHEN matches(time, '^[0-9]{{1,11}}([.][0-9]*)?\z') THEN {number} END"
    if time_format == "epoch-ms":
        number = "try_cast(substring(time, 1, length(time) - 3) AS BIGINT)"
        return rf"CASE WHEN matches(time, '^[0-9]{{4,14}}\z') THEN {number} END"
    return "seconds(read_time(time))"
