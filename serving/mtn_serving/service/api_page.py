"""The OpenAPI document as a page without scripts or files from other sites."""

import json
from html import escape
from typing import Any, Dict, List


def api_page(document: Dict[str, Any]) -> str:
    """A page of the routes with their fields and answers.

    Args:
        document: the document of /openapi.json
    """
    routes = [
        _route(method, path, facts, document)
        for path, methods in document["paths"].items()
        for method, facts in methods.items()
    ]
    title = escape(document["info"]["title"])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"></head><body>'
        f'<h1>{title}</h1><p>As JSON: <a href="openapi.json">openapi.json</a></p>'
        f"{''.join(routes)}</body></html>\n"
    )


def _route(method: str, path: str, facts: Dict[str, Any], document: Dict[str, Any]) -> str:
    rows: List[str] = []
    for parameter in facts.get("parameters", ()):
        rows.append(_field(parameter["name"], parameter, parameter.get("required", False)))
    content = facts.get("requestBody", {}).get("content", {})
    for kind in content.values():
        rows += _fields(kind["schema"], document)
    statuses = ", ".join(
        f"{status} {escape(answer['description'])}" for status, answer in facts["responses"].items()
    )
    table = f"<table>{''.join(rows)}</table>" if rows else ""
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(facts.get('description', ''))}</p>{table}<p>Answers: {statuses}</p>"
    )


def _fields(schema: Dict[str, Any], document: Dict[str, Any]) -> List[str]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found = document["components"]["schemas"][name] if name else schema
    needed = found.get("required", ())
    return [_field(each, facts, each in needed) for each, facts in found["properties"].items()]


def _field(name: str, facts: Dict[str, Any], is_needed: bool) -> str:
    default = facts.get("default", facts.get("schema", {}).get("default"))
    need = "required" if is_needed else f"default {json.dumps(default)}"
    return (
        f"<tr><th><code>{escape(name)}</code></th><td>{escape(need)}</td>"
        f"<td>{escape(facts.get('description', ''))}</td></tr>"
    )
