"""Validation of the key=value parameters of mod_proxy's workers and balancers (mod_proxy.html#proxypass)."""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.catalogue.checks.numbers import INT_MAX, atoi, strtol, timeout
from whimbrel.catalogue.checks.rules import CheckContext

ParameterTest = Callable[[str, CheckContext], "str | None"]
STATUS = "dishnrecfp"


def _least(low: int, message: str) -> ParameterTest:
    return lambda value, around: message if atoi(value) < low else None


def _within(low: int, high: int, message: str) -> ParameterTest:
    return lambda value, around: None if low <= atoi(value) <= high else message


def _switch(name: str) -> ParameterTest:
    return lambda value, around: None if value.lower() in ("on", "off") else f"{name} must be On|Off"


def _buffer(name: str) -> ParameterTest:
    return lambda value, around: (
        f"{name} must be >= 512 bytes, or 0 for system default."
        if atoi(value) < 512 and atoi(value)
        else None
    )


def _milliseconds(wrong: str, small: str) -> ParameterTest:
    def test(value: str, around: CheckContext) -> str | None:
        # Without a unit these are seconds for ping and connectiontimeout, milliseconds for acquire; only 0
        # matters here.
        time = timeout(value, around.version)
        return wrong if time is None else small if time < 1 else None

    return test


def _short(name: str) -> ParameterTest:
    return lambda value, around: f"{name} length must be < 64 characters" if len(value) > 63 else None


def _load(value: str, around: CheckContext) -> str | None:
    good = value[:1].isdigit() and 1 <= float(strtol(value)[0]) <= 100
    return (
        None if good else f"LoadFactor must be {'a ' if around.version == '2.4' else ''}number between 1..100"
    )


def _status(value: str, around: CheckContext) -> str | None:
    return "Unknown status parameter option" if value.lower().strip("+-" + STATUS) else None


def _codes(value: str, around: CheckContext) -> str | None:
    good = all(code.strip().isdigit() and 100 <= int(code) < 600 for code in value.split(","))
    return None if good else "failonstatus must be one or more HTTP response codes"


def _method(value: str, around: CheckContext) -> str | None:
    return None if f"lbmethod_{value}_module" in around.loaded else "unknown lbmethod"


def _address_ttl(value: str, around: CheckContext) -> str | None:
    number, rest, _ = strtol(value)
    good = not rest and value and -1 <= number <= INT_MAX
    return None if good else f"AddressTTL must be -1 or a number of seconds not exceeding ({INT_MAX})"


def _choice(words: str, message: str) -> ParameterTest:
    return lambda value, around: None if value.lower() in words.split() else message


def _any(value: str, around: CheckContext) -> str | None:
    return None


def _separator(value: str, around: CheckContext) -> str | None:
    return (
        None
        if len(value) == 1 or value.lower() == "off"
        else "stickysessionsep must be a single character or Off"
    )


WORKER: dict[str, ParameterTest] = {
    "loadfactor": _load,
    "retry": _least(0, "Retry must be a positive value"),
    "ttl": _least(1, "TTL must be at least one second"),
    "min": _least(0, "Min must be a positive number"),
    "max": _least(0, "Max must be a positive number"),
    "smax": _least(0, "Smax must be a positive number"),
    "timeout": _least(1, "Timeout must be at least one second"),
    "acquire": _milliseconds("Acquire timeout has wrong format", "Acquire must be at least one millisecond"),
    "iobuffersize": _buffer("IOBufferSize"),
    "receivebuffersize": _buffer("ReceiveBufferSize"),
    "keepalive": _switch("KeepAlive"),
    "disablereuse": _switch("DisableReuse"),
    "route": _short("Route"),
    "redirect": _short("Redirect"),
    "status": _status,
    "flushpackets": _choice("on off auto", "flushpackets must be on|off|auto"),
    "flushwait": _within(0, 1000, "flushwait must be <= 1000, or 0 for system default of 10 millseconds."),
    "ping": _milliseconds(
        "Ping/Pong timeout has wrong format", "Ping/Pong timeout must be at least one millisecond"
    ),
    "lbset": _within(0, 99, "lbset must be between 0 and 99"),
    "connectiontimeout": _milliseconds(
        "Connectiontimeout has wrong format", "Connectiontimeout must be at least one millisecond."
    ),
}
WORKER24: dict[str, ParameterTest] = {
    **WORKER,
    **dict.fromkeys(("flusher", "upgrade", "responsefieldsize", "secret", "mapping"), _any),
    "enablereuse": _switch("EnableReuse"),
    "addressttl": _address_ttl,
}
BALANCER: dict[str, ParameterTest] = {
    "stickysession": _any,
    "nofailover": _switch("failover"),
    "timeout": _least(1, "timeout must be at least one second"),
    "maxattempts": _least(0, "maximum number of attempts must be a positive number"),
    "scolonpathdelim": _switch("scolonpathdelim"),
    "lbmethod": _choice("byrequests bytraffic bybusyness", "unknown lbmethod"),
    "status": _status,
    "failonstatus": _codes,
}
BALANCER24: dict[str, ParameterTest] = {
    **BALANCER,
    "lbmethod": _method,
    "failontimeout": _switch("failontimeout"),
    "forcerecovery": _switch("forcerecovery"),
    "nonce": _any,
    "growth": _within(1, 100, "growth must be between 1 and 100"),
    "stickysessionsep": _separator,
}


def parameter(url: str, text: str, around: CheckContext) -> str | None:
    """Return the error in *text*, a key=value of the worker or balancer *url*; mod_proxy_hcheck validates its
    own parameters.
    """
    key, _, value = text.partition("=")
    if url.startswith("balancer:"):
        if around.version == "2.2" and "proxy_balancer_module" not in around.loaded:
            return "Can't find 'byrequests' lb method"
        test, unknown = (
            (BALANCER if around.version == "2.2" else BALANCER24).get(key.lower()),
            "unknown Balancer parameter",
        )
    else:
        test, unknown = (
            (WORKER if around.version == "2.2" else WORKER24).get(key.lower()),
            "unknown Worker parameter",
        )
        if "proxy_hcheck_module" in around.loaded:
            unknown = "unknown Worker hcheck parameter"
            test = test or (
                _any
                if key.lower()
                in ("hcmethod", "hcinterval", "hcpasses", "hcfails", "hcuri", "hcexpr", "hctemplate")
                else None
            )
    return test(value, around) if test else unknown


def url_error(url: str, around: CheckContext) -> str | None:
    """Return the error in a worker's URL: it must have a scheme and a host."""
    if around.version == "2.4" and url.lower().startswith("unix:"):
        return None
    scheme, slashes, rest = url.partition("://")
    if around.version == "2.2":
        return None if scheme.isalnum() and slashes else "URL must be absolute!"
    host = rest.partition("/")[0].rpartition("@")[2]
    port = host.rpartition("]")[2].rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""
    if port and not port.removeprefix("-").isdigit() and "$" not in port:
        return f"Unable to parse URL: {url}"
    return None if scheme and slashes and host else f"URL must be absolute!: {url}"
