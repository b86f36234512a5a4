"""The words of `whimbrel explain` that ask for the request of a probe again."""

from __future__ import annotations

from typing import Final

from whimbrel.verify.digest_user import OLD_DIGEST
from whimbrel.verify.probe import WRONG_PASSWORD, Probe

_LOCAL: Final = "127.0.0.1"
"""The address that `explain` connects to unless a virtual host has one of its own."""
WITHOUT_QOP: Final = "digest-without-qop"
"""The value of --auth for clients that know RFC 2069 only."""


def request_words(probe: Probe) -> tuple[str, ...]:
    """Return the URL and the options, with one character per byte; `lacking` names what has no words."""
    words = [probe.url, "--from", probe.client]
    words += ["--client-host", probe.client_host] if probe.client_host else []
    words += ["--host", probe.host] if probe.other_host else []
    words += ["--to", probe.address] if probe.address != _LOCAL else []
    words += ["--method", probe.method] if probe.method != "GET" else []
    user = probe.user
    if user is not None:
        secret = "" if user.is_password_valid else f":{WRONG_PASSWORD}"
        words += ["--user", f"{user.name}{secret}"]
        words += ["--auth", WITHOUT_QOP] if user.scheme == OLD_DIGEST else []
    return (*words, *(word for pair in probe.fields for word in ("--header", ": ".join(pair))))


def lacking(probe: Probe) -> str:
    """Return what *probe* has and no option of `whimbrel explain` gives, in words; "" for nothing."""
    names = [name for name, _ in probe.environment]
    if names:
        return f"the variable {' and '.join(names)}, which no line of the configuration sets"
    if probe.tls is not None and probe.tls.peer_certificate:
        return "the certificate of its client"
    if probe.protocol != "HTTP/1.1":
        return f"the version {probe.protocol}"
    return ""
