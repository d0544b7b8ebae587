"""Names of event files and ids of lists."""

import re

EVENTS, QUERIES = "events", "queries"  # files of lists and choices, and of queries
FILE = re.compile(rf"(?:{EVENTS}|{QUERIES})\.(\d{{4}}-\d\d-\d\d)\.\d+\.jsonl")  # with the day
# The id of an answer: its bundle, the version of the bundle, and a unique number.
QUERY_ID = re.compile(r"(champion|challenger)\.[0-9a-f]+\.[0-9a-f]{32}")
