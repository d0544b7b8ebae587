"""The rules of log_to_sessions.py in plain pandas, as in a notebook.

    python benchmarks/preprocess/pandas_sessions.py FOLDER --output FOLDER

Everything is in memory at once. There is no check for malformed lines and no statistics; the files
of session text are the same, byte for byte.
"""

import argparse
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd

from mtn_preprocess.text.typed_queries import QueryReader

BETWEEN = " <q> "
GAP = pd.Timedelta(minutes=30)
MAX_TOKENS = 10
MIN_QUERIES, MAX_QUERIES = 3, 5
SEED = 1
SHARES = {"train": 0.95, "valid": 0.025, "test": 0.025}


def read(log: Path) -> pd.DataFrame:
    """User, typed query and time of all rows."""
    columns = {"AnonID": "user", "Query": "query", "QueryTime": "time"}
    options = {"sep": "\t", "quoting": 3, "dtype": str, "keep_default_na": False}
    files = [
        pd.read_csv(path, usecols=list(columns), **options) for path in sorted(log.glob("*.txt"))
    ]
    rows = pd.concat(files, ignore_index=True).rename(columns=columns)
    return rows.assign(time=pd.to_datetime(rows["time"], format="%Y-%m-%d %H:%M:%S"))


def normalised(typed: pd.Series) -> pd.Series:
    """Lower-case words; the few queries that are not plain ASCII are normalised one by one."""
    query = typed.str.lower().str.replace(r"[^a-z0-9]+", " ", regex=True).str.strip()
    special = typed.str.contains(r"[^ -~]|madeupword", regex=True)
    return query.where(~special, typed[special].map(QueryReader()))


def queries_in_sessions(rows: pd.DataFrame) -> pd.DataFrame:
    """User, session, start and query, for every query of the kept sessions."""
    rows = rows.assign(query=normalised(rows["query"]))
    rows = rows[rows["query"] != ""].sort_values(["user", "time", "query"], ignore_index=True)

    same_user = rows["user"] == rows["user"].shift()
    pause = rows["time"].diff()
    click = same_user & (pause == pd.Timedelta(0)) & (rows["query"] == rows["query"].shift())
    rows["session"] = (~same_user | (pause >= GAP)).cumsum()
    rows["start"] = rows.groupby("session")["time"].transform("first")

    rows = rows[~click & (rows["query"].str.count(" ") < MAX_TOKENS)]
    same_session = rows["session"] == rows["session"].shift()
    rows = rows[~(same_session & (rows["query"] == rows["query"].shift()))]
    length = rows.groupby("session")["query"].transform("size")
    return rows[length.between(MIN_QUERIES, MAX_QUERIES)].reset_index(drop=True)


def with_text_so_far(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows with their index in the session, and the session text up to each."""
    number = rows.groupby("session").cumcount()
    so_far = rows["query"]
    for n in range(1, MAX_QUERIES):
        so_far = so_far.where(number != n, so_far.shift() + BETWEEN + rows["query"])
    return rows.assign(number=number, so_far=so_far)


def split_of(sessions: pd.DataFrame) -> np.ndarray:
    """The name of each session's split, by SHA-256 of its content."""
    start = sessions["start"].dt.strftime("%Y-%m-%d %H:%M:%S")
    identity = f"{SEED}\t" + sessions["user"] + "\t" + start + "\t" + sessions["so_far"]
    digests = [hashlib.sha256(each.encode()).hexdigest() for each in identity]
    places = np.array([int(digest[:13], 16) / 16**13 for digest in digests])
    bounds = np.cumsum(list(SHARES.values()))[:-1]
    return np.array(list(SHARES))[np.searchsorted(bounds, places, "right")]


def write(rows: pd.DataFrame, folder: Path) -> None:
    """Write SPLIT.session and SPLIT.next of each split, and train.whole."""
    whole = rows[~rows.duplicated("session", keep="last")]
    split = pd.Series(split_of(whole), whole["session"])
    pairs = rows.assign(source=rows["so_far"].shift())[rows["number"] > 0]
    split_of_pair = pairs["session"].map(split)
    folder.mkdir(parents=True)
    for name in SHARES:
        mine = pairs[split_of_pair == name]
        write_lines(folder / f"{name}.session", mine["source"])
        write_lines(folder / f"{name}.next", mine["query"])
    write_lines(folder / "train.whole", whole.loc[split.to_numpy() == "train", "so_far"])


def write_lines(path: Path, lines: pd.Series) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="log_to_sessions.py in plain pandas.")
    parser.add_argument("log", type=Path, metavar="FOLDER")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    args = parser.parse_args()
    write(with_text_so_far(queries_in_sessions(read(args.log))), args.output)


if __name__ == "__main__":
    main()
