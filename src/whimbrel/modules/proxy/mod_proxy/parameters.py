"""The key=value parameters of workers and balancers.  Manual: mod/mod_proxy.html#proxypass."""

from __future__ import annotations

import re
from collections.abc import Callable

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi, lower, strtol, upper
from whimbrel.base.static_typing import Any, Final
from whimbrel.catalogue.checks.numbers import INT_MAX
from whimbrel.catalogue.checks.numbers import strtol as strtol_checked
from whimbrel.catalogue.checks.numbers import timeout as milliseconds
from whimbrel.directives.command import Command
from whimbrel.modules.proxy.mod_proxy.model import (
    BUFFER_SIZE,
    FLUSH_WAIT,
    LETTERS,
    LOAD_UNIT,
    BalancerParameters,
    ProxyBalancer,
    ProxyWorker,
    WorkerParameters,
)

# reads one parameter's value into a record; raises ConfigError with httpd's message
Reader = Callable[[Command, Any, str], None]
HEALTH: Final = ("hcmethod", "hcinterval", "hcpasses", "hcfails", "hcuri", "hcexpr", "hctemplate")
MAX_ROUTE: Final = 64  # bytes with the NUL byte, as of the following
MAX_SECRET: Final = 64
MAX_NAME: Final = 16  # of upgrade= and flusher=
MAX_GROWTH = 100
MAX_LBSET = 99
_FRACTION = compile(r"\.([0-9]+)")
_BUILT_IN_METHODS: Final = ("byrequests", "bytraffic", "bybusyness")


def _number(name: str, low: int, message: str) -> Reader:
    """Return the reader of a number that is at least *low*."""

    def read(_cmd: Command, to: Any, value: str) -> None:
        number = atoi(value)
        if number < low:
            raise ConfigError(message)
        setattr(to, name, number)

    return read


def _switch(name: str, label: str) -> Reader:
    def read(_cmd: Command, to: Any, value: str) -> None:
        if lower(value) not in ("on", "off"):
            raise ConfigError(f"{label} must be On|Off")
        setattr(to, name, lower(value) == "on")

    return read


def _time(name: str, wrong: str, small: str, *, unit: int = 1000) -> Reader:
    """Return the reader of a time; *unit*: milliseconds that a number without unit counts."""

    def read(cmd: Command, to: Any, value: str) -> None:
        time = milliseconds(value, "2.4" if not cmd.dialect.proxy_22 else "2.2")
        if time is None:
            raise ConfigError(wrong)
        if not strtol(value)[1]:
            time = time * unit // 1000
        if time < 1:
            raise ConfigError(small)
        setattr(to, name, time / 1000)

    return read


def _text(name: str, size: int, label: str) -> Reader:
    def read(_cmd: Command, to: Any, value: str) -> None:
        if len(value) >= size:
            raise ConfigError(f"{label} length must be < {size} characters")
        setattr(to, name, value)

    return read


def _buffer(name: str, label: str, default: int) -> Reader:
    def read(_cmd: Command, to: Any, value: str) -> None:
        size = strtol(value)[0]
        if size < 512 and size:
            raise ConfigError(f"{label} must be >= 512 bytes, or 0 for system default.")
        setattr(to, name, size or default)

    return read


def _buffer22(_cmd: Command, to: WorkerParameters, value: str) -> None:
    """Set iobuffersize of 2.2, which raises small values to its minimum."""
    to.iobuffersize = max(atoi(value), BUFFER_SIZE)


def _load(cmd: Command, to: WorkerParameters, value: str) -> None:
    """Set loadfactor; 2.4 reads a fraction of two digits, too."""
    factor, rest = strtol(value)
    factor *= LOAD_UNIT
    message = "LoadFactor must be number between 1..100"
    if not cmd.dialect.proxy_22:
        message = "LoadFactor must be a number between 1..100"
        match = _FRACTION.match(rest)
        factor += atoi((match[1] + "00")[:2]) if match else 0
    if not LOAD_UNIT <= factor <= 100 * LOAD_UNIT:
        raise ConfigError(message)
    to.loadfactor = factor


