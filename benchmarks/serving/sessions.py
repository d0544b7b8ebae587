"""What is asked: distinct sessions of a prepared text, as lines and as HTTP requests."""

import json
from pathlib import Path
from typing import Any, Dict, Iterator, List

MAX_SESSIONS = 5000


def lines_of(text: Path) -> List[str]:
    """Each session once, without earlier sessions of the same person.

    Args:
        text: as of other commands, the path without `.session`
    """
    lines = _read(text, "session")
    return list(dict.fromkeys(map(_newest, lines)))[:MAX_SESSIONS]


def bodies_of(text: Path, route: str) -> List[Dict[str, Any]]:
    """The same as requests; of completions, half of the query that was really asked next."""
    found = {}
    for line, query in zip(map(_newest, _read(text, "session")), _read(text, "next")):
        body: Dict[str, Any] = {"session": line.split(" <q> ")}
        if route == "complete":
            body["prefix"] = query[: len(query) // 2]
        found.setdefault(line, body)
    return list(found.values())[:MAX_SESSIONS]


def request_of(route: str, body: Dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST /v1/{route} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def _newest(line: str) -> str:
    return line.rpartition(" <session> ")[2]


def _read(text: Path, ending: str) -> Iterator[str]:
    path = text.with_name(f"{text.name}.{ending}")
    return iter(path.read_text(encoding="utf-8").splitlines())
