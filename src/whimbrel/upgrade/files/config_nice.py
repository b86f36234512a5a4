"""Translation of build/config.nice, the configure line of an installed httpd, from 2.2 to 2.4.

The file is a shell script: comments, exported variables, and the configure command with one quoted option on
each line.
"""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.source.built_in_modules import CONFIGURE_OPTION

RENAMED: Final = {"disk-cache": "cache-disk", "example": "example-hooks"}
"""Modules with another name in configure."""
GONE: Final = {
    "mem-cache": "mod_cache_socache caches in memory: --enable-cache-socache",
    "authn-default": "mod_authn_core replaces it",
    "authz-default": "mod_authz_core replaces it",
    "authn-alias": "mod_authn_core has AuthnProviderAlias",
}
DEFAULT: Final = frozenset(
    {
        "so",
        "authn-file",
        "authz-host",
        "authz-groupfile",
        "authz-user",
        "auth-basic",
        "include",
        "filter",
        "log-config",
        "env",
        "setenvif",
        "mime",
        "status",
        "autoindex",
        "dir",
        "alias",
        "negotiation",
        "reqtimeout",
        "headers",
        "expires",
        "deflate",
        "rewrite",
        "version",
        "authn-dbm",
        "authn-anon",
        "authn-dbd",
        "authz-dbm",
        "authz-owner",
        "auth-digest",
        "cache",
        "dbd",
        "ext-filter",
        "substitute",
        "logio",
        "unique-id",
        "vhost-alias",
        "speling",
        "actions",
        "userdir",
        "proxy",
        "proxy-connect",
        "proxy-ftp",
        "proxy-http",
        "proxy-ajp",
        "proxy-scgi",
        "proxy-balancer",
    }
)
"""Modules that 2.4 builds as shared objects by default ("most")."""
OFF_BY_DEFAULT: Final = frozenset({"asis", "imagemap", "cgi"})


@dataclass(frozen=True, slots=True)
class Translation:
    """The script for 2.4, and findings about its options, with the lines of the old one."""

    text: str
    findings: tuple[Finding, ...]


def translate(text: str, path: str = "build/config.nice") -> Translation:
    """Return the script for 2.4.

    Options that 2.4 lacks are removed, renamed ones replaced; everything else stays byte for byte.
    """
    lines = []
    findings = []
    names = set()
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        match = None if line.lstrip().startswith("#") else CONFIGURE_OPTION.search(line)
        if match is None:
            lines.append(line)
            continue
        names.add(f"{match[2]}-{match[3]}")
        translated, finding = _option(match, line, SourceLocation(path, number))
        lines.append(translated)
        findings += [finding] if finding is not None else []
    findings += _missing(names, SourceLocation(path, 1))
    return Translation("".join(lines), tuple(findings))


def _option(match: re.Match[str], line: str, place: SourceLocation) -> tuple[str, Finding | None]:
    """Return the line for 2.4 ("" if it is removed), and the finding about it."""
    verb = match[2]
    name = match[3]
    option = f"--{verb}-{name}"
    switch = verb in ("enable", "disable")
    if switch and name in RENAMED:
        translated = line.replace(option, f"--{verb}-{RENAMED[name]}")
        return translated, _finding(
            place, f"{option} is called --{verb}-{RENAMED[name]}", "use the new name", is_applied=True
        )
    if switch and name in GONE:
        return _without(line, match), _finding(
            place, f"{option} is gone: {GONE[name]}", "remove it", is_applied=True
        )
    if verb == "enable" and name in DEFAULT and match[4] in (None, "shared", "yes"):
        return line, _finding(place, f"{option} is the default", "keep it or remove it")
    if verb == "disable" and name in OFF_BY_DEFAULT:
        return line, _finding(place, f"{option} is the default", "keep it or remove it")
    if option == "--with-mpm":
        return line, _finding(
            place,
            f"--with-mpm={match[4]} compiles the MPM in: without it event is built",
            "--enable-mpms-shared=all builds all of them, to be chosen by LoadModule",
        )
    if option in ("--enable-modules", "--enable-mods-shared"):
        return line, _finding(
            place,
            f"{option}: modules are loaded from files now, and `most` is the default",
            "keep it or remove it; add LoadModule lines",
        )
    return line, None


def _without(line: str, match: re.Match[str]) -> str:
    """Return the line without its option, "" if it held nothing else."""
    rest = line[: match.start()] + line[match.end() :]
    return rest if rest.strip(" \t\r\n\\") else ""


def _missing(names: set[str], place: SourceLocation) -> list[Finding]:
    """Return findings about defaults of 2.2 that 2.4 does not have."""
    findings = []
    if "with-mpm" not in names and "enable-mpms-shared" not in names:
        findings.append(
            _finding(
                place,
                "no --with-mpm: 2.2 builds prefork, 2.4 builds event",
                "add --with-mpm=prefork to keep prefork",
            )
        )
    if "with-pcre" not in names:
        findings.append(
            _finding(
                place,
                "2.2 contains PCRE, 2.4 needs an installed one",
                "install it with its headers, or name it: --with-pcre=PATH",
            )
        )
    if "with-included-apr" in names or not {"with-apr", "with-included-apr"} & names:
        findings.append(
            _finding(
                place,
                "2.4 does not contain APR and APR-util",
                "put them into srclib/, or name the installed ones: --with-apr, --with-apr-util",
            )
        )
    return findings


def _finding(place: SourceLocation, message: str, advice: str, *, is_applied: bool = False) -> Finding:
    return Finding(
        "C01",
        place,
        message,
        advice,
        Risk.CHANGES if is_applied else Risk.COSMETIC,
        Safety.SAFE if is_applied else Safety.MANUAL,
    )
