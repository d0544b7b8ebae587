"""How files of events and the ids of lists are named."""

import re

EVENTS, QUERIES = "events", "queries"  # files: what was shown and chosen; what was asked
FILE = re.compile(rf"(?:{EVENTS}|{QUERIES})\.(\d{{4}}-\d\d-\d\d)\.\d+\.jsonl")  # with its day
# Of an answer: which bundle made it, of which version, and a number that no other answer has.
QUERY_ID = re.compile(r"(champion|challenger)\.[0-9a-f]+\.[0-9a-f]{32}")
