"""The renewal of one domain: account, orders and certificates, staged in the store.

It knows no network and no clock: the authority, the time, waiting and notifications come from its caller.
Steps and texts are those of httpd's md_acme_drive.c, since job.json and the log show them.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from copy import copy
from typing import Any, Final, TypeVar

from cryptography import x509

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.md.mod_md import accounts, keys
from whimbrel.modules.md.mod_md.authority import (
    INVALID,
    PENDING,
    PROCESSING,
    READY,
    VALID,
    AcmeDirectory,
    AuthorityError,
    Authorization,
    CertificateAuthority,
    CertificateOrder,
    Challenge,
)
from whimbrel.modules.md.mod_md.challenges import (
    ChallengeStore,
    NoChallenge,
    Reach,
    SetupFailed,
    possible,
)
from whimbrel.modules.md.mod_md.domains import COMPLETE, MD_FILE, ManagedDomain, text_in, to_json
from whimbrel.modules.md.mod_md.job import JOB_FILE
from whimbrel.modules.md.mod_md.result import GENERAL, NOT_IMPLEMENTED, JobResult, cause_of
from whimbrel.modules.md.mod_md.settings import KeyKind
from whimbrel.modules.md.mod_md.store import STAGING, FileStore, MdStoreError
from whimbrel.modules.md.mod_md.timing import date_text

T = TypeVar("T")
ORDER_FILE: Final = "order.json"
POLL_TIME: Final = 30.0  # seconds for authorizations, and for each step of an order
_NO_BINDING: Final = (
    "the CA requires 'External Account Binding' which is not configured. This means you need to obtain a "
    "'Key ID' and a 'HMAC' from the CA and configure that using the MDExternalAccountBinding directive in "
    "your config. The creation of a new ACME account will most likely fail, but an attempt is made anyway."
)
_NOT_VALIDATED: Final = "Error waiting on domain names to be validated"
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


@dataclass(slots=True)
class RenewalHost:
    """What a renewal needs from outside.

    Attributes:
        connect: function of the URL of an authority.
        clock: the time; `sleep`: waits, and raises an error at the end of the process.
        raise_event: calls MDMessageCmd, which may change the result; returns False if it fails.
        log: function of level, text and cause.
        result: what job.json shows of the renewal.
    """

    store: FileStore
    connect: Callable[[str], CertificateAuthority]
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    raise_event: Callable[[str], bool]
    log: Callable[[str, str, str], None]
    result: JobResult


class RenewalFailed(Exception):
    """The renewal ended without certificates; the result has the reason."""


class Renewal:
    """One attempt for all keys of a domain; complete keys of earlier attempts are kept."""

    def __init__(
        self, host: RenewalHost, domain: ManagedDomain, reach: Reach, authority: str, delay: float = 0.0
    ) -> None:
        # a copy: the authority and the account of this attempt are in use once it is activated
        self._domain = copy(domain)
        self._host = host
        self._reach = reach
        self._url = authority
        self._delay = delay  # MDActivationDelay
        self._result = host.result
        self._kinds: list[str] = []
        self._offers = AcmeDirectory()
        self._ca: CertificateAuthority
        self._answers = ChallengeStore(host.store, domain, reach, host.clock)

    def run(self) -> float:
        """Stage certificates for all keys; return when they may be used.  Raises RenewalFailed."""
        try:
            return self._run()
        except RenewalFailed:
            raise
        except AuthorityError as problem:
            self._result.set(problem.status, problem.detail, problem.problem)
            self._log_refusal(problem)
            raise RenewalFailed from None
        except OSError as problem:
            path = problem.filename.decode("latin-1") if isinstance(problem.filename, bytes) else ""
            raise self._failure(problem.errno or errno.EIO, f"store: {path}".rstrip(": ")) from None
        except (MdStoreError, ValueError) as problem:
            raise self._failure(errno.EINVAL, str(problem)) from None

    def _log_refusal(self, problem: AuthorityError) -> None:
        """Log what an authority has refused, or that it cannot be reached."""
        text = problem.line or self._result.line(self._domain.name)
        cause = cause_of(problem.status) if problem.problem or not problem.line else ""
        for level in problem.levels:
            self._host.log(level, text, cause)

    def _failure(self, status: int, detail: str, problem: str = "", *, keeps: bool = False) -> RenewalFailed:
        """Record a failure; with *keeps* the log of the job shows the problem of the step before."""
        self._result.set(status, detail, self._result.problem if keeps else "")
        self._result.problem = problem or self._result.problem
        self._host.log("error", self._result.line(self._domain.name), cause_of(status))
        return RenewalFailed()

    def _begin(self, activity: str) -> None:
        self._result.begin(activity)

    def _run(self) -> float:
        name = self._domain.name
        self._result.set(0)
        try:
            self._kinds = possible(self._domain, self._reach)
        except NoChallenge as problem:
            self._host.log("warn", f"md[{name}]: {problem}", cause_of(GENERAL))
            self._result.set(GENERAL, str(problem))
            raise RenewalFailed from None
        kinds = " ".join(self._kinds)
        self._result.set(0, f"MDomain {name} initialized with support for ACME challenges {kinds}")
        self._begin("Checking staging area")
        is_fresh = not self._has_begun()
        if is_fresh:
            self._begin("Resetting staging area")
            self._reset()
        self._begin("Assessing current status")
        missing = [spec for spec in self._domain.keys if not self._is_staged(spec)]
        if missing:
            self._obtain(missing, is_fresh=is_fresh)
        return self._ready_at()

    def _has_begun(self) -> bool:
        """Return True if an earlier attempt at this authority has left its files."""
        try:
            record = self._host.store.load_json(STAGING, self._domain.name, MD_FILE)
        except (OSError, MdStoreError):
            return False
        return text_in(record, "ca", "url") == self._url

    def _reset(self) -> None:
        """Remove the files of attempts at other authorities; the job goes on."""
        store = self._host.store
        name = self._domain.name
        for file in store.files(STAGING, name):
            if file != JOB_FILE:
                store.purge_file(STAGING, name, file)

    def _is_staged(self, spec: KeyKind) -> bool:
        """Return True if a certificate with its key for the present names is staged."""
        staged = staged_pair(self._host.store, self._domain.name, spec)
        return staged is not None and set(self._domain.names) <= set(keys.alternative_names(staged[1][0]))

    def _obtain(self, missing: list[KeyKind], *, is_fresh: bool) -> None:
        name = self._domain.name
        if is_fresh:
            self._begin(f"Resetting staging for {name}")
        self._domain.authority = self._url
        self._save_domain()
        self._begin(f"Contacting ACME server for {name} at {self._url}")
        self._ca = self._host.connect(self._url)
        self._offers = self._ca.directory()
        for spec in missing:
            self._begin(f"Driving ACME to renew {spec.name} certificate for {name}")
            self._use_account()
            try:
                self._order_certificate(spec)
            finally:
                self._answers.tear_down()

    def _save_domain(self) -> None:
        is_secret = self._domain.settings.binding is not None
        record = to_json(self._domain)
        self._host.store.save_json(STAGING, self._domain.name, MD_FILE, record, secret=is_secret)

    # accounts ----------------------------------------------------------------------------------------
    def _use_account(self) -> None:
        name = self._domain.name
        before = self._domain.account
        self._begin(f"Selecting account to use for {name}")
        has_account = accounts.select(self._host.store, self._ca, self._domain, self._url, self._log_refusal)
        if self._domain.account != before:
            self._save_domain()
        if has_account:
            return
        self._begin(f"Creating new ACME account for {name}")
        if not self._domain.contacts:
            text = f"No contact information is available for MD {name}. Configure one using the "
            raise self._failure(errno.EINVAL, f"{text}MDContactEmail or ServerAdmin directive.")
        terms = self._offers.terms
        if terms and not self._domain.settings.agreement:  # any value is an agreement
            text = (
                f"the CA requires you to accept the terms-of-service as specified in <{terms}>. Please read "
                "the document that you find at that URL and, if you agree to the conditions, configure "
                '"MDCertificateAgreement accepted" in your Apache. Then (graceful) restart the server to '
                "activate."
            )
            raise self._failure(errno.EINVAL, text)
        if self._offers.needs_binding and not self._domain.settings.binding:
            self._result.set(errno.EINVAL, _NO_BINDING)
            self._host.log("error", self._result.line(name), cause_of(errno.EINVAL))
        try:
            url = accounts.create(self._host.store, self._ca, self._domain, self._url)
        except AuthorityError as problem:
            self._log_refusal(problem)
            self._result.activity = ""
            self._result.set(problem.status, problem.detail, problem.problem)
            self._host.log("error", self._result.line(name), cause_of(problem.status))
            raise RenewalFailed from None
        self._host.log("info", f"registered new account {url}", "")

    # orders ------------------------------------------------------------------------------------------
    def _profile(self) -> str:
        settings = self._domain.settings
        if not settings.profile or settings.profile in self._offers.profiles:
            return settings.profile
        if settings.profile_mandatory:
            text = f"{self._domain.name}: mandatory ACME profile '{settings.profile}' is not offered by CA"
            self._host.log("error", text, cause_of(errno.ENOENT))
            self._result.set(errno.EINVAL)
            raise RenewalFailed
        return ""

    def _replaced(self, spec: KeyKind) -> str:
        """Return the identifier of the certificate that the new one follows (RFC 9773, 5)."""
        domain = self._domain
        if not self._offers.has_ari or not domain.settings.ari or domain.certificate_files:
            return ""
        present = dict(zip(domain.keys, domain.certificates, strict=False)).get(spec)
        return "" if present is None else keys.ari_id(present)

    def _order_certificate(self, spec: KeyKind) -> None:
        name = self._domain.name
        store = self._host.store
        wanted = self._domain.settings.profile
        replaced = self._replaced(spec)
        self._begin(
            f"Creating new order, key-spec={spec.description}, profile={wanted or 'none'}, "
            f"replacing-cert={replaced or 'none'}"
        )
        order = self._left_order() or self._ca.new_order(self._domain.names, self._profile(), replaced)
        self._save_order(order)
        self._authorize(order)
        self._begin("Waiting for order to become ready")
        order = self._wait(order.url, (READY, VALID), "Error waiting for order to become ready")
        self._begin(f"Finalizing order for {name}")
        key = self._private_key(spec)
        if order.status == READY:
            self._begin(f"Creating {spec.name} CSR")
            must_staple = self._domain.settings.must_staple
            request = keys.signing_request(key, self._domain.names, must_staple=must_staple)
            self._begin(f"Submitting {spec.name} CSR to CA")
            self._ca.finalize(order, request)
        self._begin("Waiting for finalized order to become valid")
        order = self._wait(order.url, (VALID,), "Error waiting for order to become valid.")
        self._result.set(0, "ACME server order status is 'valid'.")
        self._result.set(0)
        if not order.certificate:
            raise self._failure(errno.EINVAL, "CertificateOrder valid, but certificate url is missing.")
        self._begin(f"Retrieving {spec.name} certificate chain for {name}")
        data = self._retrieve(order.certificate)
        store.purge_file(STAGING, name, ORDER_FILE)
        self._stage(spec, key, data)

    def _left_order(self) -> CertificateOrder | None:
        """Return the order of an attempt that failed, if it is alive: it goes on where it was left."""
        store = self._host.store
        name = self._domain.name
        try:
            url = text_in(store.load_json(STAGING, name, ORDER_FILE), "url")
        except (OSError, MdStoreError):
            return None
        try:
            order = self._ca.order(url)
        except AuthorityError as problem:
            if not problem.problem:
                raise
            self._log_refusal(problem)
        else:
            if order.status in (PENDING, READY, PROCESSING, VALID):
                return order
        store.purge_file(STAGING, name, ORDER_FILE)
        return None

    def _retrieve(self, url: str) -> bytes:
        """Return a certificate; what goes wrong is tried again for some time."""
        end = self._host.clock() + POLL_TIME
        pause = FIRST_PAUSE
        while True:
            try:
                return self._ca.certificate(url)
            except AuthorityError as problem:
                if self._host.clock() + pause > end:
                    raise
                self._log_refusal(problem)
            self._host.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _private_key(self, spec: KeyKind) -> Any:
        """Return the key of an attempt that was not finished, or a new one."""
        store = self._host.store
        name = self._domain.name
        file = keys.key_file(spec)
        try:
            return keys.load_key(store, STAGING, name, file)
        except (OSError, MdStoreError):
            key = keys.generate(spec)
            keys.save_key(store, STAGING, name, file, key)
            return key

    def _stage(self, spec: KeyKind, key: Any, data: bytes) -> None:
        try:
            chain = keys.chain(data)
        except ValueError:
            raise self._failure(errno.EINVAL, f"Unable to retrieve {spec.name} certificate chain.") from None
        if not keys.belongs(key, chain[0]):
            raise self._failure(errno.EINVAL, "Certificate and private key do not match.")
        missing = set(self._domain.names) - set(keys.alternative_names(chain[0]))
        if missing:
            raise self._failure(errno.EINVAL, f"md domain {min(missing)} not covered by cert")
        self._host.store.save(STAGING, self._domain.name, keys.chain_file(spec), keys.chain_pem(chain))

    def _save_order(self, order: CertificateOrder) -> None:
        record = {
            "url": order.url,
            "status": order.status,
            "authorizations": list(order.authorizations),
            "challenge-setups": self._answers.names(),
            "finalize": order.finalize,
        }
        self._host.store.save_json(STAGING, self._domain.name, ORDER_FILE, record)

    def _wait(self, url: str, wanted: tuple[str, ...], failed: str) -> CertificateOrder:
        """Return the order once its status is one of *wanted*."""

        def poll() -> CertificateOrder | None:
            order = self._ca.order(url)
            if order.status == INVALID:
                detail = " ".join(filter(None, ("ACME server order status is 'invalid'.", order.detail)))
                raise self._failure(errno.EINVAL, detail, order.problem)
            if order.status in wanted:
                return order
            if order.status not in (PENDING, READY, PROCESSING):
                raise self._failure(errno.EINVAL, f"unexpected order status '{order.status}'")
            return None

        return self._try(poll, failed)

    def _try(self, poll: Callable[[], T | None], failed: str) -> T:
        """Call *poll* with growing pauses until it returns a result."""
        end = self._host.clock() + POLL_TIME
        pause = FIRST_PAUSE
        while True:
            found = poll()
            if found is not None:
                return found
            if self._host.clock() + pause > end:
                raise self._failure(errno.ETIMEDOUT, failed)
            self._host.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    # authorizations ----------------------------------------------------------------------------------
    def _authorize(self, order: CertificateOrder) -> None:
        name = self._domain.name
        self._begin("Starting challenges for domains")
        started = [self._start(self._ca.authorization(url)) for url in order.authorizations]
        self._save_order(order)
        self._begin(f"Monitoring challenge status for {name}")
        for authorization in started:
            self._try(
                lambda one=authorization: self._is_valid(one),  # type: ignore[misc]
                _NOT_VALIDATED,
            )

    def _start(self, authorization: Authorization) -> Authorization:
        domain = authorization.domain
        if authorization.status == VALID:
            return authorization
        # the authorization of a wildcard has the name below it
        is_ours = domain in self._domain.names or f"*.{domain}" in self._domain.names
        if authorization.status != PENDING or not is_ours:
            text = f"unexpected AUTHZ state {authorization.status} for domain {domain}"
            raise self._failure(errno.EINVAL, text)
        offered = {challenge.kind: challenge for challenge in authorization.challenges}
        kinds = [kind for kind in self._kinds if kind in offered]
        available = " ".join(self._kinds)
        self._result.set(
            0,
            f"{domain}: selecting suitable authorization challenge type, this domain supports {available}",
        )
        for kind in kinds:
            if self._set_up(kind, domain, offered[kind]):
                return authorization
        if not kinds or self._result.status == NOT_IMPLEMENTED:
            raise self._failure(
                errno.EINVAL,
                f"None of offered challenge types for domain {domain} are supported. The server offered "
                f"'{' '.join(offered)}' and available are: '{available}'.",
                "challenge-mismatch",
            )
        raise self._failure(
            self._result.status or errno.EINVAL,
            # in the order that httpd has them
            f"None of the offered challenge types {domain} offered for domain {' '.join(offered)} "
            "could be setup successfully. Please check the log for errors.",
            "challenge-setup-failure",
            keeps=True,
        )

    def _set_up(self, kind: str, domain: str, challenge: Challenge) -> bool:
        """Set up and start a challenge; return False if another kind may do."""
        self._begin(f"Setting up challenge '{kind}' for domain {domain}")
        try:
            self._answers.set_up(kind, domain, self._ca.key_authorization(challenge.token))
            if self._host.raise_event(f"challenge-setup:{kind}:{domain}"):
                self._ca.start_challenge(challenge.url)
                return True
        except SetupFailed as failure:
            self._result.status = failure.status
            if failure.text:
                has_command = failure.status != NOT_IMPLEMENTED
                self._host.log("info", failure.text, cause_of(failure.status) if has_command else "")
        except AuthorityError as problem:
            if not problem.problem:
                raise
            self._log_refusal(problem)
            self._result.status = problem.status
        text = f"error setting up challenge '{kind}' for {domain}, for domain {self._domain.name}, looking"
        self._result.describe(self._result.status, f"{text} for other option")
        self._host.log("info", self._result.line(self._domain.name), cause_of(self._result.status))
        return False

    def _is_valid(self, authorization: Authorization) -> bool | None:
        present = self._ca.authorization(authorization.url)
        domain = authorization.domain
        if present.status == VALID:
            self._result.set(0, f"domain authorization for {domain} is valid")
            return True
        if present.status == PENDING:
            return None
        self._host.log(
            "error",
            f"ACME server authz: challenge '{present.status}' for {domain} at {present.url}. Exact response "
            f"was: {present.text}",
            "",
        )
        text = f"domain authorization for {domain} failed, CA considers answer to challenge invalid."
        failure = self._failure(errno.EINVAL, text)
        self._result.describe(errno.EINVAL, _NOT_VALIDATED)
        raise failure

    # the end -----------------------------------------------------------------------------------------
    def _ready_at(self) -> float:
        """Return when the staged certificates may be used: once they are valid, and after the delay."""
        begin = 0.0
        for spec in self._domain.keys:
            staged = staged_pair(self._host.store, self._domain.name, spec)
            if staged is None:
                raise self._failure(errno.ENOENT, f"no certificate in staged credentials {spec.name}")
            begin = max(begin, keys.validity(staged[1][0])[0])
        now = self._host.clock()
        ends = [lifetime[1] for lifetime in self._domain.lifetimes() if lifetime is not None]
        ready = begin
        if self._domain.state == COMPLETE and ends and min(ends) > now:
            ready = max(begin, min(now + self._delay, min(ends)))
        text = "The certificate for the managed domain has been renewed successfully and can be used "
        if ready <= now:
            text += f"(valid since {date_text(ready)}). A graceful server restart now is recommended."
        else:
            text += f"from {date_text(ready)} on."
        self._result.activity = ""
        self._result.set(0, text)
        self._result.detail = ""
        return ready


def staged_pair(
    store: FileStore, name: str, spec: KeyKind, group: str = STAGING
) -> tuple[Any, list[x509.Certificate]] | None:
    """Return key and chain of one kind that belong together, None if one is missing or malformed."""
    try:
        key = keys.load_key(store, group, name, keys.key_file(spec))
        chain = keys.chain(store.load(group, name, keys.chain_file(spec)))
    except (OSError, ValueError, MdStoreError):
        return None
    return (key, chain) if keys.belongs(key, chain[0]) else None
