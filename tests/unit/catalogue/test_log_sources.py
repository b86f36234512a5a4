"""Locations in httpd's sources, as 2.4.71 logged them."""

from __future__ import annotations

import pytest

from whimbrel.catalogue.log_sources import source_of


@pytest.mark.parametrize(
    ("module", "code", "text", "source"),
    [
        (
            "authz_core",
            "AH01626",
            "authorization result of Require all denied: denied",
            "mod_authz_core.c(815)",
        ),
        ("core", "AH02427", "Request header value is malformed: a", "protocol.c(1310)"),
        ("rewrite", "", "init rewrite engine with requested uri /old", "mod_rewrite.c(5016)"),
        ("rewrite", "", "pass through /den", "mod_rewrite.c(5244)"),
        ("rewrite", "", "perdir pass through /srv/den", "mod_rewrite.c(5616)"),
        ("rewrite", "", "perdir applying pattern '^x' to uri 'y'", "mod_rewrite.c(4407)"),
        ("core", "AH99999", "nobody says this", ""),
        ("none", "", "nobody says this", ""),
    ],
)
def test_the_place_of_a_message(module: str, code: str, text: str, source: str) -> None:
    assert source_of(module, code, text) == source
