"""mod_proxy_fcgi's argument rules; the condition of ProxyFCGISetEnvIf is judged where expressions are compiled."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, one_of

CHECKS: dict[str, Rule] = {
    "proxyfcgibackendtype": one_of("fpm generic", "ProxyFCGIBackendType requires one of the following arguments: 'GENERIC', 'FPM'"),
}
