"""Variables and functions that mod_ssl adds to expressions: ``%{SSL_...}``, ``%{SSL:...}``, PeerExtList."""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.directives.spec import Versions
from whimbrel.expr.library import ExprFunction, ExprVariable, ListFunction
from whimbrel.registry.module import Provider

_PREFIX: Final = "SSL_"


def find_variable(name: str) -> ExprVariable | None:
    """Return the variable *name*, in upper case, if it is one of mod_ssl."""
    return ExprVariable(lambda e: _value(e, name)) if name.startswith(_PREFIX) else None


def _value(e: Any, name: str) -> str:
    from whimbrel.modules.ssl.mod_ssl.variables import lookup  # -t evaluates nothing

    return lookup(e.request, name)


def _extensions(e: Any, name: str) -> list[str]:
    if e.request.connection.tls is None:
        return []
    from whimbrel.modules.ssl.mod_ssl.extensions import peer_extensions  # needs an optional library

    return peer_extensions(e.request, name)


PROVIDERS: Final = (
    Provider("expr_variables", "ssl", find_variable, Versions.V24),
    Provider("expr_function", "ssl", ExprFunction(_value), Versions.V24),
    Provider("expr_list", "peerextlist", ListFunction(_extensions), Versions.V24),
)
