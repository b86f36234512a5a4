"""md.json: what httpd 2.4.71 has written for the same settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.managed_domains import RECORDED, recorded_store

from whimbrel.modules.md.mod_md import activation, job
from whimbrel.modules.md.mod_md.domains import ManagedDomain, by_host, is_below, make, names_in, to_json
from whimbrel.modules.md.mod_md.settings import Definition, KeyKind, MdServerConfig
from whimbrel.modules.md.mod_md.store import STAGING

URL = "https://127.0.0.1:24000/dir"
MORE = {"authorities": (URL,), "agreement": "accepted", "contact": "me@example.org"}
KEYS = (KeyKind("EC", curve="secp384r1"), KeyKind("RSA", 3072), KeyKind("EC", curve="P-256"))


def made(**own: object) -> ManagedDomain:
    settings = MdServerConfig(**{**MORE, **own})  # type: ignore[arg-type]
    domain = make(Definition(["a.test", "b.test"], MdServerConfig()), settings, "admin@main.test")
    domain.acme_tls_names = list(domain.names)
    return domain


def recorded(path: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(json.loads(RECORDED.read_text())[path])
    return found


def test_a_domain_with_a_certificate() -> None:
    domain = made(require_https="permanent")
    domain.state, domain.account, domain.authority = 2, "ACME-127.0.0.1-0000", URL
    text = json.dumps(to_json(domain), indent=2)
    assert text == json.dumps(recorded("installed/domains/a.test/md.json"), indent=2)


def test_a_domain_with_three_keys() -> None:
    domain = made(require_https="permanent", keys=KEYS, challenges=("http-01",))
    domain.state, domain.state_text, domain.authority = 1, "certificate(secp384r1) is missing", URL
    assert json.dumps(to_json(domain)) == json.dumps(recorded("staged/staging/a.test/md.json"))


def test_the_administrator_is_the_contact_of_last_resort() -> None:
    assert made(contact="").contacts == ["mailto:admin@main.test"]
    assert make(Definition(["a"], MdServerConfig()), MdServerConfig(), "[no address given]").contacts == []


def test_names() -> None:
    domain = made()
    assert by_host([domain], "b.test") is domain and by_host([domain], "x.b.test") is None
    assert is_below("x.b.test", "*.b.test") and not is_below("y.x.b.test", "*.b.test")
    assert not is_below("b.test", "*.b.test")


@pytest.mark.parametrize("record", [{}, {"domains": 5}, {"domains": [5, None]}])
def test_malformed_names(record: dict[str, object]) -> None:
    assert names_in(record) == []


@pytest.mark.parametrize("name", ["staged", "down"])
def test_jobs_of_httpd_are_read(tmp_path: Path, name: str) -> None:
    store = recorded_store(tmp_path, name)
    work = job.load(store, "a.test")
    assert work.is_finished is (name == "staged")
    if name == "down":
        assert (work.errors, work.last and work.last.status) == (1, 111)
    assert work.to_json() == store.load_json(STAGING, "a.test", "job.json")


def test_staging_of_httpd_is_installed(tmp_path: Path) -> None:
    from tests.support.managed_domains import manager

    recorded_store(tmp_path / "md", "staged")
    domain = made(keys=KEYS, challenges=("http-01",))
    found = manager(tmp_path, domain)
    assert activation.activate(found, domain, 2e9)
    assert domain.account == "ACME-127.0.0.1-0000"
    activation.synchronize(found, domain)
    assert domain.state == 2
    files = sorted(path.name for path in (tmp_path / "md/domains/a.test").iterdir())
    assert files == [
        *("job.json", "md.json", "privkey.p-256.pem", "privkey.pem", "privkey.secp384r1.pem"),
        *("pubcert.p-256.pem", "pubcert.pem", "pubcert.secp384r1.pem"),
    ]
