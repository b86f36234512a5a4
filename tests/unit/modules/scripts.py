"""Sites with programs: what the tests of CGI and its relatives share."""

from __future__ import annotations

import os
from pathlib import Path

from tests.unit.modules.asked import Reply, ask, engine

from whimbrel.engine.engine import Engine

CGI = """
LoadModule cgi_module modules/mod_cgi.so
<Directory "@/htdocs">
Options +ExecCGI
AddHandler cgi-script .cgi
</Directory>
"""


def script(words: str) -> str:
    """A program that prints *words*, as printf reads them."""
    return f"#!/bin/sh\nprintf '{words}'\n"


def site(root: Path, files: dict[str, str], conf: str = "", version: str = "2.4", base: str = CGI) -> Engine:
    """An engine on files of which those that end in .cgi may be executed."""
    made = engine(root, base + conf, {f"htdocs/{name}": text for name, text in files.items()}, version)
    for path in (root / "htdocs").rglob("*.cgi"):
        os.chmod(path, 0o755)
    return made


def body(reply: Reply) -> str:
    """The body without the marks of its chunks."""
    if reply.get("Transfer-Encoding") != "chunked":
        return reply.body
    out, rest = "", reply.body
    while rest:
        size, _, rest = rest.partition("\r\n")
        out, rest = out + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return out


def log(serving: Engine) -> str:
    """The error log of the engine."""
    parts = [b"".join(lines) for target, lines in serving.runtime.logs.items() if "error" in target]  # type: ignore[attr-defined]
    return b"".join(parts).decode("latin-1")


def said(root: Path, words: str, version: str = "2.4", conf: str = "") -> Reply:
    """The answer that a program's output makes."""
    return ask(site(root, {"a.cgi": script(words), "plain.txt": "PLAIN\n"}, conf, version), "/a.cgi")