def _enable(cmd: Command, to: WorkerParameters, value: str) -> None:
    _switch("disablereuse", "EnableReuse")(cmd, to, value)
    to.disablereuse = not to.disablereuse
    to.given.add("disablereuse")


def _status(cmd: Command, to: WorkerParameters, value: str) -> None:
    """Set and clear status bits by letters; a sign is for all letters that follow it."""
    letters = LETTERS if not cmd.dialect.proxy_22 else _LETTERS_22
    is_set = True
    at = 0
    while at < len(value):
        if value[at] in "+-":
            is_set, at = value[at] == "+", at + 1
        bit = letters.get(upper(value[at : at + 1]))
        if bit is None:
            raise ConfigError("Unknown status parameter option")
        to.status = to.status | bit if is_set else to.status & ~bit
        at += 1


_LETTERS_22: Final = {letter: LETTERS[letter] for letter in "DSEHI"}


def _flush(_cmd: Command, to: WorkerParameters, value: str) -> None:
    if lower(value) not in ("on", "off", "auto"):
        raise ConfigError("flushpackets must be on|off|auto")
    to.flushpackets = lower(value)


def _flush_wait(_cmd: Command, to: WorkerParameters, value: str) -> None:
    wait = atoi(value)
    if not 0 <= wait <= 1000:
        raise ConfigError("flushwait must be <= 1000, or 0 for system default of 10 millseconds.")
    to.flushwait = wait / 1000 if wait else FLUSH_WAIT


def _lbset(_cmd: Command, to: WorkerParameters, value: str) -> None:
    if not 0 <= atoi(value) <= MAX_LBSET:
        raise ConfigError("lbset must be between 0 and 99")
    to.lbset = atoi(value)


def _upgrade(cmd: Command, to: WorkerParameters, value: str) -> None:
    _text("upgrade", MAX_NAME, "upgrade protocol")(cmd, to, "*" if lower(value) == "any" else value)


def _field_size(_cmd: Command, to: WorkerParameters, value: str) -> None:
    if atoi(value) < 0:
        raise ConfigError("ResponseFieldSize must be greater than 0 bytes, or 0 for system default.")
    to.responsefieldsize = atoi(value) or BUFFER_SIZE


def _address_ttl(_cmd: Command, to: WorkerParameters, value: str) -> None:
    number, rest, _ = strtol_checked(value)
    if rest or not value or not -1 <= number <= INT_MAX:
        raise ConfigError(f"AddressTTL must be -1 or a number of seconds not exceeding ({INT_MAX})")
    to.addressttl = number


WORKER22: Final[dict[str, Reader]] = {
    "loadfactor": _load,
    "retry": _number("retry", 0, "Retry must be a positive value"),
    "ttl": _number("ttl", 1, "TTL must be at least one second"),
    "min": _number("min", 0, "Min must be a positive number"),
    "max": _number("max", 0, "Max must be a positive number"),
    "smax": _number("smax", 0, "Smax must be a positive number"),
    "acquire": _time(
        "acquire", "Acquire timeout has wrong format", "Acquire must be at least one millisecond", unit=1
    ),
    "timeout": _number("timeout", 1, "Timeout must be at least one second"),
    "iobuffersize": _buffer22,
    "receivebuffersize": _buffer("receivebuffersize", "ReceiveBufferSize", 0),
    "keepalive": _switch("keepalive", "KeepAlive"),
    "disablereuse": _switch("disablereuse", "DisableReuse"),
    "route": _text("route", MAX_ROUTE, "Route"),
    "redirect": _text("redirect", MAX_ROUTE, "Redirect"),
    "status": _status,
    "flushpackets": _flush,
    "flushwait": _flush_wait,
    "ping": _time(
        "ping", "Ping/Pong timeout has wrong format", "Ping/Pong timeout must be at least one millisecond"
    ),
    "lbset": _lbset,
    "connectiontimeout": _time(
        "connectiontimeout",
        "Connectiontimeout has wrong format",
        "Connectiontimeout must be at least one millisecond.",
    ),
}
WORKER24: Final[dict[str, Reader]] = {
    **WORKER22,
    "iobuffersize": _buffer("iobuffersize", "IOBufferSize", BUFFER_SIZE),
    "enablereuse": _enable,
    "flusher": _text("flusher", MAX_NAME, "flusher name"),
    "upgrade": _upgrade,
    "responsefieldsize": _field_size,
    "secret": _text("secret", MAX_SECRET, "Secret"),
    "addressttl": _address_ttl,
}


