"""Rules about providers of loaded modules: authentication sources and shared object caches."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import strtol
from whimbrel.catalogue.checks.rules import CheckContext

AUTHN = {
    "file": "authn_file_module",
    "dbm": "authn_dbm_module",
    "dbd": "authn_dbd_module",
    "anon": "authn_anon_module",
    "ldap": "authnz_ldap_module",
    "socache": "authn_socache_module",
}
SOCACHE = {
    "shmcb": "shmcb",
    "default": "shmcb",
    "dbm": "dbm",
    "memcache": "memcache",
    "redis": "redis",
    "dc": "dc",
}


def authn_provider(words: list[str], around: CheckContext) -> str | None:
    """The arguments are names of authn providers of loaded modules or aliases."""
    for word in words:
        if word not in around.providers and AUTHN.get(word) not in around.loaded:
            return f"Unknown Authn provider: {word}"
    return None


MIN_SEGMENT = 8192
MAX_SEGMENT = {"2.2": 67108864, "2.4": 4294967295}


def segment_error(text: str, around: CheckContext) -> str | None:
    """Return the error in PATH(SIZE) of a shared memory segment, as shmcb parses it; 2.2 ignores the rest of
    the text.
    """
    _, parenthesis, number = text.partition("(")
    if not parenthesis:
        return None
    size, closing, rest = number.partition(")")
    is_22 = around.version == "2.2"
    if not closing or (rest and not is_22):
        return "Invalid argument: no closing parenthesis" + (
            "" if is_22 else " or cache size missing after pathname with parenthesis"
        )
    if not is_22 and strtol(size)[1]:
        return "Invalid argument: cache size not numerical"
    if strtol(size)[0] < MIN_SEGMENT:
        return f"Invalid argument: size has to be >= {MIN_SEGMENT} bytes"
    largest = MAX_SEGMENT[around.version]
    return (
        f"Invalid argument: size has to be < {largest} bytes on this platform"
        if strtol(size)[0] >= largest
        else None
    )
