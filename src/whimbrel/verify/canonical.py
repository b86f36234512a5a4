"""Canonical forms of lines: what versions spell otherwise, and what a version does without a line.

| table | content |
|---|---|
| `_RENAMED` | former names of directives |
| `_DEFAULTS` | arguments that say what a version does without the directive |
| `_LEGACY_NAMES` | the option that restores the names of certificates of 2.2 |
| `_RESTORED` | flags of rules that restore what 2.2 does with every URL |

Equal forms mean that the texts say the same; requests still compare what both versions do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from whimbrel.base.dialect import Dialect
from whimbrel.upgrade.rules.content.c33_filter_provider import expression
from whimbrel.upgrade.rules.modules.r11_fcgid_names import NAMES
from whimbrel.verify.config_lines import ConfigLine

Form = tuple[str, tuple[str, ...]]
"""The name of a directive in lower case, and its arguments."""
_RENAMED: Final[Mapping[str, str]] = {
    "maxclients": "maxrequestworkers",
    "maxrequestsperchild": "maxconnectionsperchild",
    **{old: new.lower() for old, new in NAMES.items()},
}
_WITHOUT_TYPE: Final = "expr=-z %{content_type}"
_LEGACY_NAMES: Final = "legacydnstringformat"
"""The option with which 2.4 writes the names of certificates as 2.2 always does."""
_RESTORED: Final = frozenset("bctls bnp unsafeallow3f unsafeprefixstat".split())
_OF_BOTH: Final[Mapping[str, str]] = {
    "adddefaultcharset": "off",
    "authbasicprovider": "file",
    "authdigestprovider": "file",
    "authformprovider": "file",
    "authldapcomparednonserver": "on",
    "authzsendforbiddenonfailure": "off",
    "cachedirlevels": "2",
    "directoryindex": "index.html",
    "indexignore": ".",
    "indexorderdefault": "ascending name",
    "multiviewsmatch": "negotiatedonly",
}
_DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {
    "2.2": {
        **_OF_BOTH,
        "allowoverride": "all",
        "defaulttype": "text/plain",
        "fileetag": "inode mtime size",
        "limitrequestbody": "0",
        "mergeslashes": "off",
        "options": "all",
        "requestreadtimeout": "body=0 header=0",
        "ssilegacyexprparser": "on",
        "ssloptions": f"+{_LEGACY_NAMES}",
        "sslcarevocationcheck": "chain no_crl_for_cert_ok",
        "sslproxycarevocationcheck": "chain no_crl_for_cert_ok",
        "sslproxycheckpeercn": "off",
        "sslproxycheckpeerexpire": "off",
        "sslproxycheckpeername": "off",
        "substitutemaxlinelength": "1g",
        "timeout": "300",
    },
    "2.4": {
        **_OF_BOTH,
        "allowoverridelist": "none",
        "defaulttype": "none",
        "fileetag": "mtime size",
        "limitrequestbody": "1073741824",
        "options": "followsymlinks",
        "requestreadtimeout": "body=20,minrate=500 header=20-40,minrate=500",
        "ssilegacyexprparser": "off",
        "sslcarevocationcheck": "none",
        "substitutemaxlinelength": "1m",
        "timeout": "60",
    },
}
_ALWAYS: Final[Mapping[str, Form]] = {"2.2": ("ssloptions", (f"+{_LEGACY_NAMES}",))}
"""What a version does wherever the line stands, whatever other lines of the directive say."""
_UNORDERED: Final = frozenset(("fileetag", "options", "requestreadtimeout"))
_FLAGS: Final = re.compile(r"\[([^\]]*)\]\Z")


def canonical(line: ConfigLine, dialect: Dialect) -> Form:
    """Return the canonical form of *line*, which is read under *dialect*."""
    name = _RENAMED.get(line.name, line.name)
    words = line.words()
    if name == "header" and len(words) == 4 and words[3].lower() == _WITHOUT_TYPE:
        if [word.lower() for word in words[:2]] == ["set", "content-type"]:
            return "defaulttype", (words[2],)
    if name == "ssloptions" and not dialect.tls_start_22:
        others = [word for word in words if word.lstrip("+").lower() != _LEGACY_NAMES]
        words = others or words
    if name == "filterprovider" and len(words) == 4:
        condition = expression(words[2], words[3])
        words = words if condition is None else [*words[:2], condition]
    if name == "rewriterule" and len(words) > 2 and not dialect.rewrite_22:
        flags = _without_restored(words[2])
        words = [*words[:2], flags, *words[3:]] if flags else [*words[:2], *words[3:]]
    return name, tuple(words)


def _without_restored(flags: str) -> str:
    found = _FLAGS.match(flags)
    if found is None:
        return flags
    remaining = [flag for flag in found[1].split(",") if flag.strip().lower() not in _RESTORED]
    return f"[{','.join(remaining)}]" if remaining else ""


def says_default(forms: Iterable[Form], dialect: Dialect) -> bool:
    """Return True if *forms*, lines of one directive, all say what *dialect* does without it."""
    defaults = _DEFAULTS.get(dialect.name, {})
    return all(_is_default(name, words, defaults) for name, words in forms)


def says_constant(form: Form, dialect: Dialect) -> bool:
    """Return True if *form* says what *dialect* does always."""
    name, words = form
    return _ALWAYS.get(dialect.name) == (name, tuple(word.lower() for word in words))


def _is_default(name: str, words: tuple[str, ...], defaults: Mapping[str, str]) -> bool:
    low = [word.lower() for word in words]
    return defaults.get(name) == " ".join(sorted(low) if name in _UNORDERED else low)
