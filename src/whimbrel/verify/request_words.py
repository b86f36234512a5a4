"""The words of `whimbrel explain` that ask for the request of a probe again."""

from __future__ import annotations

from typing import Final

from whimbrel.verify.probe import Probe

_LOCAL: Final = "127.0.0.1"
"""The address that `explain` connects to unless a virtual host has one of its own."""


def request_words(probe: Probe) -> tuple[str, ...]:
    """Return the URL and the options, with one character per byte; variables of *probe* and a certificate
    have no words.
    """
    words = [probe.url, "--from", probe.client]
    words += ["--client-host", probe.client_host] if probe.client_host else []
    words += ["--host", probe.host] if probe.other_host else []
    words += ["--to", probe.address] if probe.address != _LOCAL else []
    words += ["--method", probe.method] if probe.method != "GET" else []
    words += ["--user", probe.user.name] if probe.user is not None else []
    return (*words, *(word for pair in probe.fields for word in ("--header", ": ".join(pair))))
