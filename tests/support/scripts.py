"""Sites with CGI programs, and pages that mod_include parses."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.client import Reply, fetch
from tests.support.engine import build_engine
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection, Request

CGI = """
LoadModule cgi_module modules/mod_cgi.so
<Directory "@/htdocs">
Options +ExecCGI
AddHandler cgi-script .cgi
</Directory>
"""
SSI = (
    "LoadModule include_module modules/mod_include.so\n<Directory @/htdocs>\nOptions +Includes\n"
    "AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n</Directory>\n"
)
SSI_ERROR = "[an error occurred while processing this directive]"


def script(output: str) -> str:
    """Return the text of a program that prints *output*, in the notation of printf(1)."""
    return f"#!/bin/sh\nprintf '{output}'\n"


def build_cgi_engine(
    root: Path, files: dict[str, str], conf: str = "", version: str = "2.4", base: str = CGI
) -> Engine:
    """Return an engine on *files*; those that end in .cgi are executable."""
    engine = build_engine(
        root, base + conf, {f"htdocs/{name}": text for name, text in files.items()}, version
    )
    for path in (root / "htdocs").rglob("*.cgi"):
        os.chmod(path, 0o755)
    return engine


def fetch_script(root: Path, output: str, version: str = "2.4", conf: str = "") -> Reply:
    """Return the response made from a program's output."""
    files = {"a.cgi": script(output), "plain.txt": "PLAIN\n"}
    return fetch(build_cgi_engine(root, files, conf, version), "/a.cgi")


def script_request(root: Path, version: str = "2.4") -> Request:
    """Return a request for /x/a.cgi."""
    serving = build_engine(root, "", version=version)
    r = Request(
        serving, Connection("127.0.0.1", 1, "127.0.0.1", 80), serving.main, serving.plans.root(serving.main)
    )
    r.filename, r.time = "/x/a.cgi", 1_700_000_000.0
    return r
