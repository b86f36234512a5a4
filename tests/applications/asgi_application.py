"""ASGI application for uvicorn: short, streamed and endless answers, and the digest of an upload."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
PIECES = 5
PAUSE = 0.2  # seconds between pieces of /stream
_disconnects = 0


async def application(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    """Answer by path."""
    if scope["type"] != "http":
        return
    match scope["path"]:
        case "/stream":
            await _stream(send)
        case "/upload":
            await _answer(send, await _digest(receive))
        case "/endless":
            await _endless(receive, send)
        case "/disconnects":
            await _answer(send, str(_disconnects))
        case path:
            fields = {name.decode(): value.decode() for name, value in scope["headers"]}
            forwarded = fields.get("x-forwarded-for")
            await _answer(send, f"{scope['method']} {path} {scope['query_string'].decode()} {forwarded}")


async def _answer(send: Send, text: str) -> None:
    body = text.encode()
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": 200, "headers": [length, (b"x-set", b"one")]})
    await send({"type": "http.response.body", "body": body})


async def _stream(send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for number in range(PIECES):
        await send({"type": "http.response.body", "body": b"piece %d\n" % number, "more_body": True})
        await asyncio.sleep(PAUSE)
    await send({"type": "http.response.body", "body": b""})


async def _digest(receive: Receive) -> str:
    digest, more, length = hashlib.sha256(), True, 0
    while more:
        message = await receive()
        body = message.get("body", b"")
        length += len(body)
        digest.update(body)
        more = message.get("more_body", False)
    return f"{length} {digest.hexdigest()}"


async def _endless(receive: Receive, send: Send) -> None:
    global _disconnects
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await receive()  # the empty body
    gone = asyncio.ensure_future(receive())
    while not gone.done():
        await send({"type": "http.response.body", "body": b"x" * 1000, "more_body": True})
        await asyncio.sleep(0.02)
    _disconnects += 1
