"""Cookies of sessions: fields and attributes as the installed httpd sends and reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import AccessSite

from whimbrel.base.errors import ConfigError
from whimbrel.engine.request import Request
from whimbrel.modules.session.session_cookies import named, read


def request_with(root: Path, field: str) -> Request:
    site = AccessSite(root, "")
    server = site.engine.main
    from whimbrel.engine.request import Connection

    r = Request(
        site.engine, Connection("127.0.0.1", 1, "127.0.0.1", 80), server, site.engine.plans.root(server)
    )
    r.headers_in.set("Cookie", field)
    return r


# The Cookie field, the value of "sess", and the field as programs see it after the removal.
@pytest.mark.parametrize(
    ("field", "value", "rest"),
    [
        ("x=y; sess=k=v , sess2=3,; z=1,w=2;", "k=v ", "x=y, sess2=3, z=1,w=2"),
        ("x=y;sess=k=v,z=2", "k=v", "x=y,z=2"),
        ('sess="k=v"', '"k=v"', None),
        ("SESS=k=v", None, "SESS=k=v"),
        (" sess=k=v", "k=v", None),
        ("sess=", "", None),
        ("s2=a=b; sess=c=d; o=p", "c=d", "s2=a=b; o=p"),
        ("$Version=1; sess=a=b; $Path=/; o=p", "a=b", "$Version=1; o=p"),
    ],
)
def test_reading(tmp_path: Path, field: str, value: str | None, rest: str | None) -> None:
    r = request_with(tmp_path, field)
    assert read(r, "sess", remove=False) == value and r.headers_in.get("Cookie") == field
    assert (read(r, "sess", remove=True), r.headers_in.get("Cookie")) == (value, rest)


@pytest.mark.parametrize(("field", "value"), [("sess=a=b; sess=a=b", "a=b"), ("sess=a=b; sess=c=d", None)])
def test_two_of_a_name(tmp_path: Path, field: str, value: str | None) -> None:
    r = request_with(tmp_path, field)
    assert read(r, "sess", remove=True) == value
    assert r.headers_in.get("Cookie") == (field if value is None else None)


# Cookie, Cookie2, the value of "sess", and both fields after the removal.
@pytest.mark.parametrize(
    ("first", "second", "value", "rest"),
    [
        ("x=y", "sess=k=v", "k=v", ("x=y", None)),
        ("x=y; sess=k=v", "z=1; sess=k=v", "k=v", ("x=y", "z=1")),
        ("sess=k=v", "sess=other", None, ("sess=k=v", "sess=other")),
        ("sess=k=v", "$Version=1", "k=v", (None, None)),
    ],
)
def test_both_fields_are_read(
    tmp_path: Path, first: str, second: str, value: str | None, rest: tuple[str | None, str | None]
) -> None:
    r = request_with(tmp_path, first)
    r.headers_in.set("Cookie2", second)
    assert read(r, "sess", remove=True) == value
    assert (r.headers_in.get("Cookie"), r.headers_in.get("Cookie2")) == rest


def test_a_name_and_its_attributes() -> None:
    made = named("SessionCookieName", "other domain=x,Secure path=/ b", empty="E", bad="B", marks="=&")
    assert (made.name, made.attributes, made.modern) == ("other", "domain=x,Secure path=/ b", False)
    assert named("SessionCookieName2", '"s 2" path=/;Secure', empty="E", bad="B", marks="=&").name == "s 2"


@pytest.mark.parametrize(("line", "message"), [("", "E"), (" ", "E"), ("a=b", "B"), ("a&b path=/", "B")])
def test_names_that_are_refused(line: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        named("SessionCookieName", line, empty="E", bad="B", marks="=&")
