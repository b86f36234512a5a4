"""Debian's fail2ban filters read the logs of the same requests: Whimbrel's match as often as apache2's."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.differential.raw_exchange import exchange
from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.support.debian_machine import DebianMachine, missing

FILTERS: Final = Path("/etc/fail2ban/filter.d")
CONF: Final = r"""ServerName localhost
LogLevel info
<Directory /var/www/html>
Options +ExecCGI
AddHandler cgi-script .pl .cgi
</Directory>
<Location /refused>
Require ip 192.0.2.1
</Location>
<Location /basic>
AuthType Basic
AuthName basic
AuthUserFile /var/www/users
Require user knot
</Location>
<Location /other>
AuthType Basic
AuthName other
AuthUserFile /var/www/users
Require user ruff
</Location>
<Location /digest>
AuthType Digest
AuthName digest
AuthUserFile /var/www/digests
Require valid-user
</Location>
"""
# user knot, password plover
USERS: Final = "knot:{SHA}UiHbs/HwNhiHTsYUZoUHBAfNAlU=\n"
DIGESTS: Final = "knot:digest:0123456789abcdef0123456789abcdef\n"
_MATCHES: Final = re.compile(r"^Lines: .* (\d+) matched, \d+ missed", re.MULTILINE)
_NONCE: Final = re.compile(r'nonce="([^"]*)"')
_PLAIN_NAME: Final = re.compile(r"[\w ]+")

pytestmark = pytest.mark.skipif(bool(missing("fail2ban-regex")), reason=missing("fail2ban-regex") or "-")


def request(target: str, *fields: str, method: str = "GET") -> str:
    """Return what the server sends for a request."""
    head = "\r\n".join((f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close", *fields))
    return exchange(80, (head + "\r\n\r\n").encode("latin-1")).decode("latin-1")


def basic(user: str, password: str) -> str:
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def digest(**changes: str) -> str:
    """Return the field of a request for /digest/ whose password is wrong, and what *changes* say."""
    found = _NONCE.search(request("/digest/"))
    assert found is not None
    values = {"username": "knot", "realm": "digest", "nonce": found[1], "uri": "/digest/", "nc": "00000001"}
    values |= {"cnonce": "x", "qop": "auth", "response": "0" * 32, "algorithm": "MD5"} | changes
    return "Authorization: Digest " + ", ".join(f'{name}="{value}"' for name, value in values.items())


def bad_robots() -> list[str]:
    """Return names of the filter's list that are no patterns."""
    text = (FILTERS / "apache-badbots.conf").read_text()
    line = next(line for line in text.splitlines() if line.startswith("badbots = "))
    names = line.removeprefix("badbots = ").split("|")
    return [name for name in names if _PLAIN_NAME.fullmatch(name)][:5]


def send_all() -> None:
    """Send the requests of scanners and guessers."""
    request("/refused/")
    for user, password in (("nobody", "x"), ("knot", "wrong"), ("knot", "plover"), ("", ""), ("a`b c", "x")):
        request("/basic/", basic(user, password))
        request("/other/", basic(user, password))
    request("/basic/", "Authorization: Digest username=x")
    request("/digest/", basic("knot", "plover"))
    request("/digest/", digest())
    for changes in (
        {"username": "nobody"},
        {"realm": "other"},
        {"algorithm": "SHA1"},
        {"nonce": "short"},
        {"nonce": "A" * 52},
        {"qop": "auth-conf"},
        {"uri": "/elsewhere"},
    ):
        request("/digest/", digest(**changes))
    for path in ("/x.php", "/x.php5", "/x.asp", "/a/x.exe", "/no.pl", "/no.cgi", "/cgi-bin/no", "/x"):
        request(path)
        request(path, "Referer: http://a.test/")
    for path in ("/~root", "/~nobody/x", "/a/~b", "/phpmyadmin/", "/admin/", "/mysql/x", "/w00tw00t.at.ISC"):
        request(path)
    for target in (
        "x",
        "/%",
        "/%00",
        "/" + "a" * 9000,
        "/..%2f..%2fetc/passwd",
        "/../../etc/passwd",
        "http://",
    ):
        request(target)
    for method in ("BOGUS", "\x16\x03\x01", "get", "G(T"):
        request("/", method=method)
    for name in bad_robots():
        for method in ("GET", "HEAD", "POST"):
            request("/", f"User-Agent: {name}", method=method)


def logs_of(program: Program, copies: Path) -> Path:
    """Send the requests to *program*; return a directory with its logs."""
    with DebianMachine(program) as machine:
        (machine.base / "etc/apache2/conf-enabled/site.conf").write_text(CONF)
        (machine.base / "var/www/users").write_text(USERS)
        (machine.base / "var/www/digests").write_text(DIGESTS)
        (machine.base / "var/www/html/index.html").write_text("knot\n")
        machine.run("a2enmod", "-q", "auth_digest", "cgid")
        machine.start()
        send_all()
        request("/last")
        machine.wait_for(lambda: "/last" in machine.log() and "/last" in machine.log("access.log"))
        return Path(shutil.copytree(machine.base / "var/log/apache2", copies / program.name))


def matches(log: Path, name: str) -> int:
    """Return how many lines of *log* a filter, with its options, matches."""
    command = ["fail2ban-regex", str(log), f"apache-{name}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = _MATCHES.search(done.stdout)
    assert found is not None, done.stdout + done.stderr
    return int(found[1])


def test_filters_match_as_often_as_with_apache2(tmp_path: Path) -> None:
    expected, found = (logs_of(program, tmp_path) for program in (APACHE, WHIMBREL))
    for name in ("auth", "noscript", "overflows", "nohome", "botsearch[webroot=/var/www/html/]", "badbots"):
        log = "access.log" if name == "badbots" else "error.log"
        count = matches(expected / log, name)
        assert count > 0, name
        assert matches(found / log, name) == count, name
