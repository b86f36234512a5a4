"""mod_proxy_fcgi's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, expression, one_of

CHECKS: dict[str, Rule] = {
    "proxyfcgisetenvif": expression('Could not parse expression "{0}"', string=False),
    "proxyfcgibackendtype": one_of("fpm generic", "ProxyFCGIBackendType requires one of the following arguments: 'GENERIC', 'FPM'"),
}
