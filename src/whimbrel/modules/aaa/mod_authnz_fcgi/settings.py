"""Settings of mod_authnz_fcgi."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.engine.expressions import StringExpression
from whimbrel.registry.settings import setting

GROUP: Final = "authnz_fcgi"  # of applications, by name


@dataclass(frozen=True, slots=True)
class Application:
    """A FastCGI authorizer: AuthnzFcgiDefineProvider.

    Attributes:
        backend: the URL as written. `addresses`: of its host, with the port.
    """

    name: str
    backend: str
    addresses: tuple[tuple[str, int], ...]
    is_authn: bool
    is_authz: bool


@dataclass(slots=True)
class AuthnzFcgiDirConfig:
    """AuthnzFcgiCheckAuthnProvider; a section that has it takes nothing from the outer ones.

    Attributes:
        name: of the application, "" or ``None`` for none.
        default_user: the user if *user* gives none; None: that is an error.
        user: the expression that gives the user; None: the user is left alone.
    """

    name: str = setting("")
    is_authoritative: bool = setting(True)
    requires_basic: bool = setting(False)
    default_user: str | None = setting(None)
    user: StringExpression | None = setting(None)

    def merge_onto(self, base: AuthnzFcgiDirConfig) -> AuthnzFcgiDirConfig:
        """Return this record if it names an application, else *base*."""
        return self if self.name else base
