"""Accounts of this machine; a system without those of Unix has none.

The tools read configurations on machines where the modules pwd and grp do not exist. There no name and no
number is known, as on a Unix machine that lacks the account.
"""

from __future__ import annotations

import os

from whimbrel.base.static_typing import TYPE_CHECKING

try:
    import grp
    import pwd

    HAS_ACCOUNTS = True
except ImportError:
    HAS_ACCOUNTS = False

if TYPE_CHECKING:
    from grp import struct_group
    from pwd import struct_passwd


def user_named(name: str) -> struct_passwd:
    """Return the user *name*; raises KeyError and ValueError."""
    if not HAS_ACCOUNTS:
        raise KeyError(name)
    return pwd.getpwnam(name)


def user_numbered(number: int) -> struct_passwd:
    """Return the user with the ID *number*; raises KeyError."""
    if not HAS_ACCOUNTS:
        raise KeyError(number)
    return pwd.getpwuid(number)


def all_users() -> list[struct_passwd]:
    """Return all users of the machine."""
    return pwd.getpwall() if HAS_ACCOUNTS else []


def group_named(name: str) -> struct_group:
    """Return the group *name*; raises KeyError and ValueError."""
    if not HAS_ACCOUNTS:
        raise KeyError(name)
    return grp.getgrnam(name)


def group_numbered(number: int) -> struct_group:
    """Return the group with the ID *number*; raises KeyError."""
    if not HAS_ACCOUNTS:
        raise KeyError(number)
    return grp.getgrgid(number)


def effective_user() -> int:
    """Return the user ID of this process; 0 without accounts, as the owner of every file."""
    return os.geteuid() if HAS_ACCOUNTS else 0


def effective_group() -> int:
    """Return the group ID of this process; 0 without accounts."""
    return os.getegid() if HAS_ACCOUNTS else 0
