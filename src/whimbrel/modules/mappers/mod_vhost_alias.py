"""mod_vhost_alias: document roots and script directories built from the host's name or address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.engine import identity
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import DECLINED, OK, TRANSLATE_NAME, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

MAX_PARTS = 19
_PIECE = re.compile(r"%(?:%|p|(-?)(\d)(\+?)(?:\.(-?)(\d)(\+?))?)")
_GOOD = re.compile(r"%(?:%|p|-?\d\+?(?:\.-?\d\+?)?)")
_HALF = re.compile(r"%-?\d\+?\.(?!-?\d)")
Map = tuple[str, bool]  # format, True if it uses the address in place of the name


@dataclass(slots=True)
class VhostAliasServerConfig:
    """Per-server settings; None: not used."""

    root: Map | None = setting(None)
    scripts: Map | None = setting(None)


def _setter(field: str, by_address: bool) -> Setter:
    def apply(cmd: Command, conf: object, words: list[str]) -> None:
        text = words[0]
        if lower(text) == "none":
            setattr(conf, field, None)
            return
        if not text.startswith("/"):
            raise ConfigError("format string must be an absolute path, or 'none'")
        if "%" in _GOOD.sub("", text) or _HALF.search(text):
            raise ConfigError("syntax error in format string")
        cmd.document_path(text)  # images of machines may lack it
        setattr(conf, field, (text, by_address))

    return apply


def interpolate(text: str, name: str, port: int) -> str:
    """Expand *text* with parts of *name*: %0 all, %2 the second, %-2+ up to it, %2.1 a letter."""
    parts = name.split(".", MAX_PARTS - 1)

    def piece(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        if match[0] == "%p":
            return str(port)
        chosen = _chosen(parts, int(match[2]), bool(match[1]), bool(match[3]), ".")
        if match[5] is not None:
            chosen = _chosen(list(chosen), int(match[5]), bool(match[4]), bool(match[6]), "")
        return lower(chosen)

    return _PIECE.sub(piece, text)


def _chosen(parts: list[str], number: int, from_end: bool, and_on: bool, joint: str) -> str:
    """Return part *number* (from 1) of *parts*, ``_`` if it is absent.

    With *and_on* also all further parts, in the direction of counting.
    """
    if number == 0:
        return joint.join(parts)
    if number > len(parts):
        return "_"
    if from_end:
        at = len(parts) - number
        return joint.join(parts[: at + 1]) if and_on else parts[at]
    return joint.join(parts[number - 1 :]) if and_on else parts[number - 1]


def make_translate(scope: Scope) -> CompiledHook | None:
    """Make the hook that maps URLs below the host's directory, /cgi-bin/ below its script directory."""
    conf = scope.server_config(VhostAliasServerConfig)
    if conf.root is None and conf.scripts is None:
        return None

    def translate(r: Request) -> HookStatus:
        uri = r.uri
        scripts = conf.scripts is not None and uri.startswith("/cgi-bin/")
        use = conf.scripts if scripts else conf.root
        if use is None or not uri.startswith("/"):
            return DECLINED
        name = r.connection.local_ip if use[1] else identity.server_name(r)
        root = interpolate(use[0], name, identity.server_port(r)).rstrip("/")
        r.filename = root + uri[len("/cgi-bin") if scripts else 0 :]
        r.canonical_filename = ""
        r.document_root = root
        r.context = ("/cgi-bin" if scripts else "", root)
        if scripts:
            r.handler = "cgi-script"
            r.notes["alias-forced-type"] = "cgi-script"
        return OK

    return CompiledHook(translate)


MODULE = Module(
    name="vhost_alias_module",
    source="mod_vhost_alias.c",
    server_config=VhostAliasServerConfig,
    server_setters={
        "VirtualScriptAlias": _setter("scripts", False),
        "VirtualDocumentRoot": _setter("root", False),
        "VirtualScriptAliasIP": _setter("scripts", True),
        "VirtualDocumentRootIP": _setter("root", True),
    },
    hooks=(Hook(TRANSLATE_NAME, make_translate, Order.MIDDLE, after=("mod_userdir.c", "mod_alias.c")),),
)
