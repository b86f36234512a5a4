"""Cookies, sessions, forms and credentials: no exception; a session is read as it was written.

The first byte is the length of a name, which precedes the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz import seeds as recorded
from whimbrel.modules.aaa.mod_auth_digest.header import read_credentials, same_uri, split_uri, stamp_of
from whimbrel.modules.mappers.mod_negotiation.accept import members, transparency
from whimbrel.modules.mappers.mod_rewrite.cookies import cookie
from whimbrel.modules.proxy.mod_proxy_balancer.sessions import cookie_value, path_parameter
from whimbrel.modules.session import session_cookies
from whimbrel.modules.session.mod_session import Session, decode, encode
from whimbrel.modules.support.form_data import decoded_pair

COVERED = (
    "modules/aaa/mod_auth_digest/header.py",
    "modules/mappers/mod_negotiation/accept.py",
)
TOKENS = (
    b"; ",
    b"=",
    b"&",
    b"%41",
    b"+",
    b"%",
    b"$Version=1",
    b'"',
    b",",
    b"q=0.5",
    b"expiry=1",
    b"uri=",
    b"nonce=",
    b"Digest ",
)
NOW = 1_600_000_000.0
FAMILIES = ("core-random", "core-mapping", "authz-passwords", "modules-proxy")


def seeds() -> Sequence[bytes]:
    names = ("Cookie", "Authorization", "Accept", "Accept-Language", "Accept-Charset", "Accept-Encoding")
    recorded_fields = [value for name in names for value in recorded.fields(name, *FAMILIES)]
    written = [
        b"a=1; session=user%3da&b=c&expiry=99; $Path=/; b=2",
        b'Digest username="a", realm="r", nonce="AAAAAAAAAAA=0", uri="/x?y", '
        b'response="0", qop=auth, nc=1, cnonce="z"',
        b"name:value:.example.org:60:/:true:httponly:lax",
        b"a=b&c=d&=e&f&expiry=123456789",
        b"text/html;level=1;q=0.5, */*;q=0.1, text/*;q=1.000",
        b"/path;jsessionid=abc.route1?jsessionid=x.route2",
    ]
    return [
        bytes([len(b"session")]) + b"session" + text
        for text in [*recorded.few(recorded_fields, 80), *written]
    ]


def run(data: bytes) -> None:
    size = data[0] % 16 if data else 0
    text = data.replace(b"\0", b"").decode("latin-1")  # no field of a request has one
    name = text[1 : 1 + size]
    value = text[1 + size :]
    _check_session(value)
    for version22 in (False, True):
        cookie(value, NOW, version22=version22)
    if name:
        cookie_value(value, name)
        path_parameter(value, name, has_semicolons=True)
        path_parameter(value, name, has_semicolons=False)
        session_cookies._taken(value, f"{name}=")
    decoded_pair(name, value)
    members(value)
    transparency(value, name)
    credentials = read_credentials(value)
    credentials.complete(lengths=True)
    stamp_of(credentials.get("nonce") or "")
    uri = split_uri(credentials.get("uri") or value)
    target = split_uri("/x?y")
    if uri is not None and target is not None:
        same_uri(uri, target, 80, forgive_query=True)


def _check_session(text: str) -> None:
    session = Session()
    decode(session, text)
    again = Session()
    decode(again, encode(session))
    assert again.expiry == session.expiry
    assert encode(again) == encode(session)
