"""OCSP checks of clients' certificates: SSLOCSPEnable and its relatives (ssl_engine_ocsp.c).

A check waits for a responder, so the handshakes of a server with such checks run in threads.  A status that
cannot be determined refuses the certificate.
"""

from __future__ import annotations

from typing import Any, Final

from cryptography import x509
from cryptography.x509 import ocsp

from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.modules.ssl.mod_ssl import ocsp_responses as responses
from whimbrel.modules.ssl.mod_ssl.key_files import certificates, read
from whimbrel.modules.ssl.mod_ssl.ocsp_client import Responder, ResponderError, exchange, split
from whimbrel.modules.ssl.mod_ssl.settings import SslServerConfig

SKEW = 300
TIMEOUT = 10
NO_MAX_AGE = -1
# OpenSSL's errors of verification
REVOKED = 23
UNDECIDED = 50
LEAF: Final = "leaf"
_MODULE: Final = "ssl"
_NAMES: Final = {
    ocsp.OCSPCertStatus.GOOD: ("good", 0),
    ocsp.OCSPCertStatus.REVOKED: ("revoked", 1),
    ocsp.OCSPCertStatus.UNKNOWN: ("unknown", 2),
}


class ClientStatus:
    """The settings of one server.

    Attributes:
        is_leaf_only: only the client's own certificate is checked.
    """

    def __init__(self, conf: SslServerConfig) -> None:
        settings: dict[str, Any] = conf.ocsp_settings
        self.is_leaf_only = conf.ocsp == LEAF
        self._may_miss = conf.ocsp_may_miss
        self._default = settings.get("responder", "")
        self._overrides = settings.get("override", False)
        self._skew = settings.get("skew", SKEW)
        self._max_age = settings.get("max_age", NO_MAX_AGE)
        self._timeout = settings.get("timeout", TIMEOUT)
        self._proxy = settings.get("proxy", "")
        self._has_nonce = settings.get("nonce", True)
        self._verifies = not settings.get("no_verify", False)
        file = settings.get("certificates", "")
        self._trusted = certificates(read(file)) if file else []

    def error_of(
        self, certificate: x509.Certificate, issuer: x509.Certificate | None, lines: list[LogLine]
    ) -> int:
        """Return OpenSSL's number of the error for a certificate of a client, 0 for a good one."""
        if certificate.issuer == certificate.subject and responses.is_issued_by(certificate, certificate):
            return 0  # valid and self-issued: its authority is trusted by the configuration
        urls = [] if self._overrides else responses.responder_urls(certificate)
        url = urls[0] if urls else self._default
        if not url:
            if self._may_miss:
                return 0
            text = "no OCSP responder specified in certificate and no default configured"
            lines.append(LogLine("debug", text, "AH01918", _MODULE))
            return UNDECIDED
        parts = split(url)
        if parts is None or parts.scheme.lower() != "http":
            code, text = ("AH01919", "failed to parse") if parts is None else ("AH01920", "cannot handle")
            lines.append(LogLine("debug", f"{text} OCSP responder URI '{url}'", code, _MODULE))
            return UNDECIDED
        if issuer is None:
            lines.append(_error("could not retrieve certificate id", "AH01921"))
            return UNDECIDED
        status = self._status(certificate, issuer, url, lines)
        return {ocsp.OCSPCertStatus.GOOD: 0, ocsp.OCSPCertStatus.REVOKED: REVOKED}.get(status, UNDECIDED)

    def _status(
        self, certificate: x509.Certificate, issuer: x509.Certificate, url: str, lines: list[LogLine]
    ) -> Any:
        """Return the status that a responder gives, None without one that can be relied on."""
        request = responses.build(certificate, issuer, has_nonce=self._has_nonce)
        try:
            data = exchange(Responder(url, self._proxy, self._timeout), responses.encoded(request))
            response = responses.parse(data)
            if not responses.is_successful(response):
                number = response.response_status.value
                lines.append(_error(f"OCSP response not successful: {number}", "AH01922"))
                return None
            return self._judged(response, request, issuer, lines)
        except ResponderError as problem:
            lines.append(problem.line)
        except responses.UnreadableResponse:
            lines.append(_error("failed to decode OCSP response data", "AH01988"))
        return None

    def _judged(
        self,
        response: ocsp.OCSPResponse,
        request: ocsp.OCSPRequest,
        issuer: x509.Certificate,
        lines: list[LogLine],
    ) -> Any:
        if self._has_nonce and not responses.has_nonce_of(response, request):
            lines.append(_error("Bad OCSP responder answer (bad nonce)", "AH01924"))
            return None
        if self._verifies and not responses.is_authentic(response, issuer, self._trusted):
            lines.append(_error("failed to verify the OCSP response", "AH01925"))
            return None
        one = responses.single(response, request)
        if one is None:
            lines.append(_error("failed to retrieve OCSP response status", "AH02272"))
            return None
        status = one.certificate_status
        is_valid = responses.is_valid_now(one, self._skew, self._max_age)
        if status is not ocsp.OCSPCertStatus.UNKNOWN and not is_valid:
            lines.append(_error("OCSP response outside validity period", "AH02273"))
        name, number = _NAMES[status]
        reason = -1 if one.revocation_reason is None else _REASONS.get(one.revocation_reason, -1)
        text = f"OCSP validation completed, certificate status: {name} ({number}, {reason})"
        level = "info" if status is ocsp.OCSPCertStatus.GOOD else "error"
        lines.append(LogLine(level, text, "AH03239", _MODULE))
        return status if is_valid else None


# numbers of reasons (RFC 5280, 5.3.1)
_REASONS: Final = {
    x509.ReasonFlags.unspecified: 0,
    x509.ReasonFlags.key_compromise: 1,
    x509.ReasonFlags.ca_compromise: 2,
    x509.ReasonFlags.affiliation_changed: 3,
    x509.ReasonFlags.superseded: 4,
    x509.ReasonFlags.cessation_of_operation: 5,
    x509.ReasonFlags.certificate_hold: 6,
    x509.ReasonFlags.remove_from_crl: 8,
    x509.ReasonFlags.privilege_withdrawn: 9,
    x509.ReasonFlags.aa_compromise: 10,
}


def _error(text: str, code: str) -> LogLine:
    return LogLine("error", text, code, _MODULE)
