"""Stapling: responses of OCSP responders about a server's own certificates, sent in handshakes.

A worker has one response of each certificate in memory.  The callback of the library fetches a new one where
there is none, so handshakes that need one run in threads (`needs_fetch`).  httpd: ssl_util_stapling.c.
"""

from __future__ import annotations

from threading import Lock
from time import time
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp

from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.modules.ssl.mod_ssl import ocsp_responses as responses
from whimbrel.modules.ssl.mod_ssl.key_files import KeyPair
from whimbrel.modules.ssl.mod_ssl.ocsp_client import Responder, ResponderError, exchange
from whimbrel.modules.ssl.mod_ssl.start_messages import Line

MAX_RESPONSE: Final = 10240  # bytes of a response (MAX_STAPLING_DER)
SKEW = 300
TIMEOUT = 10
NO_MAX_AGE = -1
CACHED = 3600
CACHED_ERROR = 600
_MODULE: Final = "ssl"
TRY_LATER: Final = ocsp.OCSPResponseStatus.TRY_LATER


class _Entry:
    """The response about one certificate.

    Attributes:
        certificate, issuer, url: the responder's URL is "" without one.
        data: the response in DER, b"" without one; `is_good`: it was valid when it came.
        expires: time after which it is fetched anew.
    """

    __slots__ = ("certificate", "data", "expires", "is_good", "issuer", "lock", "request", "url")

    def __init__(self, certificate: x509.Certificate, issuer: x509.Certificate, url: str) -> None:
        self.certificate = certificate
        self.issuer = issuer
        self.url = url
        self.request = responses.build(certificate, issuer, has_nonce=False)
        self.lock = Lock()
        self.data = b""
        self.is_good = False
        self.expires = 0.0


class Stapling:
    """The responses for one server's certificates, and how new ones are fetched; safe in threads."""

    def __init__(self, settings: dict[str, Any], proxy: str) -> None:
        self._skew = settings.get("skew", SKEW)
        self._max_age = settings.get("max_age", NO_MAX_AGE)
        self._cached = settings.get("cached", CACHED)
        self._cached_error = settings.get("cached_error", CACHED_ERROR)
        self._returns_errors = settings.get("return_errors", True)
        self._fakes = settings.get("fake_try_later", True)
        self._url = settings.get("url", "")
        self._proxy = proxy
        self._timeout = settings.get("timeout", TIMEOUT)
        self._entries: dict[bytes, _Entry] = {}

    def add(self, pair: KeyPair, authorities: list[x509.Certificate], server: str) -> list[Line]:
        """Add a certificate; return lines about one without responses (ssl_stapling_init_cert)."""
        certificate, *chain = [x509.load_der_x509_certificate(der) for der in pair.chain]
        candidates = [*chain, *authorities]
        issuer = next((one for one in candidates if responses.is_issued_by(certificate, one)), None)
        if issuer is None:
            return [Line("error", "AH02217", "ssl_stapling_init_cert: can't retrieve issuer certificate!")]
        url = (responses.responder_urls(certificate) or [""])[-1]
        if not (url or self._url):
            text = (
                "ssl_stapling_init_cert: no OCSP URI in certificate and no SSLStaplingForceURL configured "
                f"for server {server}"
            )
            return [Line("error", "AH02814", text)]
        self._entries[pair.chain[0]] = _Entry(certificate, issuer, self._url or url)
        return []

    def needs_fetch(self) -> bool:
        """Return True if the next handshake may have to wait for a responder."""
        now = time()
        return any(entry.expires <= now for entry in self._entries.values())

    def response(self, der: bytes, lines: list[LogLine]) -> bytes:
        """Return the response about a certificate for a client that wants it, b"" for none (stapling_cb)."""
        entry = self._entries.get(der)
        if entry is None:
            text = "stapling_get_certinfo: stapling not supported for certificate"
            lines.append(LogLine("info", text, "AH01926", _MODULE))
            return b""
        with entry.lock:
            if entry.expires <= time() or (entry.is_good and not self._check(entry, entry.data, [])):
                self._renew(entry, lines)
            return entry.data if entry.is_good or self._returns_errors else b""

    def _renew(self, entry: _Entry, lines: list[LogLine]) -> None:
        """Fetch a response (stapling_renew_response)."""
        entry.data = b""
        entry.is_good = False
        if not entry.url.startswith("http://"):
            text = f"stapling_renew_response: Unsupported uri {entry.url}"
            lines.append(LogLine("error", text, "AH01940", _MODULE))
            entry.expires = time() + self._cached_error
            return
        try:
            responder = Responder(entry.url, self._proxy, self._timeout)
            data = exchange(responder, responses.encoded(entry.request))
            responses.parse(data)
        except (ResponderError, responses.UnreadableResponse) as problem:
            known = problem.line if isinstance(problem, ResponderError) else _undecoded()
            text = "stapling_renew_response: responder error"
            lines += [known, LogLine("error", text, "AH01941", _MODULE)]
            data = (
                ocsp.OCSPResponseBuilder.build_unsuccessful(TRY_LATER).public_bytes(Encoding.DER)
                if self._fakes
                else b""
            )
        else:
            entry.is_good = self._check(entry, data, lines)
        if len(data) >= MAX_RESPONSE:
            text = f"OCSP stapling response too big ({len(data) + 1} bytes)"
            lines.append(LogLine("error", text, "AH01928", _MODULE))
            data = b""
            entry.is_good = False
        entry.data = data
        entry.expires = time() + (self._cached if entry.is_good else self._cached_error)

    def _check(self, entry: _Entry, data: bytes, found: list[LogLine]) -> bool:
        """Return True if a response is valid; *found* gets the lines about one that is not."""
        try:
            response = responses.parse(data)
            if not responses.is_successful(response):
                return False
            one = responses.single(response, entry.request)
        except responses.UnreadableResponse:
            found.append(_error("stapling_check_response: Error Parsing Response!", "AH01934"))
            one = None
        else:
            if one is None:
                text = "stapling_check_response: certificate ID not present in response!"
                found.append(_error(text, "AH01935"))
            elif not responses.is_valid_now(one, self._skew, self._max_age):
                found.append(_error("stapling_check_response: response times invalid", "AH01936"))
            elif one.certificate_status is not ocsp.OCSPCertStatus.GOOD:
                found.append(_error(_bad_status(one), "AH02969"))
                if self._returns_errors:
                    return True
            else:
                return True
        found.append(_error("stapling_renew_response: error in retrieved response!", "AH01943"))
        return False


def _error(text: str, code: str) -> LogLine:
    return LogLine("error", text, code, _MODULE)


def _undecoded() -> LogLine:
    return _error("failed to decode OCSP response data", "AH01988")


def _bad_status(one: ocsp.OCSPSingleResponse) -> str:
    is_revoked = one.certificate_status is ocsp.OCSPCertStatus.REVOKED
    reason = "n/a" if not is_revoked or one.revocation_reason is None else one.revocation_reason.value
    return (
        f"stapling_check_response: response has certificate status {'revoked' if is_revoked else 'unknown'} "
        f"(reason: {reason}) for serial number {one.serial_number:X}"
    )
