"""Requests: what httpd 2.4.71 with mod_md 2.6.10 answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.managed_domains import DAY, ManagedSite

from whimbrel.modules.md.mod_md.store import CHALLENGES

WELL_KNOWN = "/.well-known/acme-challenge"


def status(response: str) -> int:
    return int(response.split(" ", 2)[1])


def field(response: str, name: str) -> str:
    head = response.partition("\r\n\r\n")[0].split("\r\n")
    return next((line.partition(": ")[2] for line in head if line.startswith(f"{name}: ")), "")


def body(response: str) -> str:
    """Return a body of one chunk, or one with a length."""
    text = response.partition("\r\n\r\n")[2]
    return text.split("\r\n")[1] if field(response, "Transfer-Encoding") else text


@pytest.mark.parametrize(
    ("method", "host", "path", "expected"),
    [
        ("GET", "a.test", f"{WELL_KNOWN}/tok", 200),
        ("GET", "A.TEST", f"{WELL_KNOWN}/other", 200),
        ("GET", "z.test", f"{WELL_KNOWN}/tok", 200),
        ("POST", "a.test", f"{WELL_KNOWN}/tok", 501),
        ("GET", "y.test", f"{WELL_KNOWN}/tok", 404),
        ("GET", "b.test", f"{WELL_KNOWN}/tok", 404),
        ("GET", "a.test", f"{WELL_KNOWN}/", 404),
        ("GET", "a.test", f"{WELL_KNOWN}/x/y", 404),
        ("GET", "..", f"{WELL_KNOWN}/tok", 400),
    ],
)
def test_challenges(tmp_path: Path, method: str, host: str, path: str, expected: int) -> None:
    site = ManagedSite(tmp_path)
    made = site.begin()
    for name in ("a.test", "z.test"):
        made.store.save(CHALLENGES, name, "acme-http-01.txt", b"tok.print")
    response = site.send(path, host, method)
    assert status(response) == expected
    if expected == 200:
        assert field(response, "Content-Length") == "9" and body(response) == "tok.print"
        assert field(response, "Content-Type") == ""


def test_a_head_of_a_challenge(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    site.begin().store.save(CHALLENGES, "a.test", "acme-http-01.txt", b"tok.print")
    assert field(site.send(f"{WELL_KNOWN}/tok", method="HEAD"), "Content-Length") == "9"


def test_a_challenge_is_seen_at_once(tmp_path: Path) -> None:
    """No response about challenges is cached."""
    site = ManagedSite(tmp_path)
    made = site.begin()
    assert [status(site.send(f"{WELL_KNOWN}/tok")) for _ in range(3)] == [404] * 3
    made.store.save(CHALLENGES, "a.test", "acme-http-01.txt", b"one")
    assert [body(site.send(f"{WELL_KNOWN}/tok")) for _ in range(3)] == ["one"] * 3
    made.store.save(CHALLENGES, "a.test", "acme-http-01.txt", b"two")
    assert body(site.send(f"{WELL_KNOWN}/tok")) == "two"
    made.store.purge(CHALLENGES, "a.test")
    assert status(site.send(f"{WELL_KNOWN}/tok")) == 404


def test_a_challenge_that_cannot_be_read(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    path = Path(site.begin().store.path(CHALLENGES, "a.test", "acme-http-01.txt"))
    path.mkdir(parents=True)
    assert status(site.send(f"{WELL_KNOWN}/tok")) == 500


@pytest.mark.parametrize(
    ("mode", "method", "expected"),
    [
        ("temporary", "GET", 302),
        ("permanent", "GET", 301),
        ("temporary", "POST", 307),
        ("permanent", "POST", 308),
        ("off", "GET", 404),
    ],
)
def test_redirects_to_https(tmp_path: Path, mode: str, method: str, expected: int) -> None:
    site = ManagedSite(tmp_path, f"MDRequireHttps {mode}\nMDomain a.test\n")
    site.begin()
    response = site.send("/a%2520b?q=%20%22", "b.test", method)
    assert status(response) == expected
    location = field(response, "Location")
    assert location == ("" if mode == "off" else "https://b.test/a%2520b?q=%20%22")
    assert status(site.send("/.well-known/x")) == 404
    assert status(site.send("/x", "other.test", method)) in (expected, 404)


def test_strict_transport_security(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path, "MDRequireHttps permanent\nMDomain a.test\n")
    made = site.begin()
    made.unavailable.clear()
    response = site.send("/f.html", tls=site.over_tls(made))
    assert (status(response), field(response, "Strict-Transport-Security")) == (200, "max-age=15768000")
    assert field(site.send("/none", tls=site.over_tls(made)), "Strict-Transport-Security") == ""


def test_a_host_without_a_certificate_answers_503(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    made = site.begin()
    tls = site.over_tls(made)
    assert [status(site.send("/f.html", tls=tls)) for _ in range(3)] == [503] * 3
    response = site.send("/.httpd/certificate-status", tls=tls)
    assert (status(response), field(response, "Content-Type")) == (200, "application/json")
    assert json.loads(body(response)) == {"secp256r1": {}}
    assert status(site.send("/f.html", "a.test")) == 200


def test_the_status_of_a_certificate(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    made = site.begin()
    site.install(made, ["a.test", "b.test"])
    again = ManagedSite(tmp_path)
    made = again.begin()
    found = json.loads(body(again.send("/.httpd/certificate-status", tls=again.over_tls(made))))
    assert list(found) == ["valid", "secp256r1"]
    assert found["valid"] == {
        "from": "Fri, 15 Jan 2027 08:00:00 GMT",
        "until": "Thu, 15 Apr 2027 08:00:00 GMT",
    }
    assert sorted(found["secp256r1"]) == ["serial", "sha256-fingerprint", "valid"]
    assert found["secp256r1"]["serial"] == "87654321"
    assert status(again.send("/.httpd/certificate-status", method="POST")) == 501
    assert status(again.send("/.httpd/certificate-status", "other.test")) == 404


def test_the_status_may_be_off(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path, "MDCertificateStatus off\nMDomain a.test\n")
    site.begin()
    assert status(site.send("/.httpd/certificate-status")) == 404


def test_md_status(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path, "MDExternalAccountBinding kid secret\nMDomain a.test\nMDomain c.test\n")
    site.begin()
    response = site.send("/md-status")
    found = json.loads(body(response))
    assert found["version"] == "2.6.10"
    assert [each["name"] for each in found["managed-domains"]] == ["a.test", "c.test"]
    assert "secret" not in response
    assert json.loads(body(site.send("/md-status/b.test")))["name"] == "a.test"
    assert len(json.loads(body(site.send("/md-status/nope")))["managed-domains"]) == 2
    assert status(site.send("/md-status", method="POST")) == 501


def test_server_status(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path, "MDServerStatus on\nMDomain a.test\n")
    made = site.begin()
    site.install(made, ["a.test", "b.test"], site.runtime.now() - 10 * DAY)
    again = ManagedSite(tmp_path, "MDServerStatus on\nMDomain a.test\n")
    again.begin()
    text = again.send("/server-status?auto")
    for line in (  # the lines of httpd
        "ManagedCertificatesTotal: 1",
        "ManagedCertificatesOK: 1",
        "ManagedDomain[0]Domain: a.test",
        "ManagedDomain[0]Names[1]: b.test",
        "ManagedDomain[0]Status: good",
        "ManagedDomain[0]CAName: LetsEncrypt",
        "ManagedDomain[0]CheckAtType: secp256r1",
        "ManagedStaplingsTotal: 0",
    ):
        assert f"{line}\n" in text
    page = again.send("/server-status")
    assert (
        "<h3>Managed Certificates</h3>\n<table class='md_status'><thead><tr>\n<th class=\"Domain\">" in page
    )
    assert "<td>good</td>" in page and "</td></tr></td></tr>\n</tbody>\n</table>\n" in page


def test_server_status_is_off_by_default(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    site.begin()
    assert "Managed" not in site.send("/server-status?auto")
