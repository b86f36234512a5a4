"""mod_usertrack: a cookie that identifies the visitor."""

from __future__ import annotations

import random
import re
import time
from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, is_digits
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.support.reverse_dns import NAME_NOTE, client_address
from whimbrel.modules.support.setters import set_choice, set_flag, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, OK, HookStatus
from whimbrel.registry.settings import Unmerged, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

DAY = 86400
_UNITS = (("y", 365 * DAY), ("mo", 30 * DAY), ("w", 7 * DAY), ("d", DAY), ("h", 3600), ("mi", 60), ("s", 1))
NETSCAPE = "netscape"
COOKIE = "cookie"
COOKIE2 = "cookie2"
_STYLES = {"netscape": NETSCAPE, "cookie": COOKIE, "rfc2109": COOKIE, "cookie2": COOKIE2, "rfc2965": COOKIE2}


@dataclass(slots=True)
class UsertrackDirConfig(Unmerged):
    """Per-directory settings; a section's record replaces an outer section's as a whole."""

    active: bool = setting(False)
    name: str = setting("Apache")
    domain: str = setting("")
    style: str = setting(NETSCAPE)
    samesite: str = setting("")
    secure: bool = setting(False)
    http_only: bool = setting(False)


@dataclass(slots=True)
class UsertrackServerConfig:
    """Per-server settings: the lifetime of a cookie in seconds; 0: the browser's session."""

    expires: int = setting(0)


def set_expires(cmd: Command, conf: UsertrackServerConfig, words: list[str]) -> None:
    """CookieExpires: seconds (a text between digits), or numbers with units after a "plus"."""
    text = words[0]
    if is_digits(text[:1]) and is_digits(text[-1:]):
        conf.expires = atoi(text)
        return
    parts = [w for w in split_words(text) if w]
    if parts and parts[0][:1].lower() == "p":
        parts = parts[1:]
    total = 0
    for number, unit in zip(parts[::2], [*parts[1::2], ""], strict=False):
        if not is_digits(number[:1]):
            raise ConfigError("bad expires code, numeric value expected.")
        if not unit:
            raise ConfigError("bad expires code, missing <type>")
        factor = next((f for start, f in _UNITS if unit.lower().startswith(start)), None)
        if factor is None:
            raise ConfigError("bad expires code, unrecognized type")
        total += factor * atoi(number)
    conf.expires = total


def set_domain(_cmd: Command, conf: UsertrackDirConfig, words: list[str]) -> None:
    """CookieDomain: a domain that begins with a dot and contains another."""
    if not words[0]:
        raise ConfigError("CookieDomain values may not be null")
    if not words[0].startswith("."):
        raise ConfigError("CookieDomain values must begin with a dot")
    if "." not in words[0][1:]:
        raise ConfigError("CookieDomain values must contain at least one embedded dot")
    conf.domain = words[0]


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Note the visitor's cookie; set one for visitors without."""
    conf = scope.dir_config(UsertrackDirConfig)
    lifetime = scope.server_config(UsertrackServerConfig).expires
    if not conf.active:
        return None
    name = re.escape(conf.name)
    known = re.compile(f"^{name}=([^;,]+)|[;,][ \t]*{name}=([^;,]+)")
    old = scope.dialect.unique_id_from_address

    def fixup(r: Request) -> HookStatus:
        if r.main is not None:
            return DECLINED
        match = known.search(r.headers_in.get("Cookie") or "")
        if match is not None:
            r.notes["cookie"] = match[1] or match[2]
            return DECLINED
        r.set_uncacheable()
        value = _value(r, old)
        r.err_headers_out.add(
            "Set-Cookie2" if conf.style == COOKIE2 else "Set-Cookie", _cookie(conf, value, lifetime, r.time)
        )
        r.notes["cookie"] = value
        return OK

    return CompiledHook(fixup)


def _value(r: Request, old: bool) -> str:
    """Return a unique value: random (2.2: the client's name) and time."""
    now = int(r.time * 1_000_000)
    if old:
        return f"{r.connection.notes.get(NAME_NOTE) or client_address(r)}.{now}"
    return f"{random.SystemRandom().getrandbits(32):x}.{now:x}"


def _cookie(conf: UsertrackDirConfig, value: str, lifetime: int, now: float) -> str:
    out = f"{conf.name}={value}; path=/"
    if lifetime and conf.style == NETSCAPE:
        at = time.gmtime(now + lifetime)
        out += time.strftime("; expires=%a, %d-%b-%y %H:%M:%S GMT", at)
    elif lifetime:
        out += f"; max-age={lifetime}"
    if conf.domain:
        out += f"; domain={conf.domain}" + ("; version=1" if conf.style == COOKIE2 else "")
    if conf.samesite:
        out += f"; {conf.samesite}"
    return out + ("; Secure" if conf.secure else "") + ("; HttpOnly" if conf.http_only else "")


_SAMESITE = {"strict": "SameSite=Strict", "lax": "SameSite=Lax", "none": "SameSite=None"}

MODULE = Module(
    name="usertrack_module",
    source="mod_usertrack.c",
    dir_config=UsertrackDirConfig,
    server_config=UsertrackServerConfig,
    dir_setters={
        "CookieDomain": set_domain,
        "CookieStyle": set_choice("style", _STYLES, "Invalid CookieStyle keyword: '{word}'"),
        "CookieTracking": set_flag("active"),
        "CookieName": set_text("name"),
        "CookieSameSite": set_choice(
            "samesite", _SAMESITE, "CookieSameSite accepts 'Strict', 'Lax', or 'None'"
        ),
        "CookieSecure": set_flag("secure"),
        "CookieHttpOnly": set_flag("http_only"),
    },
    server_setters={
        "CookieExpires": set_expires,
    },
    hooks=(Hook(FIXUPS, make_fixup, Order.MIDDLE),),
)
