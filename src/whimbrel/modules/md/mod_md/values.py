"""Values of mod_md's directives: parsed with httpd's messages, and formatted as md.json has them."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import atoi, decimal, is_alphanumeric, is_blank, is_digits, is_letter, lower
from whimbrel.base.static_typing import Final
from whimbrel.catalogue.checks.numbers import strtol
from whimbrel.modules.md.mod_md.settings import AUTHORITIES, DAY, KeyKind, Slice

KNOWN: Final = "LetsEncrypt LetsEncrypt-Test Buypass Buypass-Test"
MIN_BITS: Final = 2048
MAX_BITS: Final = 2**31 - 1
MAX_PORT: Final = 65535
_LAST_PORT: Final = 65_353  # the highest port of a URL that mod_md accepts
_UNITS: Final = (("d", DAY * 1000), ("h", 3_600_000), ("s", 1000), ("ms", 1), ("mi", 60_000))
_PORTS: Final = "invalid number for port map, must be in ]0,65535]"


def duration(word: str, unit: str = "s") -> float | None:
    """Return a time in seconds (md_duration_parse), None if it is malformed.

    *unit* is that of a number without one, s or d.

    Units are d, h, mi, s and ms in any case; only their first letters are compared.
    """
    value, written, is_cut = strtol(word)
    digits = word.lstrip(" \t\n\v\f\r+-")
    if is_cut or not is_digits(digits[:1]):
        return None
    low = lower(written) or unit
    scale = next((size for start, size in _UNITS if low.startswith(start)), 0)
    return value * scale / 1000 if scale else None


def duration_text(seconds: float) -> str:
    """Return a time as md.json has it: in the largest unit that divides it (md_duration_format)."""
    milliseconds = round(seconds * 1000)
    for unit, size in (("d", DAY * 1000), ("h", 3_600_000), ("mi", 60_000), ("s", 1000)):
        if milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"


def duration_words(seconds: float) -> str:
    """Return a time for log lines: ``1 days 2 hours 3 minutes 4 seconds`` (md_duration_print)."""
    left = int(seconds)
    parts = []
    for word, size in (("days", DAY), ("hours", 3600), ("minutes", 60), ("seconds", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {word}")
    return " ".join(parts) or ("0 seconds" if seconds == int(seconds) else f"{round(seconds * 1000)} ms")


def window(name: str, word: str, *, limit: int = 100, too_much: str = "a") -> Slice:
    """Return a duration (days without a unit) or a percentage below *limit* of a lifetime."""
    seconds = duration(word, "d")
    if seconds is not None:
        return Slice(seconds)
    value, rest, _ = strtol(word)
    if not rest.startswith("%"):
        raise ConfigError(f"{name} has unrecognized format")
    if value < 0:
        raise ConfigError(f"{name} percent must be less than 100")
    if value >= limit:
        raise ConfigError(f"{name} {too_much} length of 100% or more is not allowed.")
    return Slice(percent=value)


def slice_text(part: Slice) -> str:
    """Return a window as md.json has it."""
    return f"{part.percent}%" if part.percent else duration_text(part.seconds)


def on_or_off(word: str) -> bool:
    """Return True for on, False for off."""
    if lower(word) not in ("on", "off"):
        raise ConfigError(f"unknown '{word}', supported parameter values are 'on' and 'off'")
    return lower(word) == "on"


def authority(word: str) -> str:
    """Return the URL of an authority that is named or written as a URL."""
    known = AUTHORITIES.get(lower(word))
    if known is not None:
        return known
    wrong = url_problem(word)
    if wrong:
        raise ConfigError(
            f"The CA name '{word}' is not known and it is not a URL either ({wrong}). "
            f"Known CA names are: {KNOWN}."
        )
    return word


def url_problem(word: str) -> str:
    """Return why *word* is no absolute URL (md_util_abs_uri_check), "" if it is one."""
    if any(is_blank(char) for char in word):
        return "whitespace in uri"
    scheme, colon, rest = word.partition(":")
    if not colon:
        return "missing uri scheme"
    if not rest:
        return "missing uri identifier"
    if not is_letter(scheme[:1]):
        return "not an uri"
    return _server_problem(rest) if lower(scheme) in ("http", "https") else ""


def _server_problem(rest: str) -> str:
    """Return why the text after ``http:`` names no server, "" if it does."""
    if not rest.startswith("//"):
        return "missing hostname"
    host, colon, port = rest[2:].partition("/")[0].rpartition("@")[2].partition(":")
    if host.startswith("["):
        return "invalid hostname"
    if port and not is_digits(port.removeprefix("-")):
        return "not an uri"
    if not all(is_alphanumeric(char) or char in "-." for char in host) or ".." in host:
        return "invalid hostname"
    if not colon:
        return ""
    # the number is cut to 16 bits
    is_valid = is_digits(port) and len(port) < 19 and 0 < decimal(port) & 0xFFFF <= _LAST_PORT
    return "" if is_valid else "invalid port"


def proxy_url(word: str) -> str:
    """Return MDHttpProxy."""
    wrong = url_problem(word)
    if not wrong and lower(word.partition(":")[0]) not in ("http", "https"):
        wrong = "uri scheme must be http or https"
    if wrong:
        raise ConfigError(wrong)
    return word


def port_map(word: str) -> tuple[int, int]:
    """Return the public port, 80 or 443, and the local one, 0 for none."""
    if word.startswith(("http:", "https:")):
        public = 443 if word[4] == "s" else 80
        rest = word[word.index(":") :]
    else:
        public, rest, is_cut = strtol(word)
        if is_cut:
            raise ConfigError("unable to parse first port number")
    if not rest.startswith(":"):
        raise ConfigError("no ':' after first port number")
    if rest.startswith(":-"):
        local = 0
    else:
        local, _, is_cut = strtol(rest[1:])
        if is_cut:
            raise ConfigError("unable to parse second port number")
        if not 0 < local <= MAX_PORT:
            raise ConfigError(_PORTS)
    if public not in (80, 443):
        raise ConfigError("mapped port number must be 80 or 443")
    return public, local


def key_specs(words: list[str]) -> tuple[KeyKind, ...]:
    """Return MDPrivateKeys."""
    if not words:
        raise ConfigError("needs to specify the private key type")
    found: list[KeyKind] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        low = lower(word)
        if low == "default":
            if len(words) > 1:
                raise ConfigError("'Default' allows no other parameter")
            found.append(KeyKind("Default"))
        elif low[:3] == "rsa" and (not low[3:] or is_digits(low[3:4])):
            bits = low[3:] or (rest.pop(0) if rest and is_digits(rest[0][:1]) else "")
            found.append(_rsa(bits, found))
        else:
            if any(lower(spec.curve) == low for spec in found):
                raise ConfigError(f"two keys of type '{word}' are not possible.")
            found.append(KeyKind("EC", curve=word))
    return tuple(found)


def _rsa(bits: str, found: list[KeyKind]) -> KeyKind:
    size = atoi(bits) if bits else MIN_BITS
    if size < MIN_BITS:
        raise ConfigError(f"must be {MIN_BITS} or higher in order to be considered safe.")
    if size >= MAX_BITS:
        raise ConfigError("is too large for an RSA key length.")
    if any(spec.kind == "RSA" for spec in found):
        raise ConfigError("two keys of type 'RSA' are not possible.")
    return KeyKind("RSA", bits=size)
