"""Performance targets, checked against the results of a run (the JSON of bench.run)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench import wsgi
from bench.configs import SITES
from bench.documents import BY_NAME, CASES

ME, APACHE, NGINX = "whimbrel", "apache", "nginx"
PER_CPU, MEMORY, LATE = "requests_per_cpu_second", "worker_memory_mb", "latency_p99_ms"
SMALL_MB = 60.0  # memory of the worker after the small cases
BIG_MULTIPLE = 4.0  # of that of Apache's child, after the big ones
HELD = 0.95  # share of a rate below which it counts as not held
Found = dict[str, float]


@dataclass(frozen=True)
class Condition:
    """One target: *found* is the deciding figure with its case; *met* is None if a run did not measure it."""

    name: str
    wanted: str
    found: str
    met: bool | None


def conditions(results: Mapping[str, Any]) -> list[Condition]:
    """Return all targets in order."""
    return [
        *_speed(results["cases"]),
        *_growing(results["cases"]),
        *_half(results.get("half", {})),
        *_memory(results["cases"]),
    ]


def multiples(cases: Mapping[str, Any], other: str, figure: str, names: list[str]) -> Found:
    """Return case -> Whimbrel's figure as a multiple of the other server's, where both were measured."""
    out = {}
    for name in names:
        row = cases.get(name, {})
        if all(row.get(name, {}).get("figures", {}).get(figure) for name in (ME, other)):
            out[name] = row[ME]["figures"][figure] / row[other]["figures"][figure]
    return out


def at_least(name: str, found: Found, limit: float, other: str) -> Condition:
    """Return the target decided by the smallest of *found*."""
    wanted = f"at least {limit:g} times {other}" if limit != 1.0 else f"at least {other}"
    if not found:
        return Condition(name, wanted, "", None)
    least = min(found, key=lambda case: found[case])
    return Condition(name, wanted, f"{found[least]:.2f}{_of(least, found)}", found[least] >= limit)


def _of(case: str, found: Found) -> str:
    return f" ({case})" if len(found) > 1 else ""


# case, title, least multiples of Apache and of nginx (0: not compared)
SPEED = (
    ("1k", "static file of 1 KB", 4.0, 1.3),
    ("1k-varied", "the same, each head another", 3.7, 1.0),
    ("100k", "static file of 100 KB", 1.6, 0.0),
    ("10m", "static file of 10 MB", 1.8, 0.0),
    ("404-fresh", "404, each URL another", 2.7, 0.0),
    ("visitors", "visitors", 2.9, 1.0),
    ("replay", "replay of an access log", 1.45, 0.0),
    *((f"1k-c{n}", f"1 KB, connections: {n}", 4.0, 1.0) for n in (1, 4, 8)),
    *((f"visitors-c{n}", f"visitors, connections: {n}", 2.5, 1.0) for n in (1, 4, 8)),
    ("cgi-post", "CGI", 2.4, 0.0),
    ("php-fpm", "PHP by php-fpm", 1.35, 0.0),
    ("wordpress", "front page of 55 KB by php-fpm, compressed", 1.0, 0.0),
    ("wsgi-hello", "Python: hello world", 1.5, 0.0),
    ("wsgi-1m", "Python: a generator of 1 MB", 1.0, 0.0),
    ("server-status", "server-status", 3.0, 0.0),
    ("proxy", "reverse proxy of 1 KB", 2.3, 0.0),
    ("cache-hit", "cache hit, quick handler", 4.0, 0.0),
    ("cache-hit-handler", "cache hit, normal handler", 4.0, 0.0),
    ("propfind", "PROPFIND, 1,000 entries, four properties", 1.0, 0.0),
    ("propfind-all", "the same, all properties", 1.0, 0.0),
    ("tls-1k", "1 KB over TLS", 4.0, 0.6),
    ("tls-h2", "the same over HTTP/2", 4.0, 0.0),
    ("tls-10m", "10 MB over TLS", 1.0, 0.0),
    ("tls-handshake", "full handshakes", 0.97, 0.0),
    ("proxy-10m", "reverse proxy of 10 MB", 1.3, 0.0),
)


def _speed(cases: Mapping[str, Any]) -> Iterator[Condition]:
    for name, title, apache, nginx in SPEED:
        yield at_least(title, multiples(cases, APACHE, PER_CPU, [name]), apache, APACHE)
        if nginx:
            yield at_least(title, multiples(cases, NGINX, PER_CPU, [name]), nginx, NGINX)
    for other in wsgi.NAMES:
        if other != "uwsgi":
            title = f"Python: hello world, {other} behind nginx"
            yield at_least(title, multiples(cases, other, PER_CPU, ["wsgi-hello"]), 1.0, other)
    found = multiples(cases, APACHE, PER_CPU, [c.name for c in CASES])
    below = {case: value for case, value in found.items() if value < 1.0}
    shown = below or dict([min(found.items(), key=lambda item: item[1])] if found else [])
    text = ", ".join(f"{value:.2f} ({case})" for case, value in shown.items())
    yield Condition("every case", "not below apache", text, not below if found else None)


def _growing(cases: Mapping[str, Any]) -> Iterator[Condition]:
    for kind in dict.fromkeys(c.grows for c in CASES if c.grows):
        yield at_least(
            kind, multiples(cases, APACHE, PER_CPU, [c.name for c in CASES if c.grows == kind]), 10.0, APACHE
        )


def _half(cases: Mapping[str, Any]) -> Iterator[Condition]:
    for kind, title in (
        ("own", "p99 at half of its own full load"),
        ("apache", "p99 at half of apache's full load"),
    ):
        found = {
            case: late(row, kind)
            for case, row in cases.items()
            if kind in row.get(ME, {}) and "own" in row.get(APACHE, {})
        }
        worse = {case: value for case, value in found.items() if value > 1.0}
        shown = worse or dict([max(found.items(), key=lambda item: item[1])] if found else [])
        text = ", ".join(
            f"{value:.2f} ({case})" if value != float("inf") else f"rate not held ({case})"
            for case, value in shown.items()
        )
        yield Condition(
            title, "no worse than apache's at half of its own", text, not worse if found else None
        )


def late(row: Mapping[str, Any], kind: str) -> float:
    """Return Whimbrel's p99 as a multiple of Apache's; infinite if Whimbrel did not hold the rate."""
    mine, base = row[ME][kind]["figures"], row[APACHE]["own"]["figures"]
    return float(mine[LATE] / base[LATE]) if mine["held"] >= HELD else float("inf")


def _memory(cases: Mapping[str, Any]) -> Iterator[Condition]:
    names = [
        name for name in cases if name in BY_NAME and MEMORY in cases[name].get(ME, {}).get("figures", {})
    ]
    small = {name: cases[name][ME]["figures"][MEMORY] for name in names if not SITES[BY_NAME[name].site].big}
    most = max(small, key=lambda case: small[case], default="")
    text = f"{small[most]:.1f} MB{_of(most, small)}" if small else ""
    yield Condition(
        "memory (PSS) of the worker, small cases",
        f"under {SMALL_MB:g} MB",
        text,
        small[most] < SMALL_MB if small else None,
    )
    big = multiples(cases, APACHE, MEMORY, [name for name in names if SITES[BY_NAME[name].site].big])
    above = {case: value for case, value in big.items() if value >= BIG_MULTIPLE}
    shown = above or big
    text = ", ".join(f"{value:.2f} ({case})" for case, value in shown.items())
    yield Condition(
        "memory (PSS) of the worker, big cases",
        f"under {BIG_MULTIPLE:g} times apache's",
        text,
        not above if big else None,
    )
