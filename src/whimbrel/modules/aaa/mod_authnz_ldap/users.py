"""The users of a directory: who a request's user is, and with whose credentials the directory is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import upper
from whimbrel.engine.request import Request
from whimbrel.modules.aaa.mod_authnz_ldap.filters import MAX_FILTER, in_utf8, shown_filter, wire_filter
from whimbrel.modules.aaa.mod_authnz_ldap.settings import AuthnzLdapDirConfig, AuthnzLdapServerConfig
from whimbrel.modules.aaa.mod_authnz_ldap.url import LdapUrl
from whimbrel.modules.ldap.mod_ldap import worker_of
from whimbrel.modules.ldap.mod_ldap.directory import Credentials, Directory, Search, Subgroups
from whimbrel.modules.ldap.mod_ldap.results import SUCCESS, LdapResult
from whimbrel.modules.ldap.mod_ldap.worker import target_of
from whimbrel.registry.module import Scope

T = TypeVar("T")
MODULE_NAME: Final = "authnz_ldap"
_AUTHENTICATED: Final = "AUTHENTICATE_"


@dataclass(slots=True)
class LdapUser:
    """What is known of a request's user (httpd's authn_ldap_request_t).

    Attributes:
        dn: "" as long as it is unknown
        name: as the client sent it
        password: "" unless this module has verified it
        values: of the attributes of the URL
    """

    dn: str = ""
    name: str = ""
    password: str = ""
    values: tuple[str | None, ...] = ()


class FilterTooLong(Exception):
    """The filter with the user's name is longer than httpd's buffer; the text is its beginning."""


class Users:
    """The users of one AuthLDAPURL under merged settings."""

    def __init__(self, scope: Scope, url: LdapUrl) -> None:
        import ldap  # the extra is there: `check_extra`

        settings = scope.dir_config(AuthnzLdapDirConfig)
        self.settings = settings
        self.url = url
        scope_number = ldap.SCOPE_ONELEVEL if url.scope == "onelevel" else ldap.SCOPE_SUBTREE
        self.search = Search(url.text, url.base, scope_number, url.attributes)
        self.subgroups = Subgroups(
            settings.subgroup_attributes, settings.subgroup_classes, settings.subgroup_depth
        )
        self._target = target_of(scope, url.uris, settings.secure, settings.dereference)
        self._has_pid = scope.dialect.contexts_22
        self.own: Credentials = settings.bind_dn, settings.bind_password

    def log(self, r: Request, level: str, text: str, code: str) -> None:
        """Write a line of this module; those of 2.2 begin with the process number."""
        pid = f"[{r.engine.runtime.pid}] " if self._has_pid else ""
        r.log(level, pid + text, code=code, module=MODULE_NAME)

    async def query(self, r: Request, operation: Callable[[Directory], T]) -> T:
        """Return *operation* of the directory, run in a thread."""
        worker = worker_of(r.engine)
        directory = worker.directory(self._target)
        return await worker.run(r.engine.runtime, lambda: operation(directory))

    def filters(self, r: Request, user: str, wanted: str) -> tuple[str, str]:
        """Return the filter for *user* as it is logged and as it is sent; raises FilterTooLong."""
        name = in_utf8(user.partition("\0")[0], _charsets(r), r)
        shown = shown_filter(self.url.attribute, name, wanted)
        if len(shown) >= MAX_FILTER:
            raise FilterTooLong(shown[: MAX_FILTER - 1])
        return shown, wire_filter(self.url.attribute, name, wanted)

    def password_in_utf8(self, r: Request, password: str) -> str:
        """Return a password in the charset of the directory."""
        return in_utf8(password, _charsets(r), r)

    def credentials(self, user: LdapUser, *, searches: bool, compares: bool) -> Credentials:
        """Return whose credentials an authorization check uses: those of the user where that is set."""
        settings = self.settings
        is_own = (searches and not settings.searches_as_user) or (compares and not settings.compares_as_user)
        return self.own if is_own or not user.password else (user.dn, user.password)

    def first_credentials(self, r: Request, user: str, password: str) -> Credentials:
        """Return whose credentials the search for *user* uses (AuthLDAPInitialBindAsUser)."""
        if not self.settings.binds_as_user:
            return self.own
        name = user
        if self.settings.bind_pattern is not None:
            pattern, substitution = self.settings.bind_pattern
            match = pattern.search(user)
            if match is not None:
                name = substitution.apply(match)
            r.env["LDAP_BINDASUSER"] = name
        return name, password

    async def find(self, r: Request, user: LdapUser, credentials: Credentials) -> LdapResult:
        """Find the entry of a user whom another module has authenticated; raises FilterTooLong."""
        _, wire = self.filters(r, r.user or "", self.url.filter)
        found = await self.query(r, lambda directory: directory.find_user(self.search, wire, credentials))
        if found.code == SUCCESS:
            user.dn = found.dn
            user.name = r.user or ""
            user.values = found.values
        return found

    def set_variables(self, r: Request, values: tuple[str | None, ...], *, authenticated: bool) -> bool:
        """Set the attributes of the URL in the environment; return True if one of them became the user."""
        prefix = _AUTHENTICATED if authenticated else self.settings.prefix
        is_set = False
        for name, value in zip(self.url.attributes, values, strict=False):
            r.env[prefix + upper(name)] = value or ""
            if authenticated and self.settings.user_attribute == name and value is not None:
                r.user = value
                is_set = True
        return is_set


def _charsets(r: Request) -> dict[str, str]:
    return r.engine.main.config(AuthnzLdapServerConfig).charsets


def users_of(scope: Scope) -> Users | None:
    """Return the users of the merged settings; None without AuthLDAPURL."""
    url = scope.dir_config(AuthnzLdapDirConfig).url
    return None if url is None else Users(scope, url)


def user_of(r: Request, users: Users) -> LdapUser:
    """Return what is known of the request's user, made at the first call."""
    known: Any = None if r.request_config is None else r.request_config.get(MODULE_NAME)
    return known if known is not None else new_user(r, users)


def new_user(r: Request, users: Users) -> LdapUser:
    """Return a new record of the request's user."""
    if r.request_config is None:
        r.request_config = {}
    user = LdapUser()
    r.request_config[MODULE_NAME] = user
    users.log(r, "debug", "ldap authorize: Creating LDAP req structure", "AH01740")
    return user
