"""URLs, paths, log items and addresses: no exception; escaped text is read back, a normal form is normal."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Sequence

from tests.fuzz import seeds as recorded
from whimbrel.base.net import InvalidNetwork, Networks, parse_network, parse_written
from whimbrel.base.numbers import atof, atoi, split, strtol, strtol_exact
from whimbrel.http.syntax.target import split_target, split_url, unsplit
from whimbrel.http.syntax.url import (
    Slashes,
    construct_url,
    decode_path,
    escape_errorlog_item,
    escape_form,
    escape_html,
    escape_logitem,
    escape_path,
    escape_segment,
    escape_shell,
    escape_uri,
    getparents,
    merge_slashes,
    normalize,
    unescape,
    unescape_logitem,
    unescape_loose,
)

COVERED = ("http/syntax/url.py", "http/syntax/target.py", "base/net.py", "base/numbers.py")
TOKENS = (
    b"%2f",
    b"%2e",
    b"%00",
    b"%",
    b"..",
    b"/./",
    b"//",
    b"http://a:80",
    b"@",
    b"[::1]",
    b"10.0.0.0/8",
    b"::/0",
    b"255.255.0.255",
    b"#",
    b"?",
    b";",
    b"\\x",
    b"\\",
)


def seeds() -> Sequence[bytes]:
    paths = [
        request.path.encode("latin-1", "replace")
        for request in recorded.requests("core-path", "core-mapping", "core-http")
    ]
    networks = [
        b"10.0.0.1/255.255.0.0",
        b"10.1",
        b"fe80::1/10",
        b"1.2.3.4/33",
        b"::ffff:1.2.3.4/120",
        b"192.168.0.0/255.0.255.0",
    ]
    return [*recorded.few(paths, 100), *networks, b"http://u:p@[::1]:80/a%2Fb/../c?d#e", b'\\x41\\"\\n\\\\']


def run(data: bytes) -> None:
    text = data.decode("latin-1")
    for slashes in (Slashes.OFF, Slashes.ON, Slashes.NO_DECODE):
        for merge in (False, True):
            for version22 in (False, True):
                path, status = decode_path(text, slashes, merge=merge, version22=version22)
                if not status and not version22 and path[:1] == "/":
                    assert "/../" not in f"{path}/"
    _check_normal_forms(text)
    status = 404 if "\0" in text else 0
    assert unescape(escape_segment(text), Slashes.ON) == (text, status)
    whole = unescape(escape_path(text), Slashes.ON)
    assert whole in ((text, status), (f"./{text}", status))  # a colon in the first segment
    assert unescape_loose(escape_form(text).replace("+", " ")) == text
    assert unescape_logitem(escape_logitem(text)) == text
    assert escape_logitem(text).isprintable() and escape_logitem(text).isascii()
    assert "<" not in escape_html(text) and '"' not in escape_html(text)
    assert construct_url("http", "a", 80, "/x") == "http://a/x"
    parts = split_url(text)
    if parts is not None:
        unsplit(parts)
        unsplit(parts, reveal_password=True)
    split_target(text, "CONNECT")
    for function in (
        escape_uri,
        escape_shell,
        escape_errorlog_item,
        getparents,
        merge_slashes,
        split_url,
        atoi,
        atof,
        strtol,
        split,
    ):
        function(text)
    strtol_exact(text)
    _check_network(text)


def _check_normal_forms(text: str) -> None:
    for merge in (False, True):
        path, good = normalize(text, merge=merge)
        if good:
            assert normalize(path, merge=merge) == (path, True)


def _check_network(text: str) -> None:
    """A network has its first address, as the standard library reads it."""
    address, _, mask = text.partition("/")
    try:
        network = parse_network(address, mask or None)
    except InvalidNetwork:
        return
    single = Networks([network])
    union = Networks.union(
        [single, Networks([parse_network("192.0.2.0", "24"), parse_network("2001:db8::", "32")])]
    )
    assert "192.0.2.9" in union and "2001:db8::1" in union
    with contextlib.suppress(ValueError):
        written = str(ipaddress.ip_address(address))
        assert written in single
        assert written in union
    with contextlib.suppress(InvalidNetwork):
        parse_written(text)
