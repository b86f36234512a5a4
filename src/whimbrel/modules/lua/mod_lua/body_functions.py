"""Functions of `r` on the query and the request body (lua_request.c)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import decimal, is_digits, lower, strip
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.lua.mod_lua.arguments import CallArguments
from whimbrel.modules.lua.mod_lua.text_functions import NOTHING
from whimbrel.modules.support.form_data import decoded_pair

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.lua.mod_lua.request_api import RequestApi

DEFAULT_SIZE: Final = 8192  # bytes of a form without a limit of the script's own
MAX_VARIABLES: Final = 500
MAX_BODY: Final = 64 * 1024 * 1024  # bytes that requestbody returns; a longer body goes to a file
_BOUNDARY: Final = re.compile(r"multipart/form-data; boundary=(.{1,250})", re.DOTALL)
_DISPOSITION: Final = re.compile(r'Content-Disposition:[ \t-\r]*form-data;[ \t-\r]*name="([^"\0]{1,255})')
_MIN_VALUE: Final = 8  # bytes of the separators around a value: a form ends where there are no more


def _tables(api: RequestApi, pairs: list[tuple[str, str]]) -> tuple[Any, Any]:
    """Return a table of the first values, and one of lists of all values."""
    first: dict[str, str] = {}
    every: dict[str, list[str]] = {}
    for name, value in pairs:
        first.setdefault(name, value)
        every.setdefault(name, []).append(value)
    make = api.machine.table
    return make(first), make({name: make(values) for name, values in every.items()})


def parse_args(api: RequestApi, _words: CallArguments) -> Any:
    """Return the query: of equal names the last value counts (ap_args_to_table)."""
    pairs: dict[str, str] = {}
    for part in (api.r.args or "").split("&"):
        name, equals, value = part.partition("=")
        if name:
            key, text = decoded_pair(name, value)
            pairs[key] = text if equals else "1"
    return _tables(api, list(pairs.items()))


def parse_body(api: RequestApi, words: CallArguments) -> Any:
    """Return the fields of a form; empty tables for a body that is none or is too large."""
    limit = words.integer(1, DEFAULT_SIZE)
    kind = api.r.headers_in.get("Content-Type") or ""
    multipart = _BOUNDARY.match(kind)
    if multipart:
        if limit < 0 or _is_chunked(api.r):
            return _tables(api, [])
        data, _ = api.wait(_read(api.r, limit or MAX_BODY))
        return _tables(api, [] if data is None else _parts(to_text(data), multipart[1]))
    if lower(strip(kind.partition(";")[0])) != "application/x-www-form-urlencoded":
        return _tables(api, [])
    data, _ = api.wait(_read(api.r, limit if limit > 0 else MAX_BODY))
    if data is None:
        return _tables(api, [])
    pairs = [part.partition("=") for part in to_text(data).split("&") if part]
    return _tables(api, [decoded_pair(name, value) for name, equals, value in pairs if equals][::-1])


def _parts(text: str, boundary: str) -> list[tuple[str, str]]:
    """Return the fields of a form as req_parsebody finds them: heads end at a NUL, values do not."""
    pairs: list[tuple[str, str]] = []
    start = text.partition("\0")[0].find(boundary)
    for _ in range(MAX_VARIABLES - 1):
        head_end = text.find("\r\n\r\n", start)
        end = text.find(boundary, head_end)
        if min(start, head_end) < 0 or text.find("\0", start, head_end) >= 0 or end - head_end <= _MIN_VALUE:
            break
        name = _DISPOSITION.match(text, start + len(boundary) + 2)
        if name:
            pairs.append((name[1], text[head_end + 4 : end - 4]))
        start = end
    return pairs


def _is_chunked(r: Request) -> bool:
    """Return True if the body has no length (REQUEST_CHUNKED_ERROR)."""
    return r.headers_in.get_list("Transfer-Encoding") is not None


def request_body(api: RequestApi, words: CallArguments) -> Any:
    """Return the request body, or write it to the file that is named and return its size."""
    path = words.value(1)
    if api.r.method not in ("POST", "PUT"):
        return NOTHING
    if isinstance(path, str):
        return api.wait(_save(api.r, path, words.integer(2, 0)))
    if _is_chunked(api.r):
        return NOTHING
    data, is_too_large = api.wait(_read(api.r, MAX_BODY))
    if data is None and not is_too_large:
        return NOTHING
    if data is None:
        return None, "Request body was larger than the permitted size."
    length = api.r.body_in.length if not api.r.body_in.is_filtered else None
    announced = api.r.headers_in.get("Content-Length")
    if length is None and announced is not None and is_digits(announced):
        data = data[: decimal(announced)]  # httpd counts the bytes on the wire, whatever filters add
    return to_text(data), len(data)


async def _read(r: Request, limit: int) -> tuple[bytes | None, bool]:
    """Return the body, None if it cannot be read; and True if it has more than *limit* bytes."""
    data = bytearray()
    try:
        while piece := await r.body_in.read():
            data += piece
            if len(data) > limit:
                return None, True
    except BodyError:
        return None, False
    return bytes(data), False


async def _save(r: Request, path: str, limit: int) -> Any:
    size = 0
    try:
        with open(to_bytes(path), "wb") as file:
            while piece := await r.body_in.read():
                size += len(piece)
                if limit and size > limit:
                    return False
                file.write(piece)
    except (OSError, BodyError):
        return False
    return size
