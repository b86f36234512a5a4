"""How certificates of clients are checked: SSLVerifyClient, SSLVerifyDepth, revocation."""

from __future__ import annotations

from typing import ClassVar

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.ssl.mod_ssl.settings import VERIFY_NO_CA, VERIFY_NONE, VERIFY_REQUIRE


@dataclass(frozen=True, slots=True)
class Verification:
    """One combination of settings; *mode* is a value of SSLVerifyClient.

    Attributes:
        depth: certificates above the client's own that a chain may have.
        crl_may_miss: certificates without a revocation list are accepted.
        takes_any: certificates are not judged; one with an error counts as one whose issuer is unknown.
    """

    mode: str = VERIFY_NONE
    depth: int = 1
    crl_may_miss: bool = False
    takes_any: bool = False

    # errors of OpenSSL: the issuer is unknown; there is no list; the chain is too long
    UNKNOWN_ISSUER: ClassVar[frozenset[int]] = frozenset((18, 19, 20, 21, 27))
    NO_CRL: ClassVar[int] = 3
    TOO_LONG: ClassVar[int] = 22
    UNDECIDED: ClassVar[int] = 50  # X509_V_ERR_APPLICATION_VERIFICATION

    @property
    def wants(self) -> bool:
        """True if clients are asked for a certificate."""
        return self.mode != VERIFY_NONE

    @property
    def requires(self) -> bool:
        """True if a handshake without a certificate fails."""
        return self.mode == VERIFY_REQUIRE

    def is_stricter_than(self, present: Verification, *, has_certificate: bool = True) -> bool:
        """Return True if a handshake that checked *present* does not suffice; depth: certificate's."""
        if not self.wants:
            return False
        if not present.wants or (self.requires and not present.requires):
            return True
        if present.takes_any and not self.takes_any:
            return True
        return has_certificate and self.depth < present.depth

    def accepts(self, errnum: int) -> bool:
        """Return True if a certificate is accepted with an error of OpenSSL."""
        return self.mode == VERIFY_NO_CA and (self.takes_any or errnum in self.UNKNOWN_ISSUER)
