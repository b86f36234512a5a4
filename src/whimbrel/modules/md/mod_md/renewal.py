"""The renewal of one domain: account, orders and certificates, staged in the store.

It knows no network and no clock: the authority, the time, waiting and notifications come from its caller.
Steps and texts are those of httpd's md_acme_drive.c, since job.json and the log show them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
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
)
from whimbrel.modules.md.mod_md.challenges import (
    ChallengeStore,
    NoChallenge,
    Reach,
    SetupFailed,
    possible,
)
from whimbrel.modules.md.mod_md.domains import COMPLETE, MD_FILE, ManagedDomain, to_json
from whimbrel.modules.md.mod_md.settings import KeyKind
from whimbrel.modules.md.mod_md.store import STAGING, FileStore, MdStoreError
from whimbrel.modules.md.mod_md.timing import date_text

T = TypeVar("T")
ORDER_FILE: Final = "order.json"
POLL_TIME: Final = 30.0  # seconds for authorizations, and for each step of an order
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


@dataclass(slots=True)
class World:
    """What a renewal needs from outside.

    Attributes:
        connect: function of the URL of an authority.
        clock: the time; `sleep`: waits, and raises an error at the end of the process.
        raise_event: calls MDMessageCmd; returns False if it fails.
        progress: function of an activity and of a detail about it, for job.json.
        log: function of level, text and cause.
    """

    store: FileStore
    connect: Callable[[str], CertificateAuthority]
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    raise_event: Callable[[str], bool]
    progress: Callable[[str, str], None]
    log: Callable[[str, str, str], None]


class RenewalFailed(Exception):
    """The renewal ended without certificates: *status* is an errno, *detail* is for job.json."""

    def __init__(self, status: int, detail: str, activity: str, problem: str = "") -> None:
        super().__init__(detail)
        self.status, self.detail, self.activity, self.problem = status, detail, activity, problem


class Renewal:
    """One attempt for all keys of a domain; complete keys of earlier attempts are kept.

    Attributes:
        activity: the present step.
    """

    def __init__(
        self, world: World, domain: ManagedDomain, reach: Reach, authority: str, delay: float = 0.0
    ) -> None:
        self._world, self._domain, self._reach, self._url = world, domain, reach, authority
        self._delay = delay  # MDActivationDelay
        self.activity = ""
        self._kinds: list[str] = []
        self._offers = AcmeDirectory()
        self._ca: CertificateAuthority
        self._answers = ChallengeStore(world.store, domain, reach, world.clock)

    def run(self) -> float:
        """Stage certificates for all keys; return when they may be used.  Raises RenewalFailed."""
        try:
            return self._run()
        except RenewalFailed:
            raise
        except AuthorityError as problem:
            raise self._failure(problem.status, problem.detail, problem.problem) from None
        except OSError as problem:
            path = problem.filename.decode("latin-1") if isinstance(problem.filename, bytes) else ""
            raise self._failure(problem.errno or errno.EIO, f"store: {path}".rstrip(": ")) from None
        except (MdStoreError, ValueError) as problem:
            raise self._failure(errno.EINVAL, str(problem)) from None

    def _failure(self, status: int, detail: str, problem: str = "") -> RenewalFailed:
        self._world.progress(self.activity, detail)
        text = f"md[{self._domain.name}] while[{self.activity}]"
        if problem:
            text += f" problem[{problem}]"
        self._world.log("error", f"{text} detail[{detail}]", cause_of(status))
        return RenewalFailed(status, detail, self.activity, problem)

    def _begin(self, activity: str) -> None:
        self.activity = activity
        self._world.progress(activity, "")

    def _run(self) -> float:
        name = self._domain.name
        try:
            self._kinds = possible(self._domain, self._reach)
        except NoChallenge as problem:
            raise self._failure(errno.EINVAL, str(problem)) from None
        kinds = " ".join(self._kinds)
        self._begin(f"MDomain {name} initialized with support for ACME challenges {kinds}")
        self._begin("Checking staging area")
        missing = [spec for spec in self._domain.keys if not self._is_staged(spec)]
        if len(missing) == len(self._domain.keys):
            self._begin("Resetting staging area")
        self._begin("Assessing current status")
        if missing:
            self._obtain(missing)
        return self._ready_at()

    def _is_staged(self, spec: KeyKind) -> bool:
        """Return True if a certificate with its key for the present names is staged."""
        staged = staged_pair(self._world.store, self._domain.name, spec)
        return staged is not None and set(self._domain.names) <= set(keys.alternative_names(staged[1][0]))

    def _obtain(self, missing: list[KeyKind]) -> None:
        name, store = self._domain.name, self._world.store
        self._begin(f"Resetting staging for {name}")
        self._domain.authority = self._url
        store.save_json(STAGING, name, MD_FILE, to_json(self._domain), secret=True)
        self._begin(f"Contacting ACME server for {name} at {self._url}")
        self._ca = self._world.connect(self._url)
        self._offers = self._ca.directory()
        for spec in missing:
            self._begin(f"Driving ACME to renew {spec.name} certificate for {name}")
            self._use_account()
            try:
                self._order_certificate(spec)
            finally:
                self._answers.tear_down()

    # accounts ----------------------------------------------------------------------------------------
    def _use_account(self) -> None:
        name = self._domain.name
        self._begin(f"Selecting account to use for {name}")
        if accounts.select(self._world.store, self._ca, self._domain, self._url):
            return
        self._begin(f"Creating new ACME account for {name}")
        if not self._domain.contacts:
            text = f"No contact information is available for MD {name}. Configure one using the "
            raise self._failure(errno.EINVAL, f"{text}MDContactEmail or ServerAdmin directive.")
        terms, agreement = self._offers.terms, self._domain.settings.agreement
        if terms and agreement not in ("accepted", terms):
            text = (
                f"the CA requires you to accept the terms-of-service as specified in <{terms}>. Please read "
                "the document that you find at that URL and, if you agree to the conditions, configure "
                '"MDCertificateAgreement accepted" in your Apache. Then (graceful) restart the server to '
                "activate."
            )
            raise self._failure(errno.EINVAL, text)
        url = accounts.create(self._world.store, self._ca, self._domain, self._url)
        self._world.log("info", f"registered new account {url}", "")

    # orders ------------------------------------------------------------------------------------------
    def _profile(self) -> str:
        settings = self._domain.settings
        if not settings.profile or settings.profile in self._offers.profiles:
            return settings.profile
        text = f"{self._domain.name}: {{}}ACME profile '{settings.profile}' is not offered by CA"
        if settings.profile_mandatory:
            raise self._failure(errno.EINVAL, text.format("mandatory "))
        self._world.log("info", f"{text.format('')}, continuing without", "")
        return ""

    def _replaced(self, spec: KeyKind) -> str:
        """Return the identifier of the certificate that the new one follows (RFC 9773, 5)."""
        domain = self._domain
        if not self._offers.has_ari or not domain.settings.ari or domain.certificate_files:
            return ""
        present = dict(zip(domain.keys, domain.certificates, strict=False)).get(spec)
        return "" if present is None else keys.ari_id(present)

    def _order_certificate(self, spec: KeyKind) -> None:
        name, store = self._domain.name, self._world.store
        profile, replaced = self._profile(), self._replaced(spec)
        self._begin(
            f"Creating new order, key-spec={spec.description}, profile={profile or 'none'}, "
            f"replacing-cert={replaced or 'none'}"
        )
        order = self._ca.new_order(self._domain.names, profile, replaced)
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
        self._world.progress(self.activity, "ACME server order status is 'valid'.")
        if not order.certificate:
            raise self._failure(errno.EINVAL, "CertificateOrder valid, but certificate url is missing.")
        self._begin(f"Retrieving {spec.name} certificate chain for {name}")
        self._stage(spec, key, self._ca.certificate(order.certificate))
        store.purge_file(STAGING, name, ORDER_FILE)

    def _private_key(self, spec: KeyKind) -> Any:
        """Return the key of an attempt that was not finished, or a new one."""
        store, name, file = self._world.store, self._domain.name, keys.key_file(spec)
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
        self._world.store.save(STAGING, self._domain.name, keys.chain_file(spec), keys.chain_pem(chain))

    def _save_order(self, order: CertificateOrder) -> None:
        record = {
            "url": order.url,
            "status": order.status,
            "authorizations": list(order.authorizations),
            "challenge-setups": list(self._answers.setups),
            "finalize": order.finalize,
        }
        self._world.store.save_json(STAGING, self._domain.name, ORDER_FILE, record)

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
        end, pause = self._world.clock() + POLL_TIME, FIRST_PAUSE
        while True:
            found = poll()
            if found is not None:
                return found
            if self._world.clock() + pause > end:
                raise self._failure(errno.ETIMEDOUT, failed)
            self._world.sleep(pause)
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
                "Error waiting on domain names to be validated",
            )

    def _start(self, authorization: Authorization) -> Authorization:
        domain = authorization.domain
        if authorization.status == VALID:
            return authorization
        if authorization.status != PENDING or domain not in self._domain.names:
            text = f"unexpected AUTHZ state {authorization.status} for domain {domain}"
            raise self._failure(errno.EINVAL, text)
        offered = {challenge.kind: challenge for challenge in authorization.challenges}
        kinds = [kind for kind in self._kinds if kind in offered]
        self._world.progress(
            self.activity,
            f"{domain}: selecting suitable authorization challenge type, this domain supports "
            f"{' '.join(self._kinds)}",
        )
        if not kinds:
            raise self._failure(
                errno.EINVAL,
                f"None of offered challenge types for domain {domain} are supported. The server offered "
                f"'{' '.join(offered)}' and available are: '{' '.join(self._kinds)}'.",
            )
        for kind in kinds:
            if self._set_up(kind, domain, self._ca.key_authorization(offered[kind].token)):
                self._ca.start_challenge(offered[kind].url)
                return authorization
        raise self._failure(
            errno.EINVAL,
            f"None of the offered challenge types {' '.join(offered)} offered for domain {domain} could be "
            "setup successfully. Please check the log for errors.",
        )

    def _set_up(self, kind: str, domain: str, authorization: str) -> bool:
        self._begin(f"Setting up challenge '{kind}' for domain {domain}")
        try:
            self._answers.set_up(kind, domain, authorization)
        except SetupFailed:
            text = (
                f"error setting up challenge '{kind}' for {domain}, for domain {self._domain.name}, looking"
            )
            self._world.log("error", f"{text} for other option", "")
            return False
        if not self._world.raise_event(f"challenge-setup:{kind}:{domain}"):
            event = f"challenge-setup:{kind}:{domain}"
            text = f"{domain}: event '{event}' failed. aborting challenge setup"
            raise self._failure(errno.EINVAL, text)
        return True

    def _is_valid(self, authorization: Authorization) -> bool | None:
        present = self._ca.authorization(authorization.url)
        domain = authorization.domain
        if present.status == VALID:
            self._world.progress(self.activity, f"domain authorization for {domain} is valid")
            return True
        if present.status == PENDING:
            return None
        self._world.log(
            "error",
            f"ACME server authz: challenge '{present.status}' for {domain} at {present.url}. Exact response "
            f"was: {present.text}",
            "",
        )
        text = f"domain authorization for {domain} failed, CA considers answer to challenge invalid."
        self._world.progress(self.activity, text)
        self._world.log(
            "error", f"md[{self._domain.name}] while[{self.activity}] detail[{text}]", cause_of(errno.EINVAL)
        )
        raise RenewalFailed(errno.EINVAL, "Error waiting on domain names to be validated", self.activity)

    # the end -----------------------------------------------------------------------------------------
    def _ready_at(self) -> float:
        """Return when the staged certificates may be used: once they are valid, and after the delay."""
        begin = 0.0
        for spec in self._domain.keys:
            staged = staged_pair(self._world.store, self._domain.name, spec)
            if staged is None:
                raise self._failure(errno.ENOENT, f"no certificate in staged credentials {spec.name}")
            begin = max(begin, keys.validity(staged[1][0])[0])
        now = self._world.clock()
        ends = [lifetime[1] for lifetime in self._domain.lifetimes() if lifetime is not None]
        ready = begin
        if self._domain.state == COMPLETE and ends and min(ends) > now:
            ready = max(begin, min(now + self._delay, min(ends)))
        text = "The certificate for the managed domain has been renewed successfully and can be used "
        if ready <= now:
            text += f"(valid since {date_text(ready)}). A graceful server restart now is recommended."
        else:
            text += f"from {date_text(ready)} on."
        self._world.progress(text, "")
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


def cause_of(status: int) -> str:
    """Return a system error in APR's wording."""
    return f"({status}){os.strerror(status)}"