def set_worker_parameter(cmd: Command, worker: ProxyWorker, key: str, value: str) -> None:
    """Set one parameter of *worker* (set_worker_param); raises ConfigError with httpd's message.

    Those of mod_proxy_hcheck go to its provider ("proxy_hcheck", "parameter"), a function of command, worker,
    name and value that sets `health`.
    """
    name = lower(key)
    reader = (WORKER24 if not cmd.dialect.proxy_22 else WORKER22).get(name)
    if reader is None:
        has_health = cmd.loaded("proxy_hcheck_module")
        if not has_health or name not in HEALTH:
            raise ConfigError(f"unknown Worker {'hcheck ' if has_health else ''}parameter")
        validate = cmd.provider("proxy_hcheck", "parameter")
        if validate is None:
            worker.parameters.health[name] = value
        else:
            validate(cmd, worker, name, value)
        return
    reader(cmd, worker.parameters, value)
    worker.parameters.given.add(name)


# Balancers --------------------------------------------------------------------------------------
def _sticky(_cmd: Command, to: BalancerParameters, value: str) -> None:
    cookie, bar, path = value.partition("|")
    to.sticky = cookie
    to.sticky_path = path if bar else value


def _separator(_cmd: Command, to: BalancerParameters, value: str) -> None:
    if len(value) != 1 and lower(value) != "off":
        raise ConfigError("stickysessionsep must be a single character or Off")
    to.stickysessionsep = value if len(value) == 1 else ""


def _method(cmd: Command, to: BalancerParameters, value: str) -> None:
    known = cmd.loaded(f"lbmethod_{value}_module") if not cmd.dialect.proxy_22 else value in _BUILT_IN_METHODS
    if not known:
        raise ConfigError("unknown lbmethod")
    to.lbmethod = value


def _statuses(_cmd: Command, to: BalancerParameters, value: str) -> None:
    codes = [atoi(code) for code in re.split("[, ]+", value) if code]
    if not all(100 <= code < 600 for code in codes):
        raise ConfigError("failonstatus must be one or more HTTP response codes")
    to.failonstatus = tuple(codes)


def _nonce(_cmd: Command, to: BalancerParameters, value: str) -> None:
    to.nonce = "" if lower(value) == "none" else value


def _growth(_cmd: Command, to: BalancerParameters, value: str) -> None:
    if not 1 <= atoi(value) <= MAX_GROWTH:
        raise ConfigError("growth must be between 1 and 100")
    to.growth = atoi(value)


BALANCER22: Final[dict[str, Reader]] = {
    "stickysession": _sticky,
    "nofailover": _switch("nofailover", "failover"),
    "timeout": _number("timeout", 1, "timeout must be at least one second"),
    "maxattempts": _number("maxattempts", 0, "maximum number of attempts must be a positive number"),
    "lbmethod": _method,
    "scolonpathdelim": _switch("scolonpathdelim", "scolonpathdelim"),
    "failonstatus": _statuses,
}
BALANCER24: Final[dict[str, Reader]] = {
    **BALANCER22,
    "stickysessionsep": _separator,
    "failontimeout": _switch("failontimeout", "failontimeout"),
    "nonce": _nonce,
    "growth": _growth,
    "forcerecovery": _switch("forcerecovery", "forcerecovery"),
}


def set_balancer_parameter(cmd: Command, balancer: ProxyBalancer, key: str, value: str) -> None:
    """Set one parameter of *balancer* (set_balancer_param); raises ConfigError with httpd's message."""
    name = lower(key)
    reader = (BALANCER24 if not cmd.dialect.proxy_22 else BALANCER22).get(name)
    if reader is None:
        raise ConfigError("unknown Balancer parameter")
    reader(cmd, balancer.parameters, value)
    balancer.parameters.given.add(name)
