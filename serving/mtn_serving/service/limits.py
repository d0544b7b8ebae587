"""Middleware for all routes: bounded requests, an answer even after errors, security headers."""

import asyncio
import time
from typing import Any, Awaitable, Callable, List, Mapping, MutableMapping, NamedTuple, Optional

from starlette.responses import JSONResponse, Response

from .errors import log_error
from .metrics import Metrics

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

RETRY_AFTER = {"Retry-After": "1"}
TOO_MANY = "too many requests at once"
_MAX_TIMES_READ = 64  # bodies up to this many times the limit are read before they are refused

# No scripts, styles or images from other sites, no inline ones, and no framing of the page.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class Route(NamedTuple):
    """The route that `Guard` counts if no router has seen the request."""

    path: str


class RefuseWhenFull:
    """Answers 503 before reading the request: refusing must cost far less than answering.

    Args:
        has_room: by path, whether one more request may wait
    """

    def __init__(
        self, app: App, has_room: Mapping[str, Callable[[], bool]], metrics: Metrics
    ) -> None:
        self.app, self.has_room, self.metrics = app, has_room, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_room = self.has_room.get(scope["path"]) if scope["type"] == "http" else None
        if has_room is None or has_room():
            await self.app(scope, receive, send)
            return
        scope["route"] = Route(scope["path"])
        self.metrics.refused.labels("Full").inc()
        await _problem(503, TOO_MANY, RETRY_AFTER)(scope, receive, send)


class BoundedBodies:
    """Reads the body of a request before it is parsed; refuses long and slow bodies.

    Args:
        max_body: bytes
        seconds: within which the whole body must arrive
    """

    def __init__(self, app: App, max_body: int, seconds: float) -> None:
        self.app, self.max_body, self.seconds = app, max_body, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(self._body(scope, receive), self.seconds)
        except asyncio.TimeoutError:
            # Close, or the rest of the body would be read as the next request.
            await _problem(408, "the request took too long", close=True)(scope, receive, send)
            return
        except TooLong:
            detail = f"more than {self.max_body} bytes"
            await _problem(413, detail, close=True)(scope, receive, send)
            return
        if body is not None:
            await self.app(scope, _replayed(body, receive), send)

    async def _body(self, scope: Scope, receive: Receive) -> Optional[bytes]:
        """The body; None if the client disconnected.

        A long body is read to its end but not kept, because a client that is still sending does not
        see the answer. Reading stops if the body is far too long.
        """
        most = _MAX_TIMES_READ * self.max_body
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > most:
                raise TooLong
        parts: List[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size <= self.max_body:
                parts.append(part)
            if size > most:
                raise TooLong
            more = message.get("more_body", False)
        if size > self.max_body:
            raise TooLong
        return b"".join(parts)


class TooLong(Exception):
    pass


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Replay the body as one message, then receive as usual."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


class Guard:
    """Counts each answer, sets headers, and answers 503, never 500, if a route fails."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status: List[int] = []
        started = time.perf_counter()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                status.append(message["status"])
                names = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.encode(), value.encode())
                        for name, value in HEADERS.items()
                        if name.encode() not in names
                    ),
                ]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:
            log_error(error, self.metrics)
            if not status:
                answer = _problem(503, "the request could not be answered", RETRY_AFTER)
                await answer(scope, receive, watched)
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.requests.labels(route, str(status[0] if status else "none")).inc()
        self.metrics.seconds.labels(route, "total").observe(time.perf_counter() - started)


def _problem(
    status: int, detail: str, headers: Optional[dict] = None, close: bool = False
) -> Response:
    more = {"Connection": "close"} if close else {}
    return JSONResponse({"detail": detail}, status, {**(headers or {}), **more})
