"""Plain HTTP on ports of TLS: 400, as apache2 2.4.71 answers; what is compared there is asked with TLS."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.request_description import RequestDescription, probe_of
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.derive.probes import ProbeSource
from whimbrel.verify.loading import load_side
from whimbrel.verify.probe import Probe
from whimbrel.verify.probe_engine import MAX_PORTS
from whimbrel.verify.side import Side

ON = "SSLEngine on\nSSLCertificateFile nowhere.pem\n"
_HOST = "<VirtualHost *:8443>\nServerName {}\n{{}}</VirtualHost>\n"
HOSTS = _HOST.format("a.test") + _HOST.format("b.test")


def side_of(root: Path, hosts: str, listen: str = "Listen 8443") -> Side:
    """Return a site of two hosts, read and not started."""
    (root / "conf").mkdir(exist_ok=True)
    (root / "htdocs").mkdir(exist_ok=True)
    (root / "htdocs" / "index.html").write_text("hi\n")
    loads = "".join(
        f"LoadModule {name}_module m/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "dir", "ssl")
    )
    text = f"{loads}{listen}\nServerName main.test\nDocumentRoot {root}/htdocs\n{hosts}"
    (root / "conf" / "httpd.conf").write_text(text)
    side = load_side(LoadOptions(server_root=from_system(str(root))), "2.4")
    assert side.is_loaded, side.errors
    return side


@pytest.mark.parametrize(
    ("hosts", "plain"),
    [
        (HOSTS.format(ON, ""), 400),
        (HOSTS.format(ON.replace("on", "optional", 1), ""), 200),
        (HOSTS.format("", ON), 200),
    ],
    ids=["the first host", "optional", "the second host"],
)
@pytest.mark.parametrize("host", ["a.test:8443", "b.test:8443", "x.test:8443", ""])
def test_the_first_host_of_an_address_decides(tmp_path: Path, hosts: str, plain: int, host: str) -> None:
    side = side_of(tmp_path, hosts)
    probe = Probe("/", host=host, port=8443, protocol="HTTP/1.1" if host else "HTTP/1.0")
    assert side.answer(probe).status == plain
    assert explain_probe(side, probe).status == plain


def test_a_listener_of_https_takes_tls(tmp_path: Path) -> None:
    """2.4: SSLEngine is on where Listen has the protocol https and there is a certificate."""
    (tmp_path / "a.pem").write_text("read by a start alone\n")
    side = side_of(tmp_path, HOSTS.format(f"SSLCertificateFile {tmp_path}/a.pem\n", ""), "Listen 8443 https")
    assert side.answer(Probe("/", host="a.test", port=8443)).status == 400


def test_the_explanation_names_the_line(tmp_path: Path) -> None:
    explanation = explain_probe(side_of(tmp_path, HOSTS.format(ON, "")), Probe("/", host="a.test", port=8443))
    reason = explanation.steps[-1].children[-1]
    assert "plain HTTP" in reason.what
    assert [line.text for line in reason.lines] == ["SSLEngine on"]


@pytest.mark.parametrize(("hosts", "is_tls"), [(HOSTS.format(ON, ""), True), (HOSTS.format("", ON), False)])
def test_a_port_of_tls_is_asked_with_tls_and_once_without(tmp_path: Path, hosts: str, is_tls: bool) -> None:
    lines = SideLines(side_of(tmp_path, hosts))
    probes = list(ProbeSource((lines, lines)).probes())
    assert len(probes) > 20
    plain = [probe for probe in probes if probe.tls is None]
    assert [probe.target for probe in plain] == ["/"] if is_tls else plain == probes


@pytest.mark.parametrize(("hosts", "is_tls"), [(HOSTS.format(ON, ""), True), (HOSTS.format("", ""), False)])
def test_a_path_without_a_scheme_is_asked_as_the_port_takes_it(
    tmp_path: Path, hosts: str, is_tls: bool
) -> None:
    configuration = side_of(tmp_path, hosts).configuration
    described = RequestDescription("/", host="a.test")
    assert (probe_of(described, configuration).tls is not None) is is_tls


def test_what_is_known_of_ports_is_bounded(tmp_path: Path) -> None:
    engine = side_of(tmp_path, HOSTS.format(ON, "")).probing
    for port in range(1, MAX_PORTS + 100):
        assert not engine.takes_tls("127.0.0.1", port)
    assert len(engine._tls_ports) <= MAX_PORTS
    assert engine.takes_tls("127.0.0.1", 8443)
