"""Jobs: when domains are renewed, what administrators are told, retries.  One process at a time runs them.

It knows no thread and no network: see `renewal.RenewalHost`.  httpd: mod_md_drive.c.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.md.mod_md import commands, job, keys, timing
from whimbrel.modules.md.mod_md.authority import AuthorityError, CertificateAuthority
from whimbrel.modules.md.mod_md.domains import INCOMPLETE, MISSING_INFORMATION, ManagedDomain
from whimbrel.modules.md.mod_md.job import Job
from whimbrel.modules.md.mod_md.manager import Manager
from whimbrel.modules.md.mod_md.renewal import Renewal, RenewalFailed, RenewalHost
from whimbrel.modules.md.mod_md.result import AH10108, AH10109, JobResult, cause_of
from whimbrel.modules.md.mod_md.timing import date_text
from whimbrel.modules.md.mod_md.values import duration_words

LONGEST_ARI_PAUSE: Final = 6 * 3600.0  # seconds between two questions for renewal information


class Ended(Exception):
    """The process ends, or another one takes over."""


@dataclass(slots=True)
class JobRuntime:
    """What jobs need from runtime.

    Attributes:
        connect: function of a domain and the URL of its authority.
        clock, chance: the time; a number below 1.
        sleep: waits; raises Ended at the end of the process.
        log: records a line: level, code, text, cause.
        run: runs a command of the administrator (commands.run).
    """

    connect: Callable[[ManagedDomain, str], CertificateAuthority]
    clock: Callable[[], float]
    chance: Callable[[], float]
    sleep: Callable[[float], None]
    log: Callable[[str, str, str, str], None]
    run: Callable[..., int] = commands.run


class JobDriver:
    """The jobs of all watched domains."""

    def __init__(self, manager: Manager, runtime: JobRuntime) -> None:
        self._manager = manager
        self._runtime = runtime
        self._jobs = {domain.name: Job(domain.name) for domain in manager.domains if domain.is_watched}
        self._ari: dict[str, tuple[float, float]] = {}  # by certificate: renewal time, next question

    def run(self) -> float:
        """Run the jobs that are due; return when to call next_query.  Raises Ended."""
        runtime = self._runtime
        conf = self._manager.conf
        runtime.log("debug", "AH10055", f"md watchdog run, auto drive {len(self._jobs)} mds", "")
        now = runtime.clock()
        next_run = now + timing.next_check(conf.check_interval, runtime.chance())
        for domain in self._manager.domains:
            if domain.name not in self._jobs:
                continue
            work = self._jobs[domain.name]
            if work.next_run <= runtime.clock():
                work = self._process(domain)
                self._jobs[domain.name] = work
            if work.next_run:
                next_run = min(next_run, work.next_run)
        text = f"next run in {duration_words(max(0.0, next_run - runtime.clock()))}"
        runtime.log("debug", "AH10107", text, "")
        return next_run

    # one job -----------------------------------------------------------------------------------------
    def _process(self, domain: ManagedDomain) -> Job:
        work = job.load(self._manager.store, domain.name)
        if work.next_run > self._runtime.clock():
            return work
        before = repr(work)
        work.next_run = 0.0
        if not (work.is_finished and work.is_announced) and domain.state != MISSING_INFORMATION:
            self._drive(domain, work)
        if repr(work) != before:
            self._save(work)
        return work

    def _save(self, work: Job) -> None:
        try:
            job.save(self._manager.store, work)
        except OSError as problem:
            text = f"{work.name}: saving job props"
            self._runtime.log("error", "", text, cause_of(problem.errno or 5))

    def _drive(self, domain: ManagedDomain, work: Job) -> None:
        log = self._runtime.log
        if domain.renews:
            log("debug", "AH10052", f"md({domain.name}): state={domain.state}, driving", "")
            if self._should_renew(domain):
                if not self._raise_event(work, "renewing"):
                    text = f"{domain.name}: event-handler for 'renewing' returned {work.result().status},"
                    log("info", "AH10060", f"{text} preventing renewal to proceed.", "")
                    return
                self._renew(domain, work)
        now = self._runtime.clock()
        if (
            not work.is_finished
            and domain.state != INCOMPLETE
            and timing.should_warn(domain.lifetimes(), domain.settings.warn_window, now)
        ):
            self._notify(work, "expiring")

    def _should_renew(self, domain: ManagedDomain) -> bool:
        log = self._runtime.log
        now = self._runtime.clock()
        at = (
            now
            if domain.state == INCOMPLETE
            else timing.renew_at(domain.lifetimes(), domain.settings.renew_window, now)
        )
        if at <= now:
            log("debug", "AH10512", f"md({domain.name}): need to renew now", "")
            return True
        uses_ari = domain.settings.ari and not domain.certificate_files
        log("debug", "AH10513", f"md({domain.name}): ARI is {'' if uses_ari else 'not '}enabled", "")
        advised = self._advised(domain) if uses_ari else None
        if advised is not None and advised < at:
            if advised <= now:
                log("debug", "AH10518", f"md({domain.name}): CA advises renew via ARI now", "")
                return True
            text = f"md({domain.name}): CA advises renew via ARI at {date_text(advised)}"
            log("debug", "AH10516", text, "")
        none = "no ARI available, " if advised is None else ""
        text = f"md({domain.name}): {none}up for configured renewal in {duration_words(at - now)}"
        log("debug", "AH10514", text, "")
        return False

    def _advised(self, domain: ManagedDomain) -> float | None:
        """Return when the authority wants the first certificate renewed; None if it does not say."""
        found = []
        ca: CertificateAuthority | None = None
        url = domain.authority or domain.authorities[0]
        for certificate in domain.certificates:
            identifier = "" if certificate is None else keys.ari_id(certificate)
            known, next_query = self._ari.get(identifier, (0.0, 0.0))
            if identifier and next_query <= self._runtime.clock():
                try:
                    if ca is None:
                        ca = self._runtime.connect(domain, url)
                        if not ca.directory().has_ari:
                            return None
                    info = ca.renewal_info(identifier)
                except AuthorityError as problem:
                    text = f"error retrieving ARI from {url}: {problem.detail}"
                    self._runtime.log("debug", "", text, cause_of(problem.status))
                    continue
                known = info.begin + (info.end - info.begin) * self._runtime.chance()
                pause = min(max(info.retry_after, 60.0), LONGEST_ARI_PAUSE)
                self._ari[identifier] = known, self._runtime.clock() + pause
            if known:
                found.append(known)
        return min(found, default=None)

    # renewal -----------------------------------------------------------------------------------------
    def _renew(self, domain: ManagedDomain, work: Job) -> None:
        runtime = self._runtime
        conf = self._manager.conf
        now = self._runtime.clock()
        work.last_run = now
        work.is_finished = False
        work.log(now, "starting")
        choice = work.errors // conf.retry_failover % len(domain.authorities)
        renewal = Renewal(
            self._host(domain, work),
            domain,
            self._manager.reach,
            domain.authorities[choice],
            conf.activation_delay,
        )
        result = work.result()
        result.observe(lambda: self._progress(work))
        try:
            ready = renewal.run()
        except RenewalFailed:
            self._failed(work)
            return
        finally:
            result.observe(None)
        now = runtime.clock()
        work.is_finished = True
        work.errors = 0
        work.valid_from = ready
        work.last = JobResult(valid_from=ready)
        work.log(now, "finished")
        if ready > now:
            work.next_run = ready
            return
        self._save(work)
        if not work.is_announced:
            self._notify(work, "renewed")

    def _progress(self, work: Job) -> None:
        if text := work.result().progress():
            work.log(self._runtime.clock(), "progress", "", text)
            self._save(work)

    def _host(self, domain: ManagedDomain, work: Job) -> RenewalHost:
        runtime = self._runtime
        return RenewalHost(
            self._manager.store,
            lambda url: runtime.connect(domain, url),
            runtime.clock,
            runtime.sleep,
            lambda event: self._notify(work, event),
            lambda level, text, cause: runtime.log(level, "", text, cause),
            work.result(),
        )

    def _failed(self, work: Job) -> None:
        runtime = self._runtime
        now = self._runtime.clock()
        result = work.result()
        delay = self._count_error(work)
        text = f"processing {work.name}: {result.detail or '(null)'}"
        runtime.log("error", "AH10056", text, cause_of(result.status))
        work.log(now, "renewal-error", result.problem, result.detail)
        self._raise_event(work, "errored")
        text = f"{work.name}: encountered error for the {work.errors}. time, next run in"
        runtime.log("info", "AH10057", f"{text} {duration_words(delay)}", "")

    def _count_error(self, work: Job) -> float:
        """Count a failure; return the seconds until the next attempt."""
        work.errors += 1
        first = self._manager.conf.retry_delay
        delay = timing.retry_delay(work.errors, first, work.result().problem, self._runtime.chance())
        work.next_run = self._runtime.clock() + delay
        return delay

    # notifications -----------------------------------------------------------------------------------
    def _notify(self, work: Job, reason: str) -> bool:
        """Raise an event whose failure is an error of the job: it is tried again (md_job_notify)."""
        work.result().set(0)
        if not self._raise_event(work, reason):
            self._count_error(work)
            return False
        work.is_notified = True
        work.is_announced = work.is_announced or reason == "renewed"
        return True

    def _raise_event(self, work: Job, reason: str) -> bool:
        """Call the commands of the administrator; return False if one fails, which the result has then."""
        runtime = self._runtime
        conf = self._manager.conf
        now = self._runtime.clock()
        if not work.may_notify(reason, now):
            text = f"{work.name}: rate limiting notification about '{reason}'"
            runtime.log("debug", "AH10267", text, "")
            return True
        if reason == "renewed":
            if conf.notify_command and not self._run(work, "MDNotifyCmd", conf.notify_command):
                work.log(now, "notify-error", AH10108, work.result().detail)
                return False
            text = f"The Managed Domain {work.name} has been setup and changes will be activated on next"
            runtime.log("notice", "AH10059", f"{text} (graceful) server restart.", "")
        if conf.message_command and not self._run(work, "MDMessageCmd", conf.message_command, reason):
            work.log(now, "message-error", reason, work.result().detail)
            return False
        work.log(now, f"message-{reason}")
        return True

    def _run(self, work: Job, name: str, command: str, *reason: str) -> bool:
        code = self._runtime.run(command, *reason, work.name)
        status = commands.status_of(code)
        if status == 0:
            return True
        result = work.result()
        result.set(status, f"{name} {command} failed with exit code {code}.", AH10109 if reason else AH10108)
        self._runtime.log("error", "", result.line(work.name), cause_of(status))
        return False


def suppressed(work: Callable[[], float], default: float) -> float:
    """Return the result of *work*, *default* at the end of the process."""
    with suppress(Ended):
        return work()
    return default
