"""Configurations made of noise: reading one gives a status and a text, never another exception."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.samples import amount
from whimbrel.base.dialect import DIALECTS, V24, Dialect
from whimbrel.catalogue import catalogue
from whimbrel.config.check import check
from whimbrel.config.configuration import Configuration
from whimbrel.config.htaccess import Override, parse
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL

MPM = {"2.2": b"", "2.4": b"LoadModule mpm_event_module m/mod_mpm_event.so\n"}
LONG = 2.0  # seconds


@cache
def loading(version: str) -> bytes:
    """LoadModule lines for all modules that load without another one's symbols, one MPM among them."""
    rows = [
        row
        for row in catalogue(version).modules
        if not row.is_static and row.kind != "mpm" and not row.needs and row.file in ALL
    ]
    return MPM[version] + "".join(f"LoadModule {row.identifier} m/{row.file}.so\n" for row in rows).encode()


def ask(folder: Path, data: bytes, dialect: Dialect = V24) -> tuple[int, str]:
    """Return the output of -t for *data* after the modules' lines."""
    (folder / "logs").mkdir(exist_ok=True)
    path = folder / "httpd.conf"
    path.write_bytes(loading("2.2" if dialect.version < (2, 4) else "2.4") + b"ServerName localhost\n" + data)
    return check(LoadOptions(server_root=str(folder), file=str(path)), ALL, dialect)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("root")


def names(version: str) -> list[str]:
    """Return directives that need neither a name service nor further files."""
    asking = {
        "include",
        "includeoptional",
        "<virtualhost",
        "namevirtualhost",
        "listen",
        "loadfile",
        "remoteipinternalproxy",
        "remoteiptrustedproxy",
        "remoteipinternalproxylist",
        "remoteiptrustedproxylist",
        "proxysourceaddress",
        "error",
    }
    return sorted({row.name for row in catalogue(version) if row.name.lower() not in asking})


WORD = st.sampled_from(
    [
        b"on",
        b"off",
        b"none",
        b"all",
        b"-1",
        b"0",
        b"99999999999999999999",
        b"+Indexes",
        b"/",
        b"*",
        b"^/(.*)$",
        b"(",
        b"[",
        b"~",
        b'"',
        b"'",
        b'"a b"',
        b"\\",
        b"%{HTTP_HOST}",
        b"%{",
        b"${x}",
        b"env=!a",
        b"expr=",
        b"-f",
        b"==",
        b">",
        b"<",
        b"text/html",
        b"\xff\xfe",
        b"user",
        b"granted",
        b"R=301,L",
        b"[L]",
        b"%t %h",
        b"dbm:x",
        b"|/bin/true",
        b"!a",
        b"a=b",
        b"5s",
        b"1.2.3.4/33",
        b"::/129",
        b"http://[",
        b"\x01",
        b"9" * 5000,
    ]
) | st.binary(max_size=8).map(lambda raw: raw.replace(b"\n", b" "))


def line(version: str) -> st.SearchStrategy[bytes]:
    return st.builds(
        lambda name, words: (
            name.encode() + b" " + b" ".join(words) + (b">" if name[0] == "<" else b"") + b"\n"
        ),
        st.sampled_from(names(version)),
        st.lists(WORD, max_size=5),
    )


def text(version: str) -> st.SearchStrategy[bytes]:
    """Lines, some of them in sections that are closed as they should be."""

    def closed(head: bytes, body: bytes, rest: bytes) -> bytes:
        return b"<%s>\n%s</%s>\n%s" % (head, body, head.split()[0], rest)

    section = st.sampled_from(
        [
            b"Directory /",
            b"Location /x",
            b"Files x",
            b"If true",
            b"Limit GET",
            b"RequireAll",
            b"IfModule core.c",
            b"Proxy *",
        ]
    )
    return st.recursive(
        st.lists(line(version), max_size=4).map(b"".join),
        lambda inner: st.builds(closed, section, inner, inner),
        max_leaves=4,
    )


