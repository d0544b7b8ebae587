"""Small test texts and logs for the scorer's tests."""

from typing import NamedTuple


class Answer(NamedTuple):
    """A test pair and its suggestions, best first."""

    session: str
    next_query: str
    ranked: list


CLOSING = "Generate test with beam=5: BLEU4 = 0.00\n"


def lines_of(number, answer):
    """The lines that fairseq-generate prints for one pair."""
    lines = [f"S-{number}\t{answer.session}", f"T-{number}\t{answer.next_query}"]
    for rank, suggestion in enumerate(answer.ranked):
        lines += [
            f"H-{number}\t{-rank - 0.5}\t{suggestion}",
            f"D-{number}\t{-rank - 0.5}\t{suggestion}",
        ]
        lines += [f"P-{number}\t{'-0.5000 ' * len(suggestion.split())}-1.0000"]
    return "".join(f"{line}\n" for line in lines)


def log_text(answers, closing=CLOSING):
    return "".join(lines_of(i, answer) for i, answer in enumerate(answers)) + closing


def write_log(path, answers, closing=CLOSING):
    path.write_text(log_text(answers, closing), encoding="utf-8")
    return str(path)


def write_text(prefix, answers):
    """Write PREFIX.session and PREFIX.next."""
    for ending, lines in (
        ("session", [answer.session for answer in answers]),
        ("next", [answer.next_query for answer in answers]),
    ):
        content = "".join(f"{line}\n" for line in lines)
        prefix.with_suffix(f".{ending}").write_text(content, encoding="utf-8")
    return str(prefix)
