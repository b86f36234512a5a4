"""The interface of a certificate authority that speaks ACME (RFC 8555): what renewals call.

`acme_client` implements it with the package `acme`; tests have one in memory.
"""

from __future__ import annotations

from typing import Any, Protocol

from whimbrel.base.lazy_dataclasses import dataclass

PENDING = "pending"
READY = "ready"
PROCESSING = "processing"
VALID = "valid"
INVALID = "invalid"


class AuthorityError(Exception):
    """A request to an authority failed.

    Attributes:
        status: an errno, as job.json has it.
        problem: the type of the problem document, "" without one.
        detail: for the log and for job.json.
        levels: those of its lines in the error log. `line`: their text, "" for that of the job's result.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        problem: str = "",
        levels: tuple[str, ...] = ("error",),
        line: str = "",
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.problem = problem
        self.levels = ("warn",) if problem else levels
        self.line = f"acme problem {problem}: {detail}" if problem else line


@dataclass(frozen=True, slots=True)
class AcmeDirectory:
    """What an authority offers.

    Attributes:
        terms: the URL of its terms of service, "" without any.
        needs_binding: accounts must be bound to external ones.
        profiles: names of certificate profiles. `has_ari`: it gives renewal information (RFC 9773).
    """

    terms: str = ""
    needs_binding: bool = False
    profiles: tuple[str, ...] = ()
    has_ari: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """A registered account: its URL, and the record that account.json keeps."""

    url: str
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CertificateOrder:
    """An order: *status* is one of the constants, *certificate* is "" before it is valid."""

    url: str
    status: str
    authorizations: tuple[str, ...] = ()
    finalize: str = ""
    certificate: str = ""
    problem: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Challenge:
    """One way to prove the control of a name: *kind* is ``http-01`` and the like."""

    kind: str
    url: str
    token: str
    status: str = PENDING


@dataclass(frozen=True, slots=True)
class Authorization:
    """The authorization of one name; *text* is the response for the log."""

    url: str
    domain: str
    status: str
    challenges: tuple[Challenge, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class RenewalInfo:
    """When an authority wants a certificate renewed, in seconds since the epoch.

    Attributes:
        retry_after: seconds until the next question. `explanation`: a URL, "" without one.
    """

    begin: float
    end: float
    retry_after: float = 0.0
    explanation: str = ""


class CertificateAuthority(Protocol):
    """One authority; all methods may wait for the network and raise AuthorityError."""

    def directory(self) -> AcmeDirectory:
        """Return what the authority offers."""

    def use(self, key_pem: bytes, account: str) -> None:
        """Sign later requests with an account key; *account* is its URL, "" before it is registered."""

    def register(self, contacts: list[str], *, agrees: bool, binding: tuple[str, str] | None) -> Account:
        """Register the key, or find its account."""

    def check_account(self) -> None:
        """Raise AuthorityError unless the account is valid."""

    def new_order(self, names: list[str], profile: str, replaces: str) -> CertificateOrder:
        """Order a certificate; *replaces* is the identifier of one that it follows, or ""."""

    def order(self, url: str) -> CertificateOrder:
        """Return the present state of an order."""

    def authorization(self, url: str) -> Authorization:
        """Return the present state of an authorization."""

    def key_authorization(self, token: str) -> str:
        """Return the answer to a token (RFC 8555, 8.1)."""

    def start_challenge(self, url: str) -> None:
        """Let the authority check a challenge."""

    def finalize(self, order: CertificateOrder, request: bytes) -> None:
        """Send a certificate signing request in DER."""

    def certificate(self, url: str) -> bytes:
        """Return a certificate with its chain in PEM."""

    def renewal_info(self, identifier: str) -> RenewalInfo:
        """Return when a certificate is to be renewed."""