RELAXED = settings(
    max_examples=int(os.environ.get("WHIMBREL_FUZZ", amount(60, 150))),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@RELAXED
@given(data=st.binary(max_size=400), version=st.sampled_from(["2.2", "2.4"]))
def test_bytes(folder: Path, data: bytes, version: str) -> None:
    status, said = ask(folder, data, DIALECTS[version])
    assert status in (0, 1)
    assert said


@RELAXED
@given(data=text("2.4"))
def test_lines_of_24(folder: Path, data: bytes) -> None:
    assert ask(folder, data)[0] in (0, 1)


@RELAXED
@given(data=text("2.2"))
def test_lines_of_22(folder: Path, data: bytes) -> None:
    assert ask(folder, data, DIALECTS["2.2"])[0] in (0, 1)


@cache
def whole(folder: Path, version: str) -> Configuration:
    """A configuration with all modules, below which .htaccess files are read."""
    (folder / "logs").mkdir(exist_ok=True)
    path = folder / f"whole-{version}.conf"
    path.write_bytes(loading(version) + b"ServerName localhost\n")
    return load(LoadOptions(server_root=str(folder), file=str(path), check_only=True), ALL, DIALECTS[version])


@RELAXED
@given(data=text("2.4") | st.binary(max_size=200), version=st.sampled_from(["2.2", "2.4"]))
def test_htaccess(folder: Path, data: bytes, version: str) -> None:
    configuration = whole(folder, version)
    found = parse(configuration, configuration.main, f"{folder}/.htaccess", data, Override(31, 255, None))
    assert (found.layer is None) == (found.error is not None)


Make = Callable[[Path], bytes]


def looping(folder: Path) -> bytes:
    (folder / "loop.conf").write_text("Include loop.conf\n")
    return b"Include loop.conf\n"


def loop_of_folders(folder: Path) -> bytes:
    (folder / "d").mkdir()
    (folder / "d/d").symlink_to("../d")
    return b"Include d\n"


def pipe(folder: Path) -> bytes:
    os.mkfifo(folder / "pipe")
    return b"Include pipe\n"


def unreadable(folder: Path) -> bytes:
    (folder / "closed").mkdir()
    (folder / "closed").chmod(0)
    return b"Include closed/nothing/*.conf\n"


def doubling(_folder: Path) -> bytes:
    return b"Define v0 xxxxxxxxxx\n" + b"".join(
        b"Define v%d ${v%d}${v%d}\n" % (n, n - 1, n - 1) for n in range(1, 40)
    )


NESTED = b"<Directory />\n%s</Directory>\n"
HARD: dict[str, tuple[Make, int]] = {
    "a program": (lambda _: random.Random(7).randbytes(1 << 20), 1),
    "zeros": (lambda _: bytes(5_000_000), 0),
    "a line of 10 MB": (lambda _: b"ServerAdmin " + b"x" * 10_000_000 + b"\n", 0),
    "a line of 17 MB": (lambda _: b"ServerAdmin " + b"x" * 17_000_000 + b"\n", 1),
    "10 MB of words": (lambda _: NESTED % (b"Options " + b"None " * 2_000_000 + b"\n"), 1),
    "sections": (lambda _: NESTED % (b"<Files x>\n" * 999 + b"</Files>\n" * 999), 0),
    "conditions": (lambda _: b"<If true>\n" * 1000 + b"</If>\n" * 1000, 0),
    "requirements": (
        lambda _: NESTED % (b"<RequireAll>\n" * 999 + b"Require all granted\n" + b"</RequireAll>\n" * 999),
        0,
    ),
    "too many sections": (lambda _: b"<If true>\n" * 100_000 + b"</If>\n" * 100_000, 1),
    "skipped sections": (lambda _: b"<IfModule no.c>\n" * 10_000 + b"</IfModule>\n" * 10_000, 0),
    "open sections": (lambda _: b"<Directory />\n" * 10_000, 1),
    "a file that includes itself": (looping, 1),
    "a folder within itself": (loop_of_folders, 1),
    "a pipe": (pipe, 1),
    "a device": (lambda _: b"Include /dev/zero\n", 1),
    "a closed folder": (unreadable, 1),
    "variables of variables": (doubling, 1),
    "a macro in itself": (lambda _: b"<Macro m>\nUse m\n</Macro>\nUse m\n", 1),
    "a number of 100,000 digits": (lambda _: b"Timeout " + b"9" * 100_000 + b"\n", 0),
    "a deep expression": (lambda _: b'<If "' + b"!" * 50_000 + b'true">\n</If>\n', 1),
    "a deep pattern": (lambda _: b"RedirectMatch " + b"(" * 5_000 + b" /x\n", 1),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_ones_end_soon(tmp_path: Path, name: str) -> None:
    make, status = HARD[name]
    data = make(tmp_path)
    begin = time.process_time()
    got, said = ask(tmp_path, data)
    assert time.process_time() - begin < LONG
    assert got == status or (name == "a closed folder" and os.getuid() == 0), said[-300:]
    assert "Traceback" not in said
