"""Operations on a directory, with cached results: httpd's uldap_cache_* functions.

All of them block; callers run them in threads (`Runtime.in_thread`). None raises: errors are outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import ldap

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.ldap.mod_ldap.cache import Caches
from whimbrel.modules.ldap.mod_ldap.connections import (
    Connections,
    Failed,
    LdapConnection,
    Target,
    call,
    texts,
    utf8,
)
from whimbrel.modules.ldap.mod_ldap.results import (
    COMPARE_FALSE,
    COMPARE_TRUE,
    INVALID_CREDENTIALS,
    NO_SUCH_ATTRIBUTE,
    NO_SUCH_OBJECT,
    SUCCESS,
    LdapResult,
)

_COMPARISONS: Final = {
    COMPARE_TRUE: "Comparison true",
    COMPARE_FALSE: "Comparison false",
    NO_SUCH_ATTRIBUTE: "Comparison no such attribute",
}
_MAX_SUBGROUPS: Final = 1024  # groups looked at for one request: groups may contain each other
_MAX_DEPTH: Final = 100  # levels of groups in groups, whatever AuthLDAPMaxSubGroupDepth allows
Credentials = tuple[str | None, str | None]  # DN and password to bind with; None for anonymous
Found = tuple[str, list[str | None], str]  # DN, values, digest of the password or ""


@dataclass(frozen=True, slots=True)
class Search:
    """Where and for what a user is searched.

    Attributes:
        url: AuthLDAPURL, which tells the cached results of directories apart
        base: DN; scope: ldap.SCOPE_...
        attributes: names; () for all, whose values are not returned
    """

    url: str
    base: str
    scope: int
    attributes: tuple[str, ...]

    def key(self, wanted: str) -> tuple[Any, ...]:
        """Return the key of the user whom the filter *wanted* finds."""
        return self.url, self.base, self.scope, self.attributes, wanted


@dataclass(frozen=True, slots=True)
class Subgroups:
    """How groups contain groups: *attributes* name members, *classes* tell groups; at most *depth* levels."""

    attributes: tuple[str, ...]
    classes: tuple[str, ...]
    depth: int


class Directory:
    """A directory, reached by *connections* with the caches of the server."""

    def __init__(self, connections: Connections, caches: Caches, target: Target) -> None:
        self._connections = connections
        self._caches = caches
        self._target = target

    # users --------------------------------------------------------------------------------------
    def check_user(self, search: Search, wanted: str, password: str, bind_as: Credentials) -> LdapResult:
        """Return the user whom the filter *wanted* finds if *password* is theirs (uldap_cache_checkuserid).

        *bind_as*: DN and password to search with; None for anonymous.
        """
        if not password:
            return LdapResult(INVALID_CREDENTIALS, "Empty password not allowed")
        key = search.key(wanted)
        known = self._known_user(key, password)
        if known is not None:
            return known
        with self._caches.searches.serialized((*key, password)):
            cached = self._known_user(key, password, is_repeated=True)
            return cached or self._authenticate(search, wanted, password, bind_as)

    def _known_user(
        self, key: tuple[Any, ...], password: str, *, is_repeated: bool = False
    ) -> LdapResult | None:
        """Return the cached user of *key* with *password*."""
        known: Found | None = self._caches.searches.get(key, is_repeated=is_repeated)
        if known is None or not known[2]:
            return None
        if not self._caches.searches.is_password(key, known[2], password):
            return None
        return LdapResult(SUCCESS, "Authentication successful (cached)", "", known[0], tuple(known[1]))

    def _authenticate(self, search: Search, wanted: str, password: str, bind_as: Credentials) -> LdapResult:
        """Search the user and bind with *password*; cache a success."""
        key = search.key(wanted)
        with _Borrowed(self._connections, self._target, bind_as) as connection:
            found = _find_one(connection, search, wanted)
            if found.code != SUCCESS:
                return found
            verified = connection.verify(found.dn, password)
            if verified.code != SUCCESS:
                return verified._replace(dn=found.dn)
        self._remember(key, found, self._caches.searches.hash_password(key, password))
        return found._replace(reason=verified.reason)

    def find_user(self, search: Search, wanted: str, bind_as: Credentials) -> LdapResult:
        """Return the one entry that the filter *wanted* finds (uldap_cache_getuserdn)."""
        key = search.key(wanted)
        known: Found | None = self._caches.searches.get(key)
        if known is not None:
            return LdapResult(SUCCESS, "Search successful (cached)", "", known[0], tuple(known[1]))
        with _Borrowed(self._connections, self._target, bind_as) as connection:
            found = _find_one(connection, search, wanted)
        if found.code == SUCCESS:
            self._remember(key, found, "")
            return found._replace(reason="Search successful")
        return found

    def _remember(self, key: tuple[Any, ...], found: LdapResult, secret: str) -> None:
        self._caches.searches.put(key, (found.dn, found.values, secret))

    # comparisons --------------------------------------------------------------------------------
    def compare(self, url: str, dn: str, attribute: str, value: str, bind_as: Credentials) -> LdapResult:
        """Ask whether the entry *dn* has *attribute* with *value* (uldap_cache_compare)."""
        key = url, dn, attribute, value
        known: int | None = self._caches.comparisons.get(key)
        if known is not None:
            return LdapResult(known, f"{_COMPARISONS[known]} (cached)")
        with _Borrowed(self._connections, self._target, bind_as) as connection:
            try:
                name = utf8(dn)
                is_equal = connection.operate(
                    "ldap_compare_s()",
                    lambda handle: call(handle.compare_s, name, attribute, to_bytes(value)),
                )
                code = COMPARE_TRUE if is_equal else COMPARE_FALSE
                text = ""
            except Failed as problem:
                code = problem.code
                text = problem.text
                reason = connection.reason if problem.is_server_down else "Comparison complete"
        if code not in _COMPARISONS:
            return LdapResult(code, reason, text)
        self._caches.comparisons.put(key, code)
        return LdapResult(code, f"{_COMPARISONS[code]} (adding to cache)", text)

    def compare_names(
        self, url: str, dn: str, required: str, on_server: bool, bind_as: Credentials
    ) -> LdapResult:
        """Ask whether *required* is the DN of the entry *dn* (uldap_cache_comparedn).

        *on_server*: by the name that the directory gives the required entry, else by the text.
        """
        if not on_server:
            is_equal = dn == required
            word = "TRUE" if is_equal else "FALSE"
            return LdapResult(
                COMPARE_TRUE if is_equal else COMPARE_FALSE, f"DN Comparison {word} (direct strcmp())"
            )
        if self._caches.names.get((url, required)) == dn:
            return LdapResult(COMPARE_TRUE, "DN Comparison TRUE (cached)")
        with _Borrowed(self._connections, self._target, bind_as) as connection:
            try:
                name = utf8(required)
                entries = connection.operate(
                    "DN Comparison ldap_search_ext_s()",
                    lambda handle: _search(
                        handle, (name, ldap.SCOPE_BASE, "(objectclass=*)", None, 1), self._target
                    ),
                )
            except Failed as problem:
                return LdapResult(problem.code, connection.reason, problem.text)
        if not entries or _name(entries[0]) != dn:
            return LdapResult(COMPARE_FALSE, "DN Comparison FALSE (checked on server)")
        self._caches.names.put((url, required), dn)
        return LdapResult(COMPARE_TRUE, "DN Comparison TRUE (checked on server)")

    # groups in groups ---------------------------------------------------------------------------
    def check_subgroups(
        self,
        url: str,
        group: tuple[str, str, str],
        subgroups: Subgroups,
        bind_as: Credentials,
    ) -> LdapResult:
        """Ask whether a group below *group* (DN, attribute, member) has the member
        (uldap_cache_check_subgroups).
        """
        return _GroupWalk(self, url, group[1:], subgroups, bind_as).below(group[0], 0)

    def subgroups_of(self, url: str, dn: str, subgroups: Subgroups, bind_as: Credentials) -> tuple[str, ...]:
        """Return the DNs of the groups that the group *dn* contains, the last one first, as httpd does."""
        key = url, dn, subgroups.attributes, subgroups.classes
        known: list[str] | None = self._caches.subgroups.get(key)
        if known is not None:
            return tuple(known)
        with _Borrowed(self._connections, self._target, bind_as) as connection:
            try:
                name = utf8(dn)
                entries = connection.operate(
                    "ldap_search_ext_s() for subgroups",
                    lambda handle: _search(
                        handle, (name, ldap.SCOPE_BASE, "cn=*", list(subgroups.attributes), 0), self._target
                    ),
                )
            except Failed:
                return ()
        members = [
            to_text(value)
            for attribute in subgroups.attributes
            for value in _attribute(entries[0][1] if entries else {}, attribute)
        ]
        found = tuple(
            reversed(
                [
                    name
                    for name in members
                    if self.is_group(url, name, subgroups, bind_as).code == COMPARE_TRUE
                ]
            )
        )
        self._caches.subgroups.put(key, found)
        return found

    def is_group(self, url: str, dn: str, subgroups: Subgroups, bind_as: Credentials) -> LdapResult:
        """Ask whether the entry *dn* has one of the classes of groups."""
        found = LdapResult(COMPARE_FALSE, "")
        for name in subgroups.classes:
            found = self.compare(url, dn, "objectClass", name, bind_as)
            if found.code == COMPARE_TRUE:
                break
        return found


class _GroupWalk:
    """One walk through groups in groups."""

    def __init__(
        self,
        directory: Directory,
        url: str,
        member: Sequence[str],
        subgroups: Subgroups,
        bind_as: Credentials,
    ) -> None:
        self._directory = directory
        self._url = url
        self._member = member
        self._subgroups = subgroups
        self._bind_as = bind_as
        self._left = _MAX_SUBGROUPS
        self._reason = ""  # of the last operation

    def below(self, dn: str, depth: int) -> LdapResult:
        """Return whether a group below *dn* has the member."""
        if depth >= min(self._subgroups.depth, _MAX_DEPTH):
            return LdapResult(COMPARE_FALSE, self._reason)
        directory = self._directory
        url = self._url
        bind_as = self._bind_as
        found = directory.is_group(url, dn, self._subgroups, bind_as)
        self._reason = found.reason
        if found.code != COMPARE_TRUE:
            self._reason = "DN failed group verification."
            return found._replace(reason=self._reason)
        attribute, value = self._member
        for group in directory.subgroups_of(url, dn, self._subgroups, bind_as):
            self._left -= 1
            if self._left < 0:
                break
            found = directory.compare(url, group, attribute, value, bind_as)
            self._reason = found.reason
            if found.code != COMPARE_TRUE:
                found = self.below(group, depth + 1)
            if found.code == COMPARE_TRUE:
                return found
        return LdapResult(COMPARE_FALSE, self._reason)


class _Borrowed:
    """A connection for the time of one operation."""

    def __init__(self, connections: Connections, target: Target, bind_as: Credentials) -> None:
        self._connections = connections
        self.connection = connections.take(target, *bind_as)

    def __enter__(self) -> LdapConnection:
        return self.connection

    def __exit__(self, *_problem: object) -> None:
        self._connections.give(self.connection)


def _search(handle: Any, query: tuple[str, int, str, list[str] | None, int], target: Target) -> list[Any]:
    """Return the entries of a search, without referrals; raises Failed."""
    found = call(handle.search_ext_s, *query, None, None, target.timeout or -1)
    return [(dn, attributes) for dn, attributes in found if dn is not None]


def _find_one(connection: LdapConnection, search: Search, wanted: str) -> LdapResult:
    """Return the one entry of *search* that the filter *wanted* finds."""
    what = "ldap_search_ext_s() for user"
    try:
        base = utf8(search.base)
        filter_text = utf8(wanted)
        names = list(search.attributes) or None
        entries = connection.operate(
            what,
            lambda handle: _search(handle, (base, search.scope, filter_text, names, 0), connection.target),
        )
    except Failed as problem:
        return LdapResult(problem.code, connection.reason, problem.text)
    if len(entries) != 1:
        several = "User is not unique (search found two or more matches)"
        return LdapResult(NO_SUCH_OBJECT, several if entries else "User not found")
    values = tuple(texts(_attribute(entries[0][1], name)) for name in search.attributes)
    return LdapResult(SUCCESS, "", "", _name(entries[0]), values)


def _name(entry: tuple[str, Any]) -> str:
    return to_text(entry[0].encode())


def _attribute(attributes: dict[str, list[bytes]], name: str) -> list[bytes]:
    """Return the values of an attribute, whose name has any case."""
    found = attributes.get(name)
    if found is None:
        low = name.lower()
        found = next((values for key, values in attributes.items() if key.lower() == low), None)
    return found or []
