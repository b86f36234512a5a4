"""Hosts in a DBM file (mod_proxy_express.html): the back end of each name, and who is not concerned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite
from tests.support.dbm_samples import write_sdbm

from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient

DEBUG = "LogLevel proxy_express:debug\n"
CONF = DEBUG + "ProxyExpressEnable {}\nProxyExpressDBMType SDBM\nProxyExpressDBMFile conf/{}\n"
NAMES = ((b"localhost", b"http://127.0.0.1:9"), (b"b.test", b"ftp://127.0.0.1:9"), (b"empty.test", b""))
FOUND = ["AH01001", "AH01002", "AH01003", "AH01004", "AH01005"]
NO_SCHEME = "AH01144"
"""No protocol handler was valid for the URL: no module of a scheme is loaded."""


def site_of(root: Path, conf: str) -> AccessSite:
    (root / "conf").mkdir()
    write_sdbm(root / "conf/px", *NAMES)
    return AccessSite(root, conf, "2.4", MODULES["2.4"] + " proxy proxy_express rewrite")


def exchanged(site: AccessSite, host: str, path: str = "/f.html") -> tuple[int, list[str]]:
    """Return the status, and the codes without those of access control."""
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"
    client = TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
    answer = client.send(head.encode()).decode("latin-1")
    return int(answer.split(" ", 2)[1]), [code for code in site.codes() if code not in ("AH01626", "AH01628")]


@pytest.mark.parametrize(
    ("enable", "file", "host", "status", "codes"),
    [
        ("on", "px", "localhost", 500, [*FOUND, NO_SCHEME]),
        ("on", "px", "LOCALHOST:81", 500, [*FOUND, NO_SCHEME]),
        ("on", "px", "b.test", 500, [*FOUND, NO_SCHEME]),
        ("on", "px", "other.test", 200, FOUND[:3]),
        ("on", "px", "empty.test", 400, FOUND),
        ("on", "none", "localhost", 200, FOUND[:2]),
        ("off", "px", "localhost", 200, []),
    ],
)
def test_names(tmp_path: Path, enable: str, file: str, host: str, status: int, codes: list[str]) -> None:
    site = site_of(tmp_path, CONF.format(enable, file))
    assert exchanged(site, host) == (status, codes)


def test_the_back_end_gets_the_path_of_the_request(tmp_path: Path) -> None:
    site = site_of(tmp_path, CONF.format("on", "px"))
    site.fetch("/a%20b?c=d")
    text = site._log_text()
    assert re.findall(r"rewritten as: (\S+.*?)$", text, re.MULTILINE)[0] == "proxy:http://127.0.0.1:9/a b"


def test_without_a_file_nothing_is_looked_up(tmp_path: Path) -> None:
    site = site_of(tmp_path, "LogLevel proxy_express:debug\nProxyExpressEnable on\n")
    assert exchanged(site, "localhost") == (200, FOUND[:1])
