"""The document root that all servers share, and the questions that are asked of it."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from pathlib import Path

USER, PASSWORD = "bench", "curlew"
HASH = "$apr1$wHiMbReL$IsCG8LSLZ6oGsVOJ/oUK0."
FILES = {"1k.html": 1024, "100k.html": 100 * 1024, "10m.bin": 10 * 1024 * 1024, "private/1k.html": 1024}


@dataclass(frozen=True)
class Case:
    """One request, asked over and over; every answer must have *status* and, unless it is an error page, *length* bytes."""

    name: str
    path: str
    status: int = 200
    length: int | None = None
    connections: int = 32
    headers: dict[str, str] = field(default_factory=dict)


def basic() -> str:
    """The Authorization value of the one user."""
    return "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


CASES = (
    Case("1k", "/1k.html", length=1024),
    Case("100k", "/100k.html", length=100 * 1024),
    Case("10m", "/10m.bin", length=10 * 1024 * 1024, connections=8),
    Case("404", "/no/such/page.html", status=404),
    Case("auth", "/private/1k.html", length=1024, headers={"Authorization": basic()}),
)


def lay_out(root: Path) -> None:
    """Writes documents, password file and empty folders for logs below *root*, readable by the servers' user."""
    for name, size in FILES.items():
        path = root / "htdocs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((b"The whimbrel migrates without a stop.\n" * (size // 38 + 1))[:size])
    (root / "passwd").write_text(f"{USER}:{HASH}\n")
    for folder in (root, *(p for p in root.rglob("*") if p.is_dir())):
        os.chmod(folder, 0o755)
