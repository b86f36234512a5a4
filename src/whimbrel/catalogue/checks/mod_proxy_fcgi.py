"""mod_proxy_fcgi's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import CheckContext, Rule, expression, first, one_of, when


def _unset_with_value(words: list[str], around: CheckContext) -> bool:
    """Return True if a value follows ``!NAME``, which removes a variable."""
    return len(words) > 2 and words[1].startswith("!")


CHECKS: dict[str, Rule] = {
    "proxyfcgisetenvif": first(
        expression('Could not parse expression "{0}"', string=False),
        when(
            _unset_with_value,
            'Third argument ("{2}") is not allowed when using ProxyFCGISetEnvIf\'s unset mode ({1})',
        ),
        expression('Could not parse expression "{2}"', string=True, at=2),
    ),
    "proxyfcgibackendtype": one_of(
        "fpm generic", "ProxyFCGIBackendType requires one of the following arguments: 'GENERIC', 'FPM'"
    ),
}
