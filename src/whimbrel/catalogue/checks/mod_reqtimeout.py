"""mod_reqtimeout's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import INT_MAX, atoi, strtol
from whimbrel.catalogue.checks.rules import Around, Rule

NAMES = {"2.2": ("header", "body"), "2.4": ("handshake", "header", "body")}
RATE = ",minrate="


def _number(text: str) -> tuple[int, str, str | None]:
    """A number that isn't negative, the rest, and what is wrong."""
    _, rest, _ = strtol(text)
    if rest == text:
        return 0, rest, f"Value '{text}' not numerical"
    value = atoi(text)
    return value, rest, "Value must be non-negative" if value < 0 else None


def _parameter(name: str, value: str, version: str) -> str | None:
    if name.lower() not in NAMES[version]:
        return "Unknown RequestReadTimeout parameter"
    rate = value.lower().find(RATE)
    times, minimum = (value, None) if rate < 0 else (value[:rate], value[rate + len(RATE):])
    if "-" in times and minimum is None:
        return "Must set MinRate option if using timeout range"
    low, rest, wrong = _number(times)
    if wrong is None and rest.startswith("-"):
        high, rest, wrong = _number(rest[1:])
        if wrong is None and low >= high and low:
            wrong = "Maximum timeout must be larger than initial timeout"
    if wrong is None and rest:
        wrong = f"Cannot parse '{rest}'"
    return wrong or (None if minimum is None else _rate(minimum))


def _rate(text: str) -> str | None:
    value, rest, wrong = _number(text)
    if wrong or rest:
        return wrong or f"Cannot parse '{rest}'"
    return None if 0 < value <= INT_MAX else "Minimum data rate must be larger than 0"


def _timeout(words: list[str], around: Around) -> str | None:
    for word in words[0].split():
        name, equals, value = word.partition("=")
        if not equals:
            return "Invalid RequestReadTimeout parameter. Parameter must be in the form 'key=value'"
        wrong = _parameter(name, value, around.version)
        if wrong:
            return f"RequestReadTimeout: {word}: {wrong}"
    return None


CHECKS: dict[str, Rule] = {"requestreadtimeout": _timeout}
