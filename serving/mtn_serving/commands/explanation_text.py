"""An explanation as lines of text."""

from typing import Iterator, Optional

from ..explanation import HELD_BACK, Counted, Explanation, Scored
from ..without_queries import WithoutQuery

_INDENT = "  "


def explanation_lines(found: Explanation) -> Iterator[str]:
    yield _headline(found)
    if found.missing == HELD_BACK:
        return
    for source in found.sources:
        place = "" if source.place is None else f", place {source.place}"
        yield f"{_INDENT}source {source.source}{place}: {source.how}"
    if found.counts is not None:
        yield from map(_INDENT.__add__, _count_lines(found.counts))
    if found.model is not None:
        yield _INDENT + _model_line(found.model)
    for query in found.queries:
        yield _INDENT + _query_line(query, found)
    if found.contributions is None:
        yield f"{_INDENT}contributions: none, {found.no_contributions}"
    for part in found.contributions or ():
        value = "unknown" if part.value is None else f"{part.value:.4g}"
        yield f"{_INDENT}{part.amount:+.3f} {part.meaning}: {value}"


def _headline(found: Explanation) -> str:
    shown = found.text if found.text == found.query else f"{found.text} ({found.query})"
    if found.place is None:
        return f"{shown}: not in the list, {found.missing}"
    return f"{shown}: place {found.place}, score {found.score:.4f}, {found.rule}"


def _count_lines(counts: Counted) -> Iterator[str]:
    yield f"counts: asked {_times(counts.asked)}{_by(counts.people)}"
    for after in counts.after:
        context = " <q> ".join(after.context)
        yield f"counts: {after.times:,} of {_times(after.of)} after {context}{_by(after.people)}"


def _times(number: int) -> str:
    return f"{number:,} time{'s' * (number != 1)}"


def _by(people: Optional[int]) -> str:
    return "" if people is None else f", by {people:,} {'person' if people == 1 else 'people'}"


def _model_line(scored: Scored) -> str:
    place = "" if scored.place is None else f", place {scored.place} of the candidates"
    return f"model: log-probability {scored.log_probability:.3f}{place}"


def _query_line(without: WithoutQuery, found: Explanation) -> str:
    falls = "not in the list" if without.place is None else f"place {without.place}"
    if without.score is not None and found.contributions is not None:
        falls += f", score {without.score:.4f}"
    if without.log_probability is not None:
        falls += f", log-probability {without.log_probability:.3f}"
    shares = f"{without.share:.0%} of what the session brings"
    if without.attention is not None:
        shares += f", {without.attention:.0%} of the attention"
    return f"without {without.query!r}: {falls} ({shares})"
