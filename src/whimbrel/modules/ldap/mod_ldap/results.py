"""Result codes of LDAP (RFC 4511, 4.1.9; below zero: of the client library) and the texts of libldap.

`LdapResult` is what each operation of `directory` returns: code, and the reason that httpd logs.
"""

from __future__ import annotations

from typing import Final, NamedTuple

SUCCESS: Final = 0
TIMEOUT: Final = -5
FILTER_ERROR: Final = -7
SERVER_DOWN: Final = -1
UNAVAILABLE: Final = 52
OTHER: Final = 80
COMPARE_FALSE: Final = 5
COMPARE_TRUE: Final = 6
NO_SUCH_ATTRIBUTE: Final = 16
CONSTRAINT_VIOLATION: Final = 19
NO_SUCH_OBJECT: Final = 32
INVALID_DN_SYNTAX: Final = 34
INVALID_CREDENTIALS: Final = 49
# LDAP_SECURITY_ERROR: the credentials are refused, as opposed to a fault of the directory
SECURITY_ERRORS: Final = range(47, 51)

_TEXTS: Final = {
    SUCCESS: "Success",
    TIMEOUT: "Timed out",
    FILTER_ERROR: "Bad search filter",
    SERVER_DOWN: "Can't contact LDAP server",
    UNAVAILABLE: "Server is unavailable",
    OTHER: "Internal (implementation specific) error",
    COMPARE_FALSE: "Compare False",
    COMPARE_TRUE: "Compare True",
    NO_SUCH_ATTRIBUTE: "No such attribute",
    CONSTRAINT_VIOLATION: "Constraint violation",
    NO_SUCH_OBJECT: "No such object",
    INVALID_DN_SYNTAX: "Invalid DN syntax",
    INVALID_CREDENTIALS: "Invalid credentials",
}


class LdapResult(NamedTuple):
    """The end of an operation.

    Attributes:
        code: result code
        reason: what httpd's messages say of it
        text: libldap's text of the code (ldap_err2string)
        dn: of the entry that was found
        values: of the wanted attributes, several values joined by ``; ``; None for a missing attribute
    """

    code: int
    reason: str
    text: str = ""
    dn: str = ""
    values: tuple[str | None, ...] = ()

    @property
    def description(self) -> str:
        """Return libldap's text of the code."""
        return self.text or _TEXTS.get(self.code, "Unknown error")
