"""mod_http2's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import atoi, strtol
from whimbrel.catalogue.checks.rules import Around, Rule, Said, Warner, between, duration, one_of

SWITCHES = "copyfiles direct earlyhints moderntlsonly outputbuffering proxyrequests push upgrade websockets"
POSITIVE, WINDOW, ZERO = "value must be > 0", "value must be >= 1024", "value must be 0 or larger"


def _diary(words: list[str], around: Around) -> str | None:
    value = atoi(words[0])
    if value < 0:
        return "value must be >= 0"
    if value & (value - 1):
        return "value must a power of 2"
    return "value must <= 65536" if value >= 65536 else None


def _padding(words: list[str], around: Around) -> str | None:
    if atoi(words[0]) < 0:
        return "number of bits must be >= 0"
    return "number of bits must be <= 8" if atoi(words[0]) > 8 else None


def _priority(words: list[str], around: Around) -> str | None:
    """A media type, how it depends, and a weight that Before has none of; a number alone is a weight."""
    kind = words[1].lower()
    if len(words) == 2 and kind[:1].isdigit():
        return "weight must be a number >= 1" if strtol(kind)[0] < 1 else None
    if kind not in ("after", "before", "interleaved"):
        return "dependency must be one of 'After', 'Before' or 'Interleaved'"
    if len(words) < 3:
        return None
    if kind == "before":
        return "dependency 'Before' does not allow a weight"
    return "weight must be a number >= 1" if strtol(words[2])[0] < 1 else None


def _resource(words: list[str], around: Around) -> str | None:
    """[add] path [critical]"""
    rest = words[1:] if words[0].lower() == "add" and len(words) > 1 else words
    last = rest[1:]
    if not last:
        return None
    if len(last) > 1:
        return "too many parameter"
    return None if last[0].lower() == "critical" else "unknown last parameter"


CHECKS: dict[str, Rule] = {
    **{f"h2{name}": one_of("on off", "value must be On or Off") for name in SWITCHES.split()},
    "h2maxdataframelen": between(0, None, ZERO),
    "h2maxstreamerrors": between(0, None, ZERO),
    "h2maxheaderblocklen": between(0, None, ZERO),
    "h2maxsessionstreams": between(1, None, POSITIVE),
    "h2maxworkers": between(1, None, POSITIVE),
    "h2minworkers": between(1, None, POSITIVE),
    "h2streammaxmemsize": between(1024, None, WINDOW),
    "h2windowsize": between(1024, None, WINDOW),
    "h2streamtimeout": duration("Invalid timeout value"),
    "h2maxworkeridleseconds": duration("Invalid idle limit value"),
    "h2padding": _padding,
    "h2pushdiarysize": _diary,
    "h2pushpriority": _priority,
    "h2pushresource": _resource,
}
SERIAL = Said("H2SerializeHeaders: this feature has been disabled and the directive to enable it is ignored.", "AH10307")
WARNINGS: dict[str, Warner] = {"h2serializeheaders": lambda words, around: SERIAL if words[0].lower() == "on" else None}
