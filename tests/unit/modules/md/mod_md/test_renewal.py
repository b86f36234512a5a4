"""Renewals against an authority in memory: steps, texts of httpd 2.4.71, authorities that misbehave."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.managed_domains import EC, NOW, URL, FakeAuthority, domain, leaf

from whimbrel.modules.md.mod_md import keys
from whimbrel.modules.md.mod_md.authority import AcmeDirectory, AuthorityError
from whimbrel.modules.md.mod_md.challenges import Reach
from whimbrel.modules.md.mod_md.domains import COMPLETE, ManagedDomain
from whimbrel.modules.md.mod_md.renewal import Renewal, RenewalFailed, RenewalHost
from whimbrel.modules.md.mod_md.result import JobResult
from whimbrel.modules.md.mod_md.store import CHALLENGES, STAGING, FileStore


class Bench:
    """One renewal with its host: time passes while it sleeps."""

    def __init__(self, root: Path, ca: FakeAuthority, managed: ManagedDomain | None = None) -> None:
        self.store = FileStore(str(root / "md"))
        self.store.open()
        self.ca, self.domain = ca, managed or domain("a.test", "b.test")
        self.now, self.steps, self.logged = NOW, list[str](), list[tuple[str, ...]]()
        self.events: list[str] = []
        self.refused = ""
        self.seen: dict[str, bytes] = {}

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def event(self, name: str) -> bool:
        self.events.append(name)
        self.result.set(20014 if name == self.refused else 0)
        for path in Path(self.store.base, CHALLENGES).glob("*/*"):
            self.seen[f"{path.parent.name}/{path.name}"] = path.read_bytes()
        return name != self.refused

    def run(self, reach: Reach | None = None, delay: float = 0.0) -> float:
        self.result = JobResult()
        self.result.observe(lambda: self.steps.append(self.result.progress()))
        host = RenewalHost(
            self.store,
            lambda url: self.ca,
            lambda: self.now,
            self.sleep,
            self.event,
            lambda *line: self.logged.append(line),
            self.result,
        )
        return Renewal(host, self.domain, reach or Reach(True, True), URL, delay).run()

    def failure(self, reach: Reach | None = None) -> JobResult:
        with pytest.raises(RenewalFailed):
            self.run(reach)
        return self.result

    def files(self) -> list[str]:
        return sorted(path.name for path in Path(self.store.base, STAGING, "a.test").iterdir())


def test_the_steps_of_httpd(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(kinds=("http-01",)))
    assert bench.run() == NOW
    assert bench.steps == [  # job.json of 2.4.71, oldest first
        "MDomain a.test initialized with support for ACME challenges tls-alpn-01 http-01",
        "Checking staging area",
        "Resetting staging area",
        "Assessing current status",
        "Resetting staging for a.test",
        f"Contacting ACME server for a.test at {URL}",
        "Driving ACME to renew secp256r1 certificate for a.test",
        "Selecting account to use for a.test",
        "Creating new ACME account for a.test",
        "Creating new order, key-spec=ec-secp256r1, profile=none, replacing-cert=none",
        "Starting challenges for domains",
        "Starting challenges for domains: a.test: selecting suitable authorization challenge type, this "
        "domain supports tls-alpn-01 http-01",
        "Setting up challenge 'http-01' for domain a.test",
        "Setting up challenge 'http-01' for domain a.test: b.test: selecting suitable authorization "
        "challenge type, this domain supports tls-alpn-01 http-01",
        "Setting up challenge 'http-01' for domain b.test",
        "Monitoring challenge status for a.test",
        "Monitoring challenge status for a.test: domain authorization for a.test is valid",
        "Monitoring challenge status for a.test: domain authorization for b.test is valid",
        "Waiting for order to become ready",
        "Finalizing order for a.test",
        "Creating secp256r1 CSR",
        "Submitting secp256r1 CSR to CA",
        "Waiting for finalized order to become valid",
        "Waiting for finalized order to become valid: ACME server order status is 'valid'.",
        "Waiting for finalized order to become valid",
        "Retrieving secp256r1 certificate chain for a.test",
        "The certificate for the managed domain has been renewed successfully and can be used (valid since "
        "Fri, 15 Jan 2027 08:00:00 GMT). A graceful server restart now is recommended.",
    ]
    assert bench.logged == [("info", "registered new account https://ca.example/account/1", "")]
    assert bench.files() == [
        *("account.json", "account.pem", "md.json", "privkey.secp256r1.pem", "pubcert.secp256r1.pem")
    ]


def test_answers_of_http_01_are_in_the_store_while_the_authority_looks(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(kinds=("http-01",)))
    bench.run()
    assert bench.events == ["challenge-setup:http-01:a.test", "challenge-setup:http-01:b.test"]
    assert bench.seen["b.test/acme-http-01.txt"] == b"token-b.test.print"
    assert bench.store.names(CHALLENGES) == []


def test_answers_of_tls_alpn_01_have_the_files_of_httpd(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.run()
    assert sorted(name for name in bench.seen if name.startswith("a.test")) == [
        "a.test/acme-tls-alpn-01-privkey.secp256r1.pem",
        "a.test/acme-tls-alpn-01-pubcert.secp256r1.pem",
    ]
    (certificate,) = keys.chain(bench.seen["a.test/acme-tls-alpn-01-pubcert.secp256r1.pem"])
    extension = certificate.extensions.get_extension_for_oid(keys.ACME_IDENTIFIER)
    assert extension.critical and len(extension.value.value) == 34  # type: ignore[attr-defined]
    assert keys.alternative_names(certificate) == ["a.test"]


def test_dns_01_runs_the_command(tmp_path: Path) -> None:
    script = tmp_path / "dns"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    script.chmod(0o755)
    bench = Bench(tmp_path, FakeAuthority(kinds=("dns-01",)), domain("a.test", "*.b.test"))
    bench.run(Reach(False, False, f"{script} x", "2"))
    lines = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    assert [line[:3] for line in lines] == [
        *(["x", "setup", "a.test"], ["x", "setup", "b.test"]),
        *(["x", "teardown", "a.test"], ["x", "teardown", "b.test"]),
    ]
    assert len(lines[0][3]) == 43 and lines[0][3] == lines[2][3]


def test_a_finished_set_is_not_obtained_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.run()
    bench.ca.calls.clear()
    assert bench.run() == NOW
    assert bench.ca.calls == []


def test_the_staged_account_is_used_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.run()
    bench.store.purge_file(STAGING, "a.test", "pubcert.secp256r1.pem")
    bench.ca.calls.clear()
    bench.run()
    assert "register" not in bench.ca.calls
    assert "use https://ca.example/account/1" in bench.ca.calls


def test_an_account_that_the_authority_has_forgotten(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.run()
    bench.store.purge_file(STAGING, "a.test", "pubcert.secp256r1.pem")
    gone = AuthorityError(errno.ENOENT, "unknown", "urn:ietf:params:acme:error:accountDoesNotExist")
    bench.ca.fails["check_account"] = gone
    bench.ca.calls.clear()
    bench.run()
    assert "register" in bench.ca.calls


def test_renewals_name_the_certificate_that_they_follow(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(offers=AcmeDirectory(has_ari=True)))
    bench.domain.certificates = [leaf(keys.generate(EC), ["a.test"])]
    bench.run()
    assert bench.ca.orders[0][2] == "aYhba4dGQEHhs3uEe9CuLN4ByNQ.AIdlQyE"  # RFC 9773, 4.1


def test_profiles(tmp_path: Path) -> None:
    offers = AcmeDirectory(profiles=("shortlived",))
    bench = Bench(tmp_path / "a", FakeAuthority(offers), domain(profile="shortlived"))
    bench.run()
    assert bench.ca.orders[0][1] == "shortlived"
    bench = Bench(tmp_path / "b", FakeAuthority(offers), domain(profile="x"))
    bench.run()
    assert bench.ca.orders[0][1] == ""
    bench = Bench(tmp_path / "c", FakeAuthority(offers), domain(profile="x", profile_mandatory=True))
    assert (bench.failure().status, bench.result.detail) == (22, "")
    text = "a.test: mandatory ACME profile 'x' is not offered by CA"
    assert bench.logged[-1] == ("error", text, "(2)No such file or directory")


def test_activation_is_delayed_while_there_is_a_certificate(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.domain.state = COMPLETE
    bench.domain.certificates = [leaf(keys.generate(EC), ["a.test", "b.test"], NOW - 80 * 86_400)]
    assert bench.run(delay=86_400.0) == NOW + 86_400
    assert "can be used from Sat, 16 Jan 2027 08:00:00 GMT on." in bench.steps[-1]


def test_nobody_to_contact(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.domain.contacts.clear()
    assert bench.failure().detail == (
        "No contact information is available for MD a.test. Configure one using the MDContactEmail or "
        "ServerAdmin directive."
    )


def test_terms_that_were_not_accepted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(AcmeDirectory(terms="data:text/plain,x")), domain(agreement=""))
    problem = bench.failure()
    assert (problem.status, problem.activity) == (22, "Creating new ACME account for a.test")
    assert problem.detail == (
        "the CA requires you to accept the terms-of-service as specified in <data:text/plain,x>. Please read "
        "the document that you find at that URL and, if you agree to the conditions, configure "
        '"MDCertificateAgreement accepted" in your Apache. Then (graceful) restart the server to activate.'
    )
    assert bench.logged[-1][2] == "(22)Invalid argument"


def test_an_invalid_challenge(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(check=lambda kind, name: "invalid" if name[0] == "b" else "valid"))
    problem = bench.failure()
    assert problem.detail == "Error waiting on domain names to be validated"
    assert bench.steps[-2] == (
        "Monitoring challenge status for a.test: domain authorization for b.test failed, CA considers answer "
        "to challenge invalid."
    )
    assert bench.store.names(CHALLENGES) == []


def test_an_authority_that_never_ends(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(check=lambda kind, name: "pending"))
    assert bench.failure().status == errno.ETIMEDOUT
    assert NOW + 25 < bench.now <= NOW + 31
    bench = Bench(tmp_path / "b", FakeAuthority(polls=10_000))
    assert bench.failure().detail == "Error waiting for order to become ready"


def test_an_authority_that_is_slow(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(polls=5))
    bench.run()
    assert bench.now > NOW + 3


@pytest.mark.parametrize(
    "method", ["directory", "register", "new_order", "authorization", "finalize", "certificate"]
)
def test_an_authority_that_fails(tmp_path: Path, method: str) -> None:
    error = AuthorityError(errno.ECONNREFUSED, "text", "urn:x:serverInternal")
    bench = Bench(tmp_path, FakeAuthority(fails={method: error}))
    problem = bench.failure()
    assert (problem.status, problem.detail, problem.problem) == (111, "text", "urn:x:serverInternal")
    lines = [line for line in bench.logged if line[1] == "acme problem urn:x:serverInternal: text"]
    assert lines[0] == ("warn", "acme problem urn:x:serverInternal: text", "(111)Connection refused")
    assert bench.store.names(CHALLENGES) == []
    bench.ca.fails.clear()
    bench.ca.request = b""
    assert bench.run() == NOW


def test_garbage_instead_of_a_certificate(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(spoils=True))
    assert bench.failure().detail == "Unable to retrieve secp256r1 certificate chain."


def test_a_certificate_for_another_name(tmp_path: Path) -> None:
    class Wrong(FakeAuthority):
        def certificate(self, url: str) -> bytes:
            self.orders[-1] = (["other.test"], "", "")
            return super().certificate(url)

    assert Bench(tmp_path, Wrong()).failure().detail == "md domain a.test not covered by cert"


def test_an_authorization_of_another_name(tmp_path: Path) -> None:
    class Wrong(FakeAuthority):
        def authorization(self, url: str) -> Any:
            return super().authorization("https://ca.example/authz/../../../etc")

    assert "unexpected AUTHZ state" in Bench(tmp_path, Wrong()).failure().detail


def test_kinds_that_nobody_offers(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(kinds=("new-01",)))
    assert bench.failure().detail == (
        "None of offered challenge types for domain a.test are supported. The server offered 'new-01' and "
        "available are: 'tls-alpn-01 http-01'."
    )


def test_a_server_that_nobody_reaches(tmp_path: Path) -> None:
    problem = Bench(tmp_path / "a", FakeAuthority()).failure(Reach(False, False))
    assert problem.detail == (
        "None of the ACME challenge methods configured for this domain are suitable. The http: challenge "
        "'http-01' is disabled because the server seems not reachable on public port 80. The https: "
        "challenge 'tls-alpn-01' is disabled because the server seems not reachable on public port 443. The "
        "DNS challenge 'dns-01' is disabled because the directive 'MDChallengeDns01' is not configured."
    )
    assert problem.status == 20014
    # challenges that the administrator names are tried, whatever the ports are
    bench = Bench(tmp_path / "b", FakeAuthority(), domain(challenges=("http-01",)))
    assert bench.run(Reach(False, False)) == NOW


def test_kinds_that_are_named_but_not_configured(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(), domain(challenges=("dns-01",)))
    problem = bench.failure()
    assert (problem.status, problem.problem) == (22, "challenge-mismatch")
    assert bench.logged[-2] == (
        "info",
        "md[a.test] while[Setting up challenge 'dns-01' for domain a.test] detail[error setting up challenge "
        "'dns-01' for a.test, for domain a.test, looking for other option]",
        "(70023)This function has not been implemented on this platform",
    )
    bench = Bench(tmp_path / "b", FakeAuthority(), domain(challenges=("dns-01",), dns01="/bin/false"))
    problem = bench.failure()
    assert (problem.status, problem.problem) == (20014, "challenge-setup-failure")


def test_an_event_handler_that_refuses(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.refused = "challenge-setup:tls-alpn-01:a.test"
    bench.run()
    assert bench.events[:2] == [bench.refused, "challenge-setup:http-01:a.test"]
    bench = Bench(tmp_path / "b", FakeAuthority(kinds=("tls-alpn-01",)))
    bench.refused = "challenge-setup:tls-alpn-01:a.test"
    problem = bench.failure()
    assert (problem.status, problem.problem) == (20014, "challenge-setup-failure")
    assert problem.detail == (
        "None of the offered challenge types a.test offered for domain tls-alpn-01 could be setup "
        "successfully. Please check the log for errors."
    )


def test_an_unknown_curve(tmp_path: Path) -> None:
    from whimbrel.modules.md.mod_md.settings import KeyKind

    bench = Bench(tmp_path, FakeAuthority(kinds=("http-01",)), domain(keys=(KeyKind("EC", curve="x"),)))
    assert bench.failure().detail == "error generate EC key for group: x"


def test_a_store_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, FakeAuthority())

    def refuse(*_arguments: object, **_more: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", b"/md/staging/a.test/md.json")

    monkeypatch.setattr(bench.store, "save", refuse)
    problem = bench.failure()
    assert (problem.status, problem.detail) == (errno.EROFS, "store: /md/staging/a.test/md.json")


def test_bindings_to_external_accounts(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(), domain(binding=("kid-1", "zWND")))
    bench.run()
    assert bench.ca.binding == ("kid-1", "zWND")
    path = Path(bench.store.path(STAGING, "a.test", "md.json"))
    assert path.stat().st_mode & 0o077 == 0


def test_a_binding_that_is_required_and_not_configured_is_tried_without(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(AcmeDirectory(needs_binding=True)))
    bench.run()
    (step,) = [step for step in bench.steps if "'External Account Binding' which is not configured" in step]
    assert step.startswith("Creating new ACME account for a.test: the CA requires ")
    assert [line[0] for line in bench.logged if "External Account Binding" in line[1]] == ["error"]
    authority = FakeAuthority(AcmeDirectory(needs_binding=True))
    bound = Bench(tmp_path / "bound", authority, domain(binding=("k", "aG0")))
    bound.run()
    assert not [step for step in bound.steps if "External" in step]


def test_an_account_that_another_domain_has_staged(tmp_path: Path) -> None:
    """httpd 2.4.71 registers one account for all domains, whatever their contacts are."""
    bench = Bench(tmp_path, FakeAuthority())
    bench.run()
    other = Bench(tmp_path, FakeAuthority(), domain("c.test"))
    other.domain.contacts = ["mailto:other@c.test"]
    other.run()
    assert "register" not in other.ca.calls and "check_account" in other.ca.calls


def test_a_limit_does_not_make_another_account(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.run()
    bench.store.purge_file(STAGING, "a.test", "pubcert.secp256r1.pem")
    limit = AuthorityError(70013, "slowly", "urn:ietf:params:acme:error:rateLimited")
    bench.ca.fails["check_account"] = limit
    bench.ca.calls.clear()
    assert bench.failure().problem == limit.problem
    assert "register" not in bench.ca.calls


def test_an_order_that_a_failed_attempt_has_left_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.ca.fails["finalize"] = AuthorityError(20014, "x", "urn:ietf:params:acme:error:serverInternal")
    bench.failure()
    bench.ca.fails.clear()
    bench.run()
    assert bench.ca.calls.count("new_order") == 1


def test_a_challenge_that_the_authority_refuses_to_check(tmp_path: Path) -> None:
    class Refusing(FakeAuthority):
        def start_challenge(self, url: str) -> None:
            if url.startswith("tls"):
                raise AuthorityError(70013, "x", "urn:ietf:params:acme:error:rateLimited")
            super().start_challenge(url)

    bench = Bench(tmp_path, Refusing(), domain())
    bench.run()
    assert bench.events == ["challenge-setup:tls-alpn-01:a.test", "challenge-setup:http-01:a.test"]


def test_a_certificate_is_asked_for_again(tmp_path: Path) -> None:
    class Late(FakeAuthority):
        def certificate(self, url: str) -> bytes:
            if self.calls.count("certificate") < 2:
                self.calls.append("certificate")
                raise AuthorityError(20014, "unexpected http status: 500")
            return super().certificate(url)

    bench = Bench(tmp_path, Late())
    bench.run()
    assert bench.ca.calls.count("new_order") == 1
