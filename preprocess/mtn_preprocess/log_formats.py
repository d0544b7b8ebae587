"""The supported log formats and engines: choices of flags."""

ENGINES = ("duckdb", "spark")
AOL_COLUMNS = ("AnonID", "Query", "QueryTime")
FORMAT_OF_ENDING = {
    ".tsv": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
FORMATS = tuple(dict.fromkeys(FORMAT_OF_ENDING.values()))
