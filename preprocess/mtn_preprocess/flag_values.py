"""Parsers for the flag values of mtn-log-to-sessions."""

import argparse
import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Tuple

from mtn_preprocess.log_times import (
    AOL_TIME,
    TIME_FORMATS,
    TimeRange,
    says_the_day,
    tells_morning_from_afternoon,
)


def minutes(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):  # also refuses "nan"
        raise argparse.ArgumentTypeError(f"must be more than 0, and finite, not {text}")
    return value


def time_format(text: str) -> str:
    if text not in TIME_FORMATS and not says_the_day(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} has no full date: use {', '.join(TIME_FORMATS)}, or a format such as "
            f"{AOL_TIME}"
        )
    if not tells_morning_from_afternoon(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} would read afternoons as mornings: must have %I with %p for an hour of 12, "
            "or %H alone for an hour of 24"
        )
    return text


def delimiter(text: str) -> str:
    character = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if (
        len(character) != 1
        or not character.isascii()
        or character.isalnum()
        or character in '"\r\n\0'
    ):
        raise argparse.ArgumentTypeError(f"must be tab, or one character as ; or |, not {text!r}")
    return character


def time_range(text: str) -> TimeRange:
    try:
        first, last = (datetime.strptime(day, "%Y-%m-%d").date() for day in text.split(","))
    except ValueError:
        first, last = date.max, date.min
    if first > last:
        raise argparse.ArgumentTypeError(
            f"must be two days, as 1990-01-01,2030-12-31, not {text!r}"
        )
    return TimeRange.of_days(first, last)


def percentage(text: str) -> Decimal:
    try:
        share = Decimal(text[:-1] if text.endswith("%") else text)
        good = 0 <= share <= 100
    except InvalidOperation:  # not a number, or "nan"
        good = False
    if not good:
        raise argparse.ArgumentTypeError(f"must be a percentage, as 5%, not {text!r}")
    return share


def shares(text: str) -> Tuple[Decimal, ...]:
    try:
        shares = tuple(map(Decimal, text.split(",")))
        good = len(shares) == 3 and min(shares) >= 0 and sum(shares) == 100
    except InvalidOperation:  # not a number, or "nan"
        good = False
    if not good:
        raise argparse.ArgumentTypeError(f"{text!r} is not three percentages that add up to 100")
    return shares


def query_range(text: str) -> Tuple[int, int]:
    found = re.fullmatch(r"(\d{1,9}),(\d{1,9})", text, re.ASCII)
    fewest, most = map(int, found.groups()) if found else (0, 0)
    if not 2 <= fewest <= most:
        raise argparse.ArgumentTypeError(
            f"must be fewest and most queries, at least 2, as 2,10, not {text!r}"
        )
    return fewest, most
