"""mod_expires: Expires and max-age by media type, relative to the request or to the file's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, is_digits, strip
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import words as split_words
from whimbrel.engine.output.field_slots import ClockValue
from whimbrel.engine.output.filter import FilterType, OutputFilter, add_output_filter
from whimbrel.modules.support.setters import own, set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import INSERT_ERROR_FILTER, INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

DAY = 86400
_UNITS = (("y", 365 * DAY), ("mo", 30 * DAY), ("w", 7 * DAY), ("d", DAY), ("h", 3600), ("mi", 60), ("s", 1))
Code = tuple[str, int]  # "A" from the request or "M" from the file's time, seconds


@dataclass(slots=True)
class ExpiresDirConfig:
    """Per-directory settings; *types* maps a media type (lower case) or ``text/*`` to its code."""

    active: bool = setting(False)
    default: Code | None = setting(None)
    types: dict[str, Code] = setting(make=dict)
    wildcards: bool = setting(False)

    def merge_onto(self, base: ExpiresDirConfig) -> ExpiresDirConfig:
        """Merge: types are added, yet wildcards apply only if this section has one."""
        low, high = (t if isinstance(t, dict) else {} for t in (base.types, self.types))
        return ExpiresDirConfig(
            base.active if self.active is UNSET else self.active,
            base.default if self.default is UNSET else self.default,
            {**low, **high},
            self.wildcards,
        )


# setters ------------------------------------------------------------------------------------------
def parse_code(text: str) -> Code:
    """Parse ``A600``, ``M-5`` or ``access plus 1 month 2 days``; raises ConfigError with httpd's messages."""
    if text[:1] in ("A", "M"):
        return text[0], atoi(text[1:])
    base, *rest = [w for w in split_words(text) if w] or [""]
    kind = {"n": "A", "a": "A", "m": "M"}.get(base[:1].lower())
    if kind is None:
        raise ConfigError(f"bad expires code, unrecognised <base> '{base}'")
    if rest and rest[0][:1].lower() == "p":
        rest = rest[1:]
    seconds = 0
    for number, unit in zip(rest[::2], [*rest[1::2], ""], strict=False):
        seconds += _seconds(number, unit)
    return kind, seconds


def _seconds(number: str, unit: str) -> int:
    if not is_digits(number[:1]):
        raise ConfigError(f"bad expires code, numeric value expected <num> '{number}'")
    if not unit:
        raise ConfigError("bad expires code, missing <type>")
    factor = next((f for start, f in _UNITS if unit.lower().startswith(start)), None)
    if factor is None:
        raise ConfigError(f"bad expires code, unrecognised <type>'{unit}'")
    return factor * atoi(number)


def set_default(cmd: Command, conf: ExpiresDirConfig, words: list[str]) -> None:
    """ExpiresDefault CODE."""
    try:
        conf.default = parse_code(words[0])
    except ConfigError as problem:
        raise ConfigError(f"'{cmd.name} {words[0]}': {problem.reason}") from None


def add_type(cmd: Command, conf: ExpiresDirConfig, words: list[str]) -> None:
    """ExpiresByType TYPE CODE."""
    kind = words[0]
    if "/" not in kind:
        raise ConfigError("Invalid mimetype: should contain a slash")
    try:
        code = parse_code(words[1])
    except ConfigError as problem:
        raise ConfigError(f"'{cmd.name} {kind} {words[1]}': {problem.reason}") from None
    conf.types = {**own(conf, "types", dict), kind.lower(): code}
    if kind.endswith("/*"):
        conf.wildcards = True


# filter -------------------------------------------------------------------------------------------
def _code_for(conf: ExpiresDirConfig, content_type: str | None) -> Code | None:
    kind = strip((content_type or "").split(";", 1)[0]).lower()
    code = conf.types.get(kind)
    if code is None and conf.wildcards is True and "/" in kind:
        code = conf.types.get(kind.partition("/")[0] + "/*")
    return conf.default if code is None else code


class ExpiresFilter(OutputFilter):
    """Output filter MOD_EXPIRES: Expires and Cache-Control of responses that have no Expires."""

    __slots__ = ("_conf",)
    name = "MOD_EXPIRES"
    type = FilterType.CONTENT_SET - 2

    def __init__(self, conf: ExpiresDirConfig) -> None:
        self._conf = conf

    def begin(self, r: Request) -> None:
        """Set the fields, and leave the chain; not for a handler's own error, such as 412."""
        if r.status >= 400 or "Expires" in r.err_headers_out or "Expires" in r.headers_out:
            return
        code = _code_for(self._conf, r.content_type)
        if code is None:
            return
        modified = None
        if code[0] == "M":
            if r.finfo is None:
                return
            modified = r.finfo.st_mtime_ns // 1_000_000_000
        now = int(r.time)
        seconds = code[1]
        merged = r.headers_out.get_list("Cache-Control")
        before = "" if merged is None else f"{merged}, "

        def expiry(now: int) -> int:
            return max((now if modified is None else modified) + seconds, now)

        date = r.engine.http_date
        values = (
            ClockValue(lambda now: f"{before}max-age={expiry(now) - now}", now),
            ClockValue(lambda now: str(date(expiry(now))), now),
        )
        r.headers_out.set("Cache-Control", values[0])
        r.headers_out.set("Expires", values[1])
        r.deps.clock_fields += values


def make_insert(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds the filter; not to errors, nor to sub-requests."""
    conf = scope.dir_config(ExpiresDirConfig)
    if not conf.active:
        return None
    added = ExpiresFilter(conf)

    def insert(r: Request) -> HookStatus:
        if r.main is None and r.status < 400:
            add_output_filter(r, added)
        return OK

    return CompiledHook(insert, Reads.HEAD | Reads.FILES)


MODULE = Module(
    name="expires_module",
    source="mod_expires.c",
    dir_config=ExpiresDirConfig,
    dir_setters={
        "ExpiresActive": set_flag("active"),
        "ExpiresByType": add_type,
        "ExpiresDefault": set_default,
    },
    hooks=(
        Hook(INSERT_FILTER, make_insert, Order.MIDDLE),
        Hook(INSERT_ERROR_FILTER, make_insert, Order.MIDDLE),
    ),
)
