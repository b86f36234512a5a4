"""mod_auth_digest's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import strtol
from whimbrel.catalogue.checks.providers import authn_provider
from whimbrel.catalogue.checks.rules import Around, Rule, Said, Warner, always, by_version, one_of, only, when

SMALLEST = {"2.2": 168, "2.4": 88}


def _shmem_size(words: list[str], around: Around) -> str | None:
    """A number with B, K or M or nothing; at least room for one client."""
    value, unit, _ = strtol(words[0])
    scale = {"": 1, "B": 1, "K": 1024, "M": 1024 * 1024}.get(unit[:1].upper(), 0)
    if not scale:
        return f"Invalid size in AuthDigestShmemSize: {words[0]}"
    if value * scale < SMALLEST[around.version]:
        return f"size in AuthDigestShmemSize too small: {value * scale} < {SMALLEST[around.version]}"
    return None


CHECKS: dict[str, Rule] = {
    "authdigestalgorithm": by_version(one_of("md5 md5-sess", "Invalid algorithm in AuthDigestAlgorithm: {0}"),
                                      one_of("md5", "Unsupported algorithm in AuthDigestAlgorithm: {0}")),
    "authdigestnonceformat": always("AuthDigestNonceFormat is not implemented (yet)"),
    "authdigestnoncelifetime": when(lambda words, around: strtol(words[0])[1].strip() != "", "Invalid time in AuthDigestNonceLifetime: {0}"),
    "authdigestprovider": authn_provider,
    "authdigestqop": only("2.4", one_of("auth", "AuthDigestQop is deprecated: only 'auth' is supported")),
    "authdigestshmemsize": _shmem_size,
}

SESSION = Said("Digest: WARNING: algorithm `MD5-sess' is not supported on platforms without shared-memory support - reverting to MD5")
ENTITY = Said("Digest: WARNING: qop `auth-int' currently only works correctly for responses with no entity")
WARNINGS: dict[str, Warner] = {
    "authdigestalgorithm": lambda words, around: SESSION if around.version == "2.2" and words[0].lower() == "md5-sess" else None,
    "authdigestqop": lambda words, around: ENTITY if around.version == "2.2" and words[0].lower() == "auth-int" else None,
}
