"""JSON between the page and texts of one character per byte: what the page gets and what it sends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from whimbrel.base.latin1 import to_text

MAX_DOCUMENT: Final = 8 << 20
"""Bytes of one answer of the API; a larger one is refused with a sentence."""


class Refused(Exception):
    """Why a request of the page has no result: a sentence for its user, and the status."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status


def encoded(document: Mapping[str, object]) -> bytes:
    """Return *document* as JSON in UTF-8.

    Its texts have one character per byte: bytes that are UTF-8 are shown as such, others as Latin-1.
    """
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    try:
        data = text.encode("latin-1")
        data.decode("utf-8")
    except UnicodeError:
        data = text.encode("utf-8", "replace")
    if len(data) > MAX_DOCUMENT:
        raise Refused(f"the result has more than {MAX_DOCUMENT >> 20} MB: choose a smaller part of it")
    return data


def text_of(data: bytes) -> str:
    """Return the lines of a file for the page: UTF-8, or Latin-1 where they are not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def bytes_like(text: str, data: bytes) -> bytes:
    """Return *text* of the page in the encoding of the file *data*."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return text.encode("latin-1", "replace")
    return text.encode("utf-8", "replace")


def from_page(text: str) -> str:
    """Return a text of the page with one character per byte of its UTF-8."""
    return to_text(text.encode("utf-8", "replace"))


def decoded(body: bytes) -> dict[str, object]:
    """Return the object that the page sent; raises Refused."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused("the request is not JSON") from None
    if not isinstance(found, dict):
        raise Refused("the request is not an object")
    return found


def text_in(document: Mapping[str, object], name: str, limit: int = 8192) -> str:
    """Return the text *name*, "" without one; raises Refused for another type or a longer text."""
    value = document.get(name, "")
    if not isinstance(value, str):
        raise Refused(f"{name} is no text")
    if len(value) > limit:
        raise Refused(f"{name} has {len(value):,} characters; at most {limit:,} are read", 413)
    return value


def number_in(document: Mapping[str, object], name: str, default: int = 0) -> int:
    """Return the number *name*; raises Refused for another type or one below 0."""
    value = document.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Refused(f"{name} is no number from 0 on")
    return value
