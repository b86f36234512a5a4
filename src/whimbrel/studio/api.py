"""One request to the studio: who may ask, what is asked, and the answer.

The page is public to local programs and holds no secret. The API wants the token of this run in a field of
the head, which no page of another origin can set, and checks Host and Origin: a name that another site's DNS
leads here is refused before anything is read.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from whimbrel.studio.analyst import Superseded
from whimbrel.studio.documents import Refused, decoded, encoded
from whimbrel.studio.page import FIELDS, StaticFile
from whimbrel.studio.session import StudioSession

API: Final = "/api/"
TOKEN_FIELD: Final = "X-Whimbrel-Token"
JSON: Final = "application/json"
MAX_BODY: Final = 6 << 20
"""Bytes of a request of the page."""
MAX_BODIES: Final = 24 << 20
"""Bytes of the requests that are read or answered at a time."""


class StudioRequest(NamedTuple):
    """The parts of a request that matter; *body* is that of a POST."""

    method: str
    path: str
    fields: Mapping[str, str]
    body: bytes = b""


class StudioResponse(NamedTuple):
    """Status, fields and body."""

    status: int
    body: bytes
    media_type: str = f"{JSON}; charset=utf-8"
    fields: Mapping[str, str] = FIELDS


HTTP_PORT: Final = 80


class ByteBudget:
    """The bytes of all bodies that are read or answered at a time: at most *limit*."""

    def __init__(self, limit: int) -> None:
        self._left = limit

    @contextmanager
    def reserve(self, size: int) -> Iterator[bool]:
        """Take *size* bytes while the block runs; the value is False, and nothing is taken, if there are
        fewer.
        """
        is_admitted = size <= self._left
        taken = size if is_admitted else 0
        self._left -= taken
        try:
            yield is_admitted
        finally:
            self._left += taken


class StudioApi:
    """Checks and answers requests at one port of the loopback."""

    def __init__(self, session: StudioSession, port: int, page: Mapping[str, StaticFile]) -> None:
        self.session = session
        bare = ("127.0.0.1", "localhost")
        names = {f"{name}:{port}" for name in bare}
        self._hosts = names.union(bare) if port == HTTP_PORT else names  # browsers leave the port 80 out
        self._page = page
        self.budget = ByteBudget(MAX_BODIES)
        self._once = secrets.token_bytes(32)  # key of the comparison: equal lengths, whatever was sent

    async def respond(self, request: StudioRequest) -> StudioResponse:
        """Return the response; no request makes it raise."""
        try:
            refusal = self.refusal(request)
            if refusal is not None:
                raise refusal
            if request.path.startswith(API):
                return StudioResponse(200, await self._call(request))
            file = self._page[request.path]
            return StudioResponse(200, file.data, file.media_type)
        except Refused as problem:
            return _error(problem.sentence, problem.status)
        except Superseded:
            return StudioResponse(200, b'{"superseded":true}')

    def refusal(self, request: StudioRequest) -> Refused | None:
        """Return why the head of *request* is refused, None if it may go on; its body need not be read."""
        fields = request.fields
        if fields.get("host", "").lower() not in self._hosts:
            return Refused("this address does not belong to the studio", 421)
        if fields.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return Refused("another site asks", 403)
        if not request.path.startswith(API):
            if request.path not in self._page:
                return Refused("there is no such page", 404)
            return None if request.method in ("GET", "HEAD") else Refused("a page is read with GET", 405)
        if request.method != "POST":
            return Refused("the API is used with POST", 405)
        if not self._is_own_origin(fields.get("origin", "")):
            return Refused("another site asks", 403)
        if not self._has_token(fields.get(TOKEN_FIELD.lower(), "")):
            return Refused(
                "open the address that `whimbrel studio` has printed: it has the key to this page", 403
            )
        if fields.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return Refused("the API reads JSON", 415)
        if request.path.removeprefix(API) not in self.session.methods:
            return Refused("there is no such method", 404)
        return None

    def _is_own_origin(self, origin: str) -> bool:
        scheme, _colon, host = origin.partition("://")
        return scheme == "http" and host.lower() in self._hosts

    def _has_token(self, token: str) -> bool:
        """Return True for the token, in a time that does not depend on what was sent."""
        own, sent = (
            hmac.digest(self._once, text.encode("utf-8", "replace"), "sha256")
            for text in (self.session.token, token)
        )
        return hmac.compare_digest(own, sent)

    async def _call(self, request: StudioRequest) -> bytes:
        if len(request.body) > MAX_BODY:
            raise Refused(f"a request of more than {MAX_BODY >> 20} MB is not read", 413)
        method = self.session.methods[request.path.removeprefix(API)]
        return await method(decoded(request.body))


def _error(sentence: str, status: int) -> StudioResponse:
    return StudioResponse(status, encoded({"error": sentence}))
