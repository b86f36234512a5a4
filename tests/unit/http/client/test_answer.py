"""The interface of readers: bytes that are taken, bytes that come too late."""

from __future__ import annotations

from whimbrel.backends.fastcgi import FastcgiReader
from whimbrel.backends.scgi import ScgiReader
from whimbrel.backends.uwsgi import UwsgiReader
from whimbrel.http.client.answer import AnswerReader
from whimbrel.http.client.response_reader import ResponseReader
from whimbrel.http.client.response_rules import RULES_24


def test_buffered_and_take():
    reader = ResponseReader(RULES_24, "GET")
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")
    reader.feed(b"cd")
    assert (reader.buffered, reader.take(), reader.buffered, reader.take()) == (4, b"abcd", 0, b"")


def test_bytes_after_an_answer_end_the_connection():
    reader = ResponseReader(RULES_24, "GET")
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
    assert (reader.done, reader.reusable) == (True, True)
    reader.feed(b"x")
    assert (reader.rest, reader.reusable) == (b"x", False)


def test_every_reader_has_the_interface():
    assert all(
        isinstance(reader, AnswerReader)
        for reader in (ResponseReader(RULES_24, "GET"), FastcgiReader(), ScgiReader(), UwsgiReader())
    )
