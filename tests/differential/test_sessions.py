"""Sessions of apache2 are sessions here, and the reverse: login, page and logout at both servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.module_row import Row
from tests.differential.module_rows_access import SESSIONS, location
from tests.differential.module_site import NEEDS, ModuleSite
from tests.differential.servers import APACHE, WHIMBREL

LOADS = (
    "authn_file authz_user auth_form request session session_cookie session_dbd session_crypto dbd cgid "
    "headers"
)
FORM = (
    "AuthFormProvider file\nAuthType form\nAuthName zone\nAuthUserFile @/users\nSession On\n"
    "SessionMaxAge 600\n"
)
STORES = {
    "cookie": "SessionCookieName sess path=/",
    **{
        cipher: f"SessionCookieName sess path=/\nSessionCryptoPassphrase secret\nSessionCryptoCipher {cipher}"
        for cipher in ("aes128", "aes192", "aes256", "3des192")
    },
    "dbd": "SessionDBDCookieName sess path=/",
}


def row(store: str, path: str, **more: str) -> Row:
    """Return a request for the host of a store."""
    conf = "\n".join(
        (
            location(f"{FORM}{STORES[store]}\nRequire valid-user"),
            location("SetHandler form-login-handler\nAuthFormLoginSuccessLocation /env.cgi", "/login"),
            location("SetHandler form-logout-handler\nAuthFormLogoutLocation /out", "/logout"),
        )
    )
    statements = SESSIONS[-1].main.replace("@/run/data.db", "%DATABASE%")
    return Row("mod_session", conf, path, "", name=f"store-{store}", loads=LOADS, main=statements, **more)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, ModuleSite]]:
    """Run both servers on one database."""
    if NEEDS["ciphers"] or not APACHE.present:
        pytest.skip(NEEDS["ciphers"] or "apache2 is not installed")
    rows = [row(store, "/") for store in STORES]
    with TemporaryDirectory(prefix="whimbrel-sessions-") as base:
        Path(base).chmod(0o755)
        places = {"DATABASE": Path(base) / "apache2/run/data.db"}
        apache = ModuleSite(APACHE, Path(base) / "apache2", rows, "2.4", places)
        with apache, ModuleSite(WHIMBREL, Path(base) / "whimbrel", rows, "2.4", places) as whimbrel:
            assert apache.started and whimbrel.started, apache.output + whimbrel.output
            yield {"apache2": apache, "whimbrel": whimbrel}


def cookie(response: str) -> str:
    """Return the session cookie that a response sets, "" for an expired one."""
    found = re.findall(r"^Set-Cookie: (sess=[^;\r]*);?([^\r]*)", response, re.MULTILINE)
    value, attributes = found[-1] if found else ("", "")
    return "" if "Max-Age=0" in attributes else value


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("first", "second"), [("apache2", "whimbrel"), ("whimbrel", "apache2")])
def test_a_login_counts_at_the_other_server(
    servers: dict[str, ModuleSite], store: str, first: str, second: str
) -> None:
    body = "httpd_username=alice&httpd_password=wonder"
    kind = "Content-Type: application/x-www-form-urlencoded\r\n"
    answer = servers[first].ask(row(store, "/login", method="POST", body=body, fields=kind))
    assert answer.startswith("HTTP/1.1 302 "), answer
    sent = cookie(answer)
    assert sent, answer
    page = servers[second].ask(row(store, "/env.cgi", fields=f"Cookie: {sent}\r\n"))
    assert page.startswith("HTTP/1.1 200 ") and "REMOTE_USER=alice\n" in page, page
    again = cookie(page) or sent
    out = servers[first].ask(row(store, "/logout", fields=f"Cookie: {again}\r\n"))
    left = cookie(out) or "sess="
    refused = servers[second].ask(row(store, "/env.cgi", fields=f"Cookie: {left}\r\n"))
    assert (out.startswith("HTTP/1.1 307 "), refused[:13]) == (True, "HTTP/1.1 401 "), out + refused


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", ["apache2", "whimbrel"])
@pytest.mark.parametrize("body", ["httpd_username=alice&httpd_password=wrong", "httpd_username=alice", ""])
def test_a_failed_login_opens_nothing(
    servers: dict[str, ModuleSite], store: str, name: str, body: str
) -> None:
    kind = "Content-Type: application/x-www-form-urlencoded\r\n"
    answer = servers[name].ask(row(store, "/login", method="POST", body=body, fields=kind))
    assert answer.startswith("HTTP/1.1 401 ")
    page = servers[name].ask(row(store, "/env.cgi", fields=f"Cookie: {cookie(answer) or 'sess='}\r\n"))
    assert page.startswith("HTTP/1.1 401 ")
