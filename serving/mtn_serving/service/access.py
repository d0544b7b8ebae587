"""Access: an optional API key for all, and admin routes for this machine or holders of the key."""

import hmac
from ipaddress import ip_address
from typing import Optional

from starlette.requests import Request

_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def has_key(request: Request, key: str) -> bool:
    """Whether `Authorization: Bearer …` or `X-API-Key` has the key; compared in constant time."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    given = token if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")
    return hmac.compare_digest(given.encode("utf-8"), key.encode("utf-8"))


def is_admin(request: Request, key: Optional[str]) -> bool:
    """With a key: its holder. Without one: a program on this machine, not a proxy or a page."""
    if key is not None:
        return has_key(request, key)
    relayed = any(name in request.headers for name in (*_FORWARDED, "origin"))
    return not relayed and request.client is not None and _is_loopback(request.client.host)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a host name, or empty
        return False
