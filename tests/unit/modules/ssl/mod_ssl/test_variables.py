"""Variables compared with the recorded ones of the same certificates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from cryptography import x509
from tests.support.tls import case, recorded_tls
from tests.support.tls_site import TlsSite

PEERS = ("", "conf/cl1.pem", "conf/cl2.pem")
# what differs by the library or the connection
OF_THE_RUN = ("SSL_CLIENT_CERT", "SSL_VERSION", "REMOTE_ADDR", "SSL_HANDSHAKE", "SSL_ECH")


def header_lines(number: int) -> str:
    """Return the lines of a recorded configuration that show variables in response fields."""
    conf = case(number)["conf"]
    text = conf if isinstance(conf, str) else conf["2.4"]
    return "\n".join(re.findall(r"(?m)^Header set X-.*$", text)) + "\n"


def shown(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields whose values do not depend on the run."""
    return {name: text.strip() for name, text in fields.items() if not text.startswith(OF_THE_RUN)}


@pytest.mark.parametrize("peer", range(3))
@pytest.mark.parametrize(("version", "number"), [("2.2", 62), ("2.4", 62), ("2.4", 63)])
def test_every_name_in_response_fields(tmp_path: Path, version: str, number: int, peer: int) -> None:
    options = "SSLOptions +LegacyDNStringFormat\n" if number == 63 else ""
    site = TlsSite(tmp_path, options + header_lines(number), version)
    recorded = case(number)["answers"][version]["responses"][peer]["headers"]
    expected = {name: text for name, text in recorded if name.startswith("X-")}
    assert shown(site.fields(site.over(recorded_tls(PEERS[peer])))) == shown(expected)


@pytest.mark.parametrize("peer", range(3))
@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_variables_of_programs(tmp_path: Path, version: str, peer: int) -> None:
    site = TlsSite(tmp_path, "SSLOptions +StdEnvVars\n", version)
    body = case(53)["answers"][version]["responses"][peer]["body"]
    expected = dict(line.split("=", 1) for line in body.splitlines() if line.startswith("SSL_"))
    names = "\n".join(f'Header set X-{name} "%{{{name}}}e"' for name in expected)
    site = TlsSite(tmp_path / "again", f"SSLOptions +StdEnvVars\n{names}\n", version)
    fields = site.fields(site.over(recorded_tls(PEERS[peer])))
    changing = ("SSL_VERSION_INTERFACE", "SSL_VERSION_LIBRARY", "SSL_SESSION_ID", "SSL_CLIENT_V_REMAIN")
    for name, value in expected.items():
        if name not in changing:
            assert fields[f"X-{name}"] == value, name


@pytest.mark.parametrize(("version", "more"), [("2.2", 1), ("2.4", 0)])
def test_days_until_the_certificate_expires(tmp_path: Path, version: str, more: int) -> None:
    """2.2 counts the last day, too."""
    tls = recorded_tls(PEERS[1])
    assert tls.peer_certificate is not None
    site = TlsSite(tmp_path, 'Header set X-A "%{SSL_CLIENT_V_REMAIN}s"\n', version)
    expiry = x509.load_der_x509_certificate(tls.peer_certificate).not_valid_after_utc.timestamp()
    left = expiry - site.engine.runtime.now()
    assert site.fields(site.over(tls))["X-A"] == str(int(left // 86400) + more)


def test_variables_of_rewriting_and_expressions(tmp_path: Path) -> None:
    conf = """RewriteEngine On
RewriteRule ^ - [E=A:%{SSL:SSL_PROTOCOL},E=B:%{HTTPS},E=C:%{SSL:SSL_CLIENT_S_DN_CN},E=D:%{SSL:NOPE}]
Header set X-E "%{A}e|%{B}e|%{C}e|%{D}e"
Header set X-F "expr=%{HTTPS}|%{SSL:SSL_PROTOCOL}|%{SSL_CLIENT_S_DN_CN}"
"""
    site = TlsSite(tmp_path, conf)
    recorded = case(65)["answers"]["2.4"]["responses"]
    for tls, answer in ((recorded_tls("conf/cl1.pem"), recorded[1]), (None, recorded[2])):
        expected = {name: text for name, text in answer["headers"] if name.startswith("X-")}
        fields = site.fields(site.over(tls))
        assert {name: fields[name] for name in expected} == expected
