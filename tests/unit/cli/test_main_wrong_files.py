"""Wrong files given to every command: one sentence with file, line and remedy, the right exit code, and no
wrong file changed.

The lines that are named are those at which httpd stops, or where the damage is.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from whimbrel.api import ConfigurationError, load
from whimbrel.cli.main import app

MODULES = ("mpm_event", "authz_core", "authz_host", "access_compat", "dir", "alias", "mime")
ACCESS = b"Order allow,deny\nDeny from all\nAllow from 10.0.0.1\n"
NGINX = b"""user www-data;
worker_processes auto;
events {
    worker_connections 768;
}
http {
    server {
        listen 80;
        location / {
            allow 10.0.0.0/8;
            deny all;
        }
        include sites/*;
    }
}
"""


class Wrong(NamedTuple):
    """A kind of wrong file: how it is made of a right one, and what must be printed about it.

    Attributes:
        made: the wrong text, of a right one.
        said: the sentence without path and line.
        line: the line, counted from the first line behind the right text if it is negative.
        remedy: a part of the advice.
        is_editable: other lines of the file may be upgraded.
    """

    made: Callable[[bytes], bytes]
    said: str
    line: int
    remedy: str
    is_editable: bool = False


KINDS = {
    "elf": Wrong(lambda text: b"\x7fELF\x02\x01\x01" + bytes(90), "the file is binary", 1, "give a text"),
    "utf-16": Wrong(
        lambda text: b"\xff\xfe" + text.decode().encode("utf-16-le"), "the text is UTF-16", 1, "iconv"
    ),
    "bom": Wrong(lambda text: b"\xef\xbb\xbf" + text, "begins with a byte order mark", 1, "remove the first"),
    "nul": Wrong(lambda text: text + b"Option\0s None\n", "a NUL byte", -1, "remove the NUL"),
    "erb": Wrong(
        lambda text: text + b"<% if @allow %>\nOptions None\n<% end %>\n",
        "template",
        -1,
        "is written from",
        is_editable=True,
    ),
    "j2": Wrong(lambda text: text + b"Options {{ options }}\n", "template", -1, "is written from", True),
    "tpl": Wrong(lambda text: text + b"Options @OPTIONS@\n", "template", -1, "is written from", True),
    "nginx": Wrong(lambda text: NGINX, "no configuration of httpd", 1, "give a configuration"),
    "unclosed": Wrong(
        lambda text: text + b'<Files "x">\nOptions None\n', "<Files> is not closed", -1, "write </Files>"
    ),
    "misspelled": Wrong(
        lambda text: text + b"DirectryIndex x\n", "DirectryIndex", -1, "write DirectoryIndex"
    ),
}
PLACES = ("main", "include", "htaccess", "fragment")


class Site(NamedTuple):
    """A server with one wrong file; *main* is what the commands get."""

    root: Path
    main: Path
    wrong: Path
    line: int


def site(root: Path, kind: str, place: str) -> Site:
    for name in ("htdocs", "conf", "logs"):
        (root / name).mkdir(parents=True)
    (root / "conf/mime.types").write_text("text/html html\n")
    (root / "htdocs/index.html").write_text("x")
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in MODULES)
    head = (
        f'ServerRoot "{root}"\n{loads}ServerName www.example.com\nListen 127.0.0.1:18999\n'
        f'DocumentRoot "{root}/htdocs"\n<Directory "{root}/htdocs">\nAllowOverride All\n</Directory>\n'
    ).encode()
    section = b'<Directory "%b/htdocs">\n%b</Directory>\n' % (bytes(root), ACCESS)
    right = {"main": head + section, "htaccess": ACCESS}.get(place, section)
    main = root / "conf/httpd.conf"
    main.write_bytes(head)
    wrong = {
        "main": main,
        "include": root / "conf/extra.conf",
        "htaccess": root / "htdocs/.htaccess",
        "fragment": root / "conf/site.conf",
    }[place]
    if place == "include":
        main.write_bytes(head + b"Include conf/extra.conf\n")
    wrong.write_bytes(KINDS[kind].made(right))
    line = KINDS[kind].line
    line = line if line > 0 else right.count(b"\n") - line
    return Site(root, wrong if place == "fragment" else main, wrong, line)


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """A function that runs a command here and returns its exit code and all its output."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "500")

    def run_command(*words: object) -> tuple[int, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            app(list(map(str, words)), prog_name="whimbrel")
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out + err

    return run_command


def assert_told(text: str, found: Site, kind: str) -> None:
    """The sentence, with path, line and remedy; once for each of two sides at most."""
    wrong = KINDS[kind]
    assert "Traceback" not in text
    places = f"{found.wrong.name}:{found.line}:", f"line {found.line}:"  # fmt names the file first
    lines = [line for line in text.splitlines() if any(place in line for place in places)]
    at_end = f"{found.wrong.name}:{found.line}"  # the column of places of an explanation
    lines += [line for line in text.splitlines() if line.endswith(at_end)]
    frame = re.compile(rf"(?:\S*/)?{re.escape(at_end)}  \S.*")
    frames = [block for block in text.split("\n\n") if frame.match(block)]
    assert any(wrong.said in unit for unit in (*lines, *frames)), text
    assert wrong.remedy in " ".join(text.split()), text  # lines may be wrapped


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_check_and_upgrade(
    tmp_path: Path, kind: str, place: str, run: Callable[..., tuple[int, str]]
) -> None:
    for is_lone in (False, True) if place == "htaccess" else (False,):
        found = site(tmp_path / f"srv{is_lone}", kind, place)
        before = found.wrong.read_bytes()
        conf = found.wrong if is_lone else found.main
        code, text = run("check", conf)
        assert_told(text, found, kind)
        assert code == 1
        for words in ((), ("--out", tmp_path / f"out-{conf.name}"), ("--write",)):
            code, text = run("upgrade", *words, conf)
            assert_told(text, found, kind)
            assert code in ((1, 3) if not words else (3,)), text  # 1: the diff of another file
            if not KINDS[kind].is_editable:
                assert found.wrong.read_bytes() == before


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_verify_explain_and_replay(
    tmp_path: Path, kind: str, place: str, run: Callable[..., tuple[int, str]]
) -> None:
    found = site(tmp_path / "srv", kind, place)
    log = tmp_path / "log"
    log.write_text('192.0.2.7 - - [10/Oct/2024:13:55:36 +0000] "GET /index.html HTTP/1.0" 500 1 "-" "-"\n')
    is_read = place == "htaccess"  # by requests; what httpd does not start with is the result
    commands: dict[tuple[object, ...], int] = {
        ("verify", "--old-dialect", "2.4", found.main): 3 if is_read else 2,
        ("explain", "-f", found.main, "/index.html"): 3 if is_read else 1,
        ("replay", "-j", "1", "--old-dialect", "2.4", "--old", found.main, "--new", found.main, log): (
            3 if is_read else 1
        ),
    }
    for words, expected in commands.items():
        code, text = run(*words)
        assert code == expected, text
        assert_told(text, found, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_rewrite_test_and_the_api(tmp_path: Path, kind: str, run: Callable[..., tuple[int, str]]) -> None:
    cases = tmp_path / "cases"
    cases.write_text("/index.html 200\n")
    for place in ("main", "include"):
        found = site(tmp_path / place, kind, place)
        before = found.wrong.read_bytes()
        code, text = run("rewrite-test", found.main, cases)
        assert code == 2, text
        assert_told(text, found, kind)
        with pytest.raises(ConfigurationError) as refused:
            load(found.main).get("/index.html")
        assert_told(str(refused.value), found, kind)
        findings = load(found.main).check().findings
        assert any(
            KINDS[kind].said in one.message and (one.file, one.line) == (str(found.wrong), found.line)
            for one in findings
        )
        load(found.main).upgrade(verify=False)
        assert found.wrong.read_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
def test_serve_ends_with_the_message_of_httpd(tmp_path: Path, kind: str) -> None:
    """It names the file, and a line at which httpd stops."""
    found = site(tmp_path / "srv", kind, "include")
    before = found.wrong.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "whimbrel", "serve", str(found.main)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    text = done.stderr.decode("latin-1")
    assert done.returncode == 1 and "Traceback" not in text
    assert re.search(rf"yntax error on line \d+ of {re.escape(str(found.wrong))}:", text), text
    assert found.wrong.read_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
def test_fmt(tmp_path: Path, kind: str, run: Callable[..., tuple[int, str]]) -> None:
    for place in PLACES:
        found = site(tmp_path / place, kind, place)
        before = found.wrong.read_bytes()
        for option in ((), ("--check",), ("--diff",)):
            code, text = run("fmt", *option, found.wrong)
            assert (code, text.count("\n")) == (2, 1)
            assert_told(text, found, kind)
            assert found.wrong.read_bytes() == before
        assert sorted(path.name for path in found.wrong.parent.iterdir() if "~" in path.name) == []


@pytest.mark.parametrize("kind", ["elf", "unclosed", "misspelled"])
def test_the_server_prints_what_httpd_prints(tmp_path: Path, kind: str) -> None:
    """`-t` has httpd's messages to the letter: the wrong file and its line."""
    found = site(tmp_path / "srv", kind, "include")
    done = subprocess.run(
        [sys.executable, "-c", "from whimbrel.cli.httpd import main; main()", "-t", "-f", str(found.main)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"line {found.line} of {found.wrong}" in done.stderr
