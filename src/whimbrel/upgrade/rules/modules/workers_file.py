"""mod_jk's workers: the file of JkWorkersFile, in the form of Java properties (``worker.NAME.host=...``)."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass

MAX_FILE: Final = 1 << 20
_MAX_DEPTH: Final = 8  # of references between workers
_SEPARATOR: Final = re.compile(r"[=:]")


@dataclass(frozen=True, slots=True)
class JkWorker:
    """One worker; *members* are those of a load balancer."""

    name: str
    kind: str
    host: str = "localhost"
    port: str = "8009"
    members: tuple[JkWorker, ...] = ()

    @property
    def origin(self) -> str:
        """Return its URL for mod_proxy_ajp."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"ajp://{host}:{self.port}"


def read_workers(path: str) -> dict[str, JkWorker]:
    """Return the workers of a file; {} for one that cannot be read."""
    try:
        text = to_text(read_regular(to_bytes(path), MAX_FILE))
    except OSError:
        return {}
    return parse_workers(text)


def parse_workers(text: str) -> dict[str, JkWorker]:
    """Return the workers of the properties *text*."""
    properties: dict[str, dict[str, str]] = {}
    for line in text.replace("\\\n", " ").split("\n"):
        name, key, value = _property(line)
        if name:
            known = properties.setdefault(name, {})
            several = key in ("balance_workers", "balanced_workers") and key in known
            known[key] = f"{known[key]},{value}" if several else value
    return {name: _worker(name, properties, 0) for name in properties}


def _property(line: str) -> tuple[str, str, str]:
    """Return worker, property and value of ``worker.NAME.PROPERTY=VALUE``; empty texts for another line."""
    full, *values = _SEPARATOR.split(line, maxsplit=1)
    prefix, _, rest = full.strip().partition(".")
    name, _, key = rest.rpartition(".")
    return (name, key, values[0].strip()) if prefix == "worker" and name and values else ("", "", "")


def _worker(name: str, properties: dict[str, dict[str, str]], depth: int) -> JkWorker:
    own = dict(properties.get(name, {}))
    reference = own.get("reference", "")
    if reference.startswith("worker.") and depth < _MAX_DEPTH:
        own = {**properties.get(reference[len("worker.") :], {}), **own}
    kind = own.get("type", "ajp13")
    listed = own.get("balance_workers", own.get("balanced_workers", "")) if kind == "lb" else ""
    members = [member.strip() for member in listed.split(",") if member.strip()]
    return JkWorker(
        name,
        kind,
        own.get("host", "localhost"),
        own.get("port", "8009"),
        tuple([_worker(member, properties, depth + 1) for member in members if depth < _MAX_DEPTH]),
    )
