"""A client of HTTP/2 that sends what it is given, and shows what it gets: h2 without its checks of fields."""

from __future__ import annotations

from h2.config import H2Configuration
from h2.connection import H2Connection


def lenient_client() -> H2Connection:
    """Return the state of a connection; no field is checked or changed in either direction."""
    return H2Connection(
        H2Configuration(
            header_encoding="latin-1",
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
            validate_inbound_headers=False,
        )
    )
