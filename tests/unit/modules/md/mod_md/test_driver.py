"""Jobs: when they run, retries, notifications, renewal information."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.managed_domains import DAY, EC, NOW, FakeAuthority, domain, leaf, manager

from whimbrel.modules.md.mod_md import job, keys
from whimbrel.modules.md.mod_md.authority import AcmeDirectory, AuthorityError, RenewalInfo
from whimbrel.modules.md.mod_md.domains import COMPLETE, INCOMPLETE, ManagedDomain
from whimbrel.modules.md.mod_md.driver import Ended, JobDriver, JobRuntime, suppressed
from whimbrel.modules.md.mod_md.store import STAGING


class Bench:
    """Jobs of one domain with an authority in memory."""

    def __init__(
        self, root: Path, ca: FakeAuthority, managed: ManagedDomain | None = None, **conf: Any
    ) -> None:
        self.domain = managed or domain()
        self.domain.is_watched = True
        if self.domain.state not in (COMPLETE,):
            self.domain.state = INCOMPLETE
        self.manager = manager(root, self.domain, **conf)
        self.now, self.ca = NOW, ca
        self.lines: list[tuple[str, ...]] = []
        self.commands: list[tuple[str, ...]] = []
        self.connected: list[str] = []
        self.exit_codes: dict[str, int] = {}
        runtime = JobRuntime(
            self.connect,
            lambda: self.now,
            lambda: 0.5,
            self.sleep,
            lambda *line: self.lines.append(line),
            self.command,
        )
        self.driver = JobDriver(self.manager, runtime)

    def connect(self, _domain: ManagedDomain, url: str) -> FakeAuthority:
        self.connected.append(url)
        return self.ca

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def command(self, line: str, *arguments: str) -> int:
        self.commands.append((line, *arguments))
        return self.exit_codes.get(arguments[0], 0)

    def job(self) -> job.Job:
        return job.load(self.manager.store, self.domain.name)

    def codes(self) -> list[str]:
        return [line[1] for line in self.lines if line[1]]

    def renews(self) -> bool:
        return "new_order" in self.ca.calls


def issued(days_ago: float, **properties: Any) -> ManagedDomain:
    """Return a domain whose certificate is as old as that; it is valid for 90 days."""
    made = domain(**properties)
    made.certificates = [leaf(keys.generate(EC), made.names, NOW - days_ago * DAY)]
    made.state = COMPLETE
    return made


def test_the_first_certificate(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(), message_command="/msg x", notify_command="/notify")
    assert bench.driver.run() == NOW + DAY / 2
    work = bench.job()
    assert (work.is_finished, work.is_announced, work.errors, work.valid_from) == (True, True, 0, NOW)
    assert bench.codes() == ["AH10055", "AH10052", "AH10512", "AH10059", "AH10107"]
    assert bench.commands == [
        ("/msg x", "renewing", "a.test"),
        ("/msg x", "challenge-setup:tls-alpn-01:a.test", "a.test"),
        ("/notify", "a.test"),
        ("/msg x", "renewed", "a.test"),
    ]
    bench.ca.calls.clear()
    bench.driver.run()
    assert bench.ca.calls == []


@pytest.mark.parametrize(("age", "renews"), [(59, False), (61, True)])
def test_the_window(tmp_path: Path, age: float, renews: bool) -> None:
    """33 % of 90 days are 29.7 days."""
    bench = Bench(tmp_path, FakeAuthority(), issued(age))
    bench.driver.run()
    assert bench.renews() is renews


def test_a_ca_that_is_down_is_tried_again_and_again(tmp_path: Path) -> None:
    down = AuthorityError(errno.ECONNREFUSED, "Unsuccessful in contacting ACME server")
    bench = Bench(tmp_path, FakeAuthority(fails={"directory": down}), message_command="/msg")
    waits = []
    for _ in range(3):
        next_run = bench.driver.run()
        waits.append(next_run - bench.now)
        bench.now = next_run
    assert waits == [30, 60, 120]
    text = "processing a.test: Unsuccessful in contacting ACME server"
    assert ("error", "AH10056", text, "(111)Connection refused") in bench.lines
    text = "a.test: encountered error for the 1. time, next run in 30 seconds"
    assert ("info", "AH10057", text, "") in bench.lines
    assert [command[1] for command in bench.commands].count("errored") == 1  # once an hour
    work = bench.job()
    assert (work.errors, work.last and work.last.status) == (3, 111)
    bench.ca.fails.clear()
    bench.driver.run()
    assert bench.job().is_finished and bench.job().errors == 0


def test_another_authority_after_some_errors(tmp_path: Path) -> None:
    down = AuthorityError(errno.EIO, "x")
    managed = domain(authorities=("https://one/", "https://two/"))
    bench = Bench(tmp_path, FakeAuthority(fails={"directory": down}), managed, retry_failover=2)
    for _ in range(5):
        bench.now = bench.driver.run()
    assert bench.connected == ["https://one/"] * 2 + ["https://two/"] * 2 + ["https://one/"]


def test_an_event_handler_may_veto(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(), message_command="/msg")
    bench.exit_codes["renewing"] = 1
    bench.driver.run()
    assert not bench.renews() and "AH10060" in bench.codes()


def test_a_notification_that_fails_is_repeated(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(), notify_command="/notify")
    bench.exit_codes["a.test"] = 3
    next_run = bench.driver.run()
    assert next_run == NOW + 30 and not bench.job().is_announced
    text = "md[a.test] problem[urn:org:apache:httpd:log:AH10108:] "
    text += "detail[MDNotifyCmd /notify failed with exit code 3.]"
    assert any(line[2] == text for line in bench.lines)
    bench.exit_codes.clear()
    bench.now = next_run
    bench.ca.calls.clear()
    bench.driver.run()
    assert bench.job().is_announced and not bench.renews()


def test_a_warning_before_the_end(tmp_path: Path) -> None:
    managed = issued(85, renew_mode=0)
    bench = Bench(tmp_path, FakeAuthority(), managed, message_command="/msg")
    bench.driver.run()
    bench.now += 3600
    bench.driver.run()
    assert bench.commands == [("/msg", "expiring", "a.test")]


def ari(begin: float, end: float) -> FakeAuthority:
    return FakeAuthority(AcmeDirectory(has_ari=True), info=RenewalInfo(begin, end, 3600))


@pytest.mark.parametrize(
    ("make", "renews"),
    [
        (lambda: ari(NOW - 20, NOW - 10), True),
        (lambda: ari(NOW + DAY, NOW + 2 * DAY), False),
        (lambda: FakeAuthority(), False),
    ],
)
def test_renewal_information(tmp_path: Path, make: Callable[[], FakeAuthority], renews: bool) -> None:
    bench = Bench(tmp_path, make(), issued(10))
    bench.driver.run()
    assert bench.renews() is renews


def test_renewal_information_is_asked_for_at_most_as_often_as_the_authority_wants(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ari(NOW + DAY, NOW + 2 * DAY), issued(10))
    for later in (0, 60, 3601):
        bench.now = NOW + later
        bench.driver.run()
    assert [call for call in bench.ca.calls if call.startswith("renewal_info")] == [
        "renewal_info aYhba4dGQEHhs3uEe9CuLN4ByNQ.AIdlQyE"
    ] * 2


def test_renewal_information_that_is_off(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ari(NOW - 20, NOW - 10), issued(10, ari=False))
    bench.driver.run()
    assert bench.ca.calls == []


def test_a_ca_without_renewal_information_does_not_stop_the_check(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(fails={"directory": AuthorityError(5, "x")}), issued(10))
    bench.driver.run()
    assert bench.job().errors == 0 and "AH10514" in bench.codes()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"errors": "x", "log": 5, "last": []}', b"\xff"])
def test_a_damaged_job_is_a_new_one(tmp_path: Path, text: bytes) -> None:
    bench = Bench(tmp_path, FakeAuthority())
    bench.manager.store.save(STAGING, "a.test", "job.json", text)
    bench.driver.run()
    assert bench.job().is_finished


def test_a_store_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, FakeAuthority())

    def refuse(*_arguments: object, **_more: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(bench.manager.store, "save", refuse)
    assert bench.driver.run() == NOW + 30
    assert any(line[3] == "(30)Read-only file system" for line in bench.lines)


def test_the_end_of_the_process_ends_a_wait(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeAuthority(polls=3))

    def end(_seconds: float) -> None:
        raise Ended

    bench.driver._runtime.sleep = end
    assert suppressed(bench.driver.run, 7.0) == 7.0
    assert not bench.job().is_finished
