"""mod_reflector.  Expected responses are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

from tests.support.client import Reply, decoded_body, fetch
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine

CONF = (
    "LoadModule reflector_module modules/mod_reflector.so\n"
    "<Location /r>\nSetHandler reflector\n%s\n</Location>\n"
)


def engine(root: Path, more: str = "") -> Engine:
    """An engine with the handler at /r."""
    return build_engine(root, CONF % more)


def allowed(reply: Reply) -> set[str]:
    """The methods in the field Allow."""
    return set((reply.get("Allow") or "").split(","))


def test_bodies_and_fields(tmp_path: Path) -> None:
    served = engine(tmp_path, "ReflectorHeader X-In\nReflectorHeader X-In X-Out")
    reply = fetch(served, "/r", "Content-Type: text/x", "X-In: v", method="POST", body="hello")
    assert (reply.body, reply.get("Content-Length"), reply.get("Content-Type")) == ("hello", "5", "text/x")
    assert (reply.get("X-In"), reply.get("X-Out"), reply.get("Accept-Ranges")) == ("v", "v", "bytes")
    assert reply.get("Last-Modified") is not None


def test_other_methods(tmp_path: Path) -> None:
    served = engine(tmp_path)
    for method in ("GET", "PUT"):
        reply = fetch(served, "/r", method=method)
        assert (reply.status, allowed(reply)) == (405, {"OPTIONS", "POST", "TRACE"})
    reply = fetch(served, "/r", method="OPTIONS")
    assert (reply.status, allowed(reply)) == (200, {"OPTIONS", "POST", "TRACE"})


def test_large_bodies_are_streamed(tmp_path: Path) -> None:
    served = engine(tmp_path)
    reply = fetch(served, "/r", method="POST", body="x" * 300_000)
    assert (reply.get("Content-Length"), len(reply.body)) == ("300000", 300_000)


def test_bodies_have_the_limit_of_the_server(tmp_path: Path) -> None:
    served = engine(tmp_path, "LimitRequestBody 5")
    assert fetch(served, "/r", method="POST", body="hello").body == "hello"
    assert fetch(served, "/r", method="POST", body="hello more").status == 413


def test_the_length_is_that_of_the_filtered_body(tmp_path: Path) -> None:
    conf = (
        "LoadModule ext_filter_module modules/mod_ext_filter.so\n"
        'ExtFilterDefine double mode=input cmd="/bin/sed p"\n'
    )
    served = build_engine(tmp_path, conf + CONF % "SetInputFilter double")
    assert decoded_body(fetch(served, "/r", method="POST", body="ab\n")) == "ab\nab\n"


def test_the_length_of_a_large_body_behind_a_buffer(tmp_path: Path) -> None:
    conf = "LoadModule buffer_module modules/mod_buffer.so\n" + CONF % "SetInputFilter BUFFER"
    reply = fetch(build_engine(tmp_path, conf), "/r", method="POST", body="x" * 300_000)
    assert (reply.get("Content-Length"), len(reply.body)) == ("300000", 300_000)


def test_bodies_with_two_framings_are_not_read(tmp_path: Path) -> None:
    body = "3\r\nabc\r\n0\r\n\r\n"  # has a Content-Length, too
    reply = fetch(engine(tmp_path), "/r", "Transfer-Encoding: chunked", method="POST", body=body)
    assert (reply.status, reply.body, reply.get("Content-Length")) == (200, "", "0")
    assert (reply.get("Last-Modified"), reply.get("Accept-Ranges")) == (None, None)
