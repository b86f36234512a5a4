"""Starts: certificates for mod_ssl, activation, conflicts, damage; messages of httpd 2.4.71."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.managed_domains import EC, ManagedSite, leaf

from whimbrel.base.errors import PostConfigError
from whimbrel.modules.md.mod_md import job, keys
from whimbrel.modules.md.mod_md.domains import COMPLETE, INCOMPLETE, to_json
from whimbrel.modules.md.mod_md.job import Job
from whimbrel.modules.md.mod_md.store import DOMAINS, STAGING, FileStore
from whimbrel.modules.ssl.mod_ssl.compatibility import HOSTS

NAMES = ["a.test", "b.test"]


def common_name(site: ManagedSite) -> str:
    """Return the subject of the certificate that clients of a.test get."""
    from cryptography import x509

    hosts = site.configuration.provider("ssl", HOSTS)
    host = next(iter(hosts._hosts.values()))
    return x509.load_der_x509_certificate(host.certificates[0]).subject.rfc4514_string()


def stage(site: ManagedSite, store: FileStore, **changes: float) -> None:
    """Stage a certificate as a renewal leaves it."""
    made = site.begin()
    domain, key = made.domains[0], keys.generate(EC)
    store = made.store
    store.save_json(STAGING, "a.test", "md.json", to_json(domain))
    keys.save_key(store, STAGING, "a.test", "privkey.secp256r1.pem", key)
    store.save(STAGING, "a.test", "pubcert.secp256r1.pem", keys.chain_pem([leaf(key, NAMES)]))
    work = Job("a.test", is_finished=True, is_announced=True, valid_from=1.0)
    for name, value in changes.items():
        setattr(work, name, value)
    job.save(store, work)


def test_a_fallback_until_there_is_a_certificate(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    made = site.begin()
    text = (
        "Init: a.test:443 will respond with '503 Service Unavailable' for now. There are no SSL certificates "
        "configured and no other module contributed any."
    )
    assert ("warn", "AH10085", text) in site.logged()
    assert common_name(site) == "CN=Apache Managed Domain Fallback"
    (domain,) = made.domains
    assert (domain.names, domain.state) == (NAMES, INCOMPLETE)
    assert domain.state_text == "certificate(secp256r1) is missing"
    assert domain.acme_tls_names == NAMES and domain.is_watched
    files = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "md/domains/a.test").iterdir()}
    assert files == {
        "md.json": 0o600,
        "fallback-privkey.secp256r1.pem": 0o600,
        "fallback-pubcert.secp256r1.pem": 0o600,
    }


def test_staged_certificates_become_active(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    stage(site, site.begin().store)
    again = ManagedSite(tmp_path)
    made = again.begin()
    assert made.unavailable == set() and made.domains[0].state == COMPLETE
    assert common_name(again) == "CN=a.test"
    assert made.store.names(STAGING) == []
    assert [path.name for path in sorted((tmp_path / "md/archive").iterdir())] == ["a.test.1"]
    key = (tmp_path / "md/domains/a.test/privkey.secp256r1.pem").read_bytes()
    assert b"BEGIN PRIVATE KEY" in key
    third = ManagedSite(tmp_path)
    third.begin()
    assert common_name(third) == "CN=a.test"


@pytest.mark.parametrize("changes", [{"is_finished": False}, {"valid_from": 4e9}])
def test_what_is_not_ready_stays_staged(tmp_path: Path, changes: dict[str, float]) -> None:
    site = ManagedSite(tmp_path)
    stage(site, site.begin().store, **changes)
    again = ManagedSite(tmp_path)
    assert again.begin().store.names(STAGING) == ["a.test"]
    assert common_name(again) == "CN=Apache Managed Domain Fallback"


@pytest.mark.parametrize("file", ["privkey.secp256r1.pem", "pubcert.secp256r1.pem"])
def test_damaged_staging_is_purged(tmp_path: Path, file: str) -> None:
    site = ManagedSite(tmp_path)
    stage(site, site.begin().store)
    (tmp_path / "md/staging/a.test" / file).write_text("junk")
    again = ManagedSite(tmp_path)
    assert again.begin().store.names(STAGING) == []
    assert common_name(again) == "CN=Apache Managed Domain Fallback"
    with pytest.raises(StopIteration):
        next(iter((tmp_path / "md/tmp").glob("*/privkey*")))


def test_a_damaged_certificate_in_use_is_replaced_by_a_fallback(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    site.install(site.begin(), NAMES)
    (tmp_path / "md/domains/a.test/pubcert.secp256r1.pem").write_text("junk")
    again = ManagedSite(tmp_path)
    again.begin()
    assert common_name(again) == "CN=Apache Managed Domain Fallback"


def refused(root: Path, more: str = "MDomain a.test\n") -> list[str]:
    with pytest.raises(PostConfigError) as caught:
        ManagedSite(root, more)
    return [text for _level, text in caught.value.log_lines]


def test_a_damaged_store_stops_the_start(tmp_path: Path) -> None:
    ManagedSite(tmp_path).begin()
    (tmp_path / "md/md_store.json").write_text("{")
    lines = refused(tmp_path)
    assert lines[-1] == "(22)Invalid argument: AH10072: setup md registry"


def test_a_store_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "md").write_text("")
    assert refused(tmp_path)[-1].endswith("AH10072: setup md registry")


def test_two_domains_with_one_name(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, "MDomain a.test\nMDomain c.test a.test\n")
    assert line == (
        "AH10038: two Managed Domains have an overlap in domain 'a.test', first definition in "
        "unknown(line 0), second in unknown(line 0)"
    )


@pytest.mark.parametrize(
    ("lines", "overlap"),
    [
        ("MDomain *.x.test\nMDomain b.x.test\n", "b.x.test"),
        ("MDomain b.x.test\nMDomain *.x.test\n", ""),
        ("MDMatchNames servernames\nMDomain *.x.test\nMDomain b.x.test\n", ""),
    ],
)
def test_a_wildcard_beside_a_name_under_it(tmp_path: Path, lines: str, overlap: str) -> None:
    """As httpd 2.4.71: only a wildcard that comes first covers the name, and only with MDMatchNames all."""
    lines = f"MDomain a.test\n{lines}"
    if overlap:
        (line,) = refused(tmp_path, lines)
        assert line.startswith(f"AH10038: two Managed Domains have an overlap in domain '{overlap}'")
    else:
        assert len(ManagedSite(tmp_path, lines).begin().domains) == 3


def test_two_domains_for_one_host(tmp_path: Path) -> None:
    lines = refused(tmp_path, "MDomain a.test manual\nMDomain b.test manual\n")
    assert lines[0] == "AH02572: Failed to configure at least one certificate and key for a.test:443"


_UNMANAGED = (
    "Virtual Host a.test:0 matches Managed Domain 'a.test', but the name/alias b.test itself is not managed. "
    "A requested MD certificate will not match ServerName."
)


def test_an_alias_that_is_not_managed(tmp_path: Path) -> None:
    assert ("warn", "AH10040", _UNMANAGED) in ManagedSite(tmp_path, "MDomain a.test manual\n").logged()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "MDCertificateFile x",
            "AH10170: The Managed Domain 'c.test' needs one MDCertificateKeyFile for each ",
        ),
        (
            "MDCertificateKeyFile x",
            "AH10171: The Managed Domain 'c.test' has MDCertificateKeyFile(s) but no ",
        ),
    ],
)
def test_files_without_their_counterpart(tmp_path: Path, lines: str, said: str) -> None:
    (line,) = refused(tmp_path, f"<MDomain c.test>\n{lines}\n</MDomain>\n")
    assert line == f"{said}{'MDCertificateFile.'}"


def test_static_files(tmp_path: Path) -> None:
    key = keys.generate(EC)
    (tmp_path / "own.key").write_bytes(keys.key_pem(key))
    (tmp_path / "own.crt").write_bytes(keys.chain_pem([leaf(key, NAMES)]))
    text = "<MDomainSet a.test>\nMDCertificateFile own.crt\nMDCertificateKeyFile own.key\n</MDomainSet>\n"
    site = ManagedSite(tmp_path, text)
    made = site.begin()
    assert common_name(site) == "CN=a.test"
    assert not made.domains[0].renews and made.domains[0].state == COMPLETE


def test_a_domain_that_no_host_uses(tmp_path: Path) -> None:
    site = ManagedSite(
        tmp_path, "MDomain a.test\nMDomain c.test\n<MDomain d.test>\nMDRenewMode always\n</MDomain>\n"
    )
    made = site.begin()
    assert ("warn", "AH10045", "No VirtualHost matches Managed Domain c.test") in site.logged()
    assert [domain.name for domain in made.domains if domain.is_watched] == ["a.test", "d.test"]


def test_https_that_cannot_work(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path, "MDRequireHttps temporary\nMDomain a.test\nMDomain c.test\n")
    text = "MD c.test does not match any VirtualHost with 'SSLEngine on', but is configured to require https."
    assert ("warn", "AH10105", f"{text} This cannot work.") in site.logged()


def test_a_renamed_domain_keeps_its_certificate(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    site.install(site.begin(), NAMES)
    again = ManagedSite(tmp_path, "MDomain b.test a.test\n")
    made = again.begin()
    assert common_name(again) == "CN=a.test"
    assert made.store.names(DOMAINS) == ["b.test"]


def test_errors_of_an_earlier_run_are_forgotten(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    job.save(site.begin().store, Job("a.test", errors=3))
    again = ManagedSite(tmp_path, "LogLevel info\nMDomain a.test\n")
    made = again.begin()
    text = "md(a.test): previous drive job showed 3 errors, purging STAGING area to reset."
    assert ("notice", "AH10064", text) in again.logged()
    assert made.store.names(STAGING) == []


def test_challenges_that_are_impossible(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path, "MDPortMap http:99 https:99\nMDomain a.test\n")
    site.begin()
    (line,) = [text for _level, code, text in site.logged() if code == "AH10173"]
    assert line.startswith(
        "md[a.test]: None of the ACME challenge methods configured for this domain are suitable."
    )


def test_nothing_is_touched_without_domains(tmp_path: Path) -> None:
    ManagedSite(tmp_path, "MDRequireHttps temporary\n", "SSLEngine off\n")
    assert not os.path.exists(tmp_path / "md")
