"""Log lines of the errors of OpenSSL (ssl_log_ssl_error), as its error queue words them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from whimbrel.base.numbers import lower

_LIBRARY: Final = 20 << 23  # ERR_LIB_SSL, at its place in a number
# SSL_R_... of OpenSSL 3; Python's modules name reasons, not numbers
_REASONS: Final[Mapping[str, int]] = {
    "no suitable signature algorithm": 118,
    "certificate verify failed": 134,
    "https proxy request": 155,
    "http request": 156,
    "no protocols available": 191,
    "no shared cipher": 193,
    "peer did not return a certificate": 199,
    "record length mismatch": 213,
    "unexpected message": 244,
    "unsupported protocol": 258,
    "wrong version number": 267,
    "decryption failed or bad record mac": 281,
    "unexpected eof while reading": 294,
    "version too low": 396,
    "sslv3 alert handshake failure": 1040,
    "sslv3 alert bad certificate": 1042,
    "sslv3 alert certificate expired": 1045,
    "sslv3 alert certificate unknown": 1046,
    "tlsv1 alert unknown ca": 1048,
    "tlsv1 alert protocol version": 1070,
    "tlsv1 alert internal error": 1080,
}
_ANNOTATIONS: Final[Mapping[str, str]] = {
    "self signed certificate in certificate chain": "Client certificate signed by CA not known to server?",
    "peer did not return a certificate": "No CAs known to server for verification?",
    "no shared cipher": "Too restrictive SSLCipherSuite or using DSA server certificate?",
}


def library_text(problem: BaseException) -> str:
    """Return the line for *problem*, an error of ssl or of OpenSSL.SSL."""
    reason: object = getattr(problem, "reason", "") or (problem.args[0] if problem.args else problem)
    while isinstance(reason, list | tuple) and reason:
        reason = reason[-1]  # the last field of the last entry of the queue
    return library_line(lower(str(reason)).replace("_", " "))


def library_line(reason: str) -> str:
    """Return the line for a reason; without its number, if that is not among the known ones."""
    number = _REASONS.get(reason)
    shown = "" if number is None else f"{_LIBRARY | number:08X}:"
    annotation = _ANNOTATIONS.get(reason)
    return (
        f"SSL Library Error: error:{shown}SSL routines::{reason}{f' -- {annotation}' if annotation else ''}"
    )
