"""Certificates of clients by the version of TLS.

The statuses are those of apache2 2.4.71 (OpenSSL 3.0.22) for a client without post-handshake authentication,
as browsers are.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import side_of, write_site

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.explain.cause import cause_of
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.request_description import RequestDescription, probe_of
from whimbrel.explain.tls_versions import certificate_notice, connection_notice
from whimbrel.verify.loading import load_side
from whimbrel.verify.probe import Probe, TlsFacts
from whimbrel.verify.side import Side

pytest.importorskip("cryptography", reason="certificates need the extra tls")

CONF = """SSLPassPhraseDialog builtin
Listen 443
ServerName q.example
DocumentRoot "@ROOT@/htdocs"
TypesConfig "@ROOT@/mime.types"
<VirtualHost *:443>
    ServerName q.example
    SSLEngine on
    SSLOptions +StdEnvVars
    {host}
    <Location /opt>
        SSLVerifyClient optional
    </Location>
    <Location /req>
        SSLVerifyClient require
    </Location>
    <Location /any>
        SSLRequire %{{SSL_CLIENT_S_DN_O}} eq "Lab"
    </Location>
</VirtualHost>
"""


def site(root: Path, host: str = "SSLVerifyClient none", dialect: str = "2.4") -> Side:
    conf = CONF.format(host=host)
    loads = "LoadModule ssl_module modules/mod_ssl.so\n"
    side = side_of(root, f"{loads}{conf}") if dialect == "2.4" else loaded_22(root, f"{loads}{conf}")
    for name in ("opt", "req", "any"):
        (root / "htdocs" / name).mkdir(exist_ok=True)
        (root / "htdocs" / name / "index.html").write_text("x\n")
    assert side.is_loaded, side.errors
    return side


def loaded_22(root: Path, conf: str) -> Side:
    """Return the site with the modules that 2.2 needs for it."""
    file = write_site(root, conf)
    names = ("authz_host", "dir", "mime", "ssl")
    loads = [f"LoadModule {name}_module modules/mod_{name}.so" for name in names]
    rest = [line for line in file.read_text().splitlines() if not line.startswith("LoadModule")]
    file.write_text("\n".join([*loads, *rest, ""]))
    return load_side(LoadOptions(server_root=str(root), file=str(file)), "2.2")


def probe(path: str, certificate: str, version: str) -> Probe:
    described = RequestDescription(f"https://q.example{path}index.html", certificate=certificate)
    found = probe_of(described, None)
    assert found.tls is not None
    tls = TlsFacts("q.example", version, peer_certificate=found.tls.peer_certificate)
    return Probe(f"{path}index.html", host="q.example", port=443, tls=tls)


@pytest.mark.parametrize(
    ("version", "certificate", "path", "status"),
    [
        ("TLSv1.2", "O=Lab", "/opt/", 200),
        ("TLSv1.2", "O=Lab", "/req/", 200),
        ("TLSv1.2", "O=Lab", "/any/", 403),  # no handshake asks for it
        ("TLSv1.3", "", "/opt/", 403),
        ("TLSv1.3", "", "/req/", 403),
        ("TLSv1.3", "", "/any/", 403),
        ("TLSv1.3", "O=Lab", "/opt/", 403),
        ("TLSv1.3", "O=Lab", "/req/", 403),
        ("TLSv1.3", "O=Lab", "/any/", 403),
    ],
)
def test_statuses_are_those_of_apache2(
    tmp_path: Path, version: str, certificate: str, path: str, status: int
) -> None:
    assert explain_probe(site(tmp_path), probe(path, certificate, version)).status == status


def test_the_line_that_asks_is_the_cause(tmp_path: Path) -> None:
    for certificate in ("", "O=Lab"):
        found = explain_probe(site(tmp_path), probe("/req/", certificate, "TLSv1.3"))
        cause = cause_of(found)
        assert [line.text for line in cause.lines] == ["SSLVerifyClient require"]
        assert cause.sentence == "cannot perform post-handshake authentication"
        assert any(line.what.startswith("AH10158") for line in found.log_lines())


def test_22_renegotiates(tmp_path: Path) -> None:
    """2.2 has no TLS 1.3, whatever the client has; `require` refuses a client without a certificate."""
    for host in ("SSLVerifyClient none", "SSLProtocol all"):
        side = site(tmp_path, host, "2.2")
        for certificate, path, status in (("O=Lab", "/req/", 200), ("", "/opt/", 200), ("", "/req/", 403)):
            assert explain_probe(side, probe(path, certificate, "TLSv1.3")).status == status, (host, path)


def test_a_certificate_that_nothing_asks_for_is_not_sent(tmp_path: Path) -> None:
    """RFC 5246, 7.4.6 and RFC 8446, 4.4.2: a client sends its certificate if the server requests it."""
    conf = CONF.format(host="").replace("SSLVerifyClient optional", "").replace("SSLVerifyClient require", "")
    side = side_of(tmp_path, f"LoadModule ssl_module modules/mod_ssl.so\n{conf}")
    asked = probe("/any/", "O=Lab", "TLSv1.3")
    found = explain_probe(side, asked)
    assert found.status == 403
    notice = certificate_notice(side, asked, found, lambda one: explain_probe(side, one))
    assert notice.startswith("no SSLVerifyClient line asks clients of this virtual host for a certificate")


@pytest.mark.parametrize(
    ("host", "certificate", "has_notice"),
    [
        ("SSLVerifyClient none", "O=Lab", True),
        ("SSLVerifyClient optional", "O=Lab", True),
        ("SSLVerifyClient require", "O=Lab", False),  # the first handshake asks for it
        ("SSLProtocol TLSv1.2", "O=Lab", False),
        ("SSLProtocol TLSv1.3", "O=Lab", False),
        ("SSLVerifyClient none", "", False),
    ],
)
def test_the_notice_says_where_the_version_decides(
    tmp_path: Path, host: str, certificate: str, has_notice: bool
) -> None:
    side = site(tmp_path, host)
    asked = probe("/req/", certificate, "TLSv1.3")
    found = explain_probe(side, asked)
    notice = certificate_notice(side, asked, found, lambda one: explain_probe(side, one))
    assert (
        notice.startswith("over TLS 1.3 the answer is 403 Forbidden, over TLS 1.2 it is 200 OK") is has_notice
    )
    assert bool(notice) is has_notice


def test_a_port_without_tls_is_named(tmp_path: Path) -> None:
    """httpd reads the first bytes of TLS on such a port as no request (SSLEngine, default off)."""
    with_tls = site(tmp_path / "on")
    plain = side_of(tmp_path / "off", "Listen 80\nServerName q.example\nDocumentRoot @ROOT@/htdocs\n")
    for side, is_named in ((with_tls, False), (plain, True)):
        probe = probe_of(RequestDescription("https://q.example/index.html"), side.configuration)
        assert ("no client connects by TLS" in connection_notice(side, probe)) is is_named
    assert connection_notice(plain, Probe("/index.html", host="q.example")) == ""


@pytest.mark.parametrize(("name", "has_notice"), [("q.example", True), ("tls12.example", False), ("", True)])
def test_the_server_name_of_the_handshake_chooses_the_settings(
    tmp_path: Path, name: str, has_notice: bool
) -> None:
    """RFC 6066, 3; without a name they are those of the first host. The other one has no TLS 1.3."""
    options = site(tmp_path).options
    other = CONF[CONF.index("<VirtualHost") :].replace("q.example", "tls12.example")
    with (tmp_path / "httpd.conf").open("a") as file:
        file.write(other.format(host="SSLVerifyClient none\nSSLProtocol TLSv1.2"))
    side = load_side(options, "2.4")
    asked = probe("/req/", "O=Lab", "TLSv1.3")
    assert asked.tls is not None
    found = explain_probe(side, asked)
    asked = replace(asked, tls=replace(asked.tls, server_name=name))
    notice = certificate_notice(side, asked, found, lambda _one: replace(found, status=200))
    assert bool(notice) is has_notice
