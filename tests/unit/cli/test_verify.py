"""whimbrel verify: exit codes and formats."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli.verify import app
from whimbrel.config.options import LoadOptions
from whimbrel.verify.side import Side

HEAD = """LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule alias_module modules/mod_alias.so
ServerRoot "{root}"
ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot "{root}/htdocs"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("conf", "logs", "htdocs"):
        (tmp_path / name).mkdir()
    return tmp_path


def write(root: Path, name: str, text: str) -> str:
    path = root / "conf" / name
    path.write_text(HEAD.format(root=root) + text)
    return str(path)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["--old-dialect", "2.4", *arguments])
    return result.exit_code, result.output


def test_same(root: Path) -> None:
    code, output = run(write(root, "a.conf", "Redirect /a /b\n"), write(root, "b.conf", "Redirect /a /b\n"))
    assert code == 0 and output.startswith("old (2.4) and new (2.4): same\n")


def test_different(root: Path) -> None:
    code, output = run(write(root, "a.conf", "Redirect /a /b\n"), write(root, "b.conf", "Redirect /a /c\n"))
    assert code == 1
    assert "lines of new (2.4)\n        conf/b.conf:8: Redirect /a /c\n" in output
    assert "\x1b" not in output


@pytest.mark.parametrize(
    ("line", "stops"),
    [
        ("LoadModule suphp_module modules/mod_suphp_of_nobody.so", True),
        ("Include conf/not-here.conf", True),
        ("IncludeOptional conf/not-here.conf", False),
        ('Alias /x "/no/such/directory/"', False),
        ("<VirtualHost *:81>\nDocumentRoot /no/such/directory\n</VirtualHost>", False),
    ],
)
def test_a_line_that_stops_the_new_server_comes_first(root: Path, line: str, *, stops: bool) -> None:
    """What is left out of a comparison would end the start, as httpd -t of the same text says."""
    old = write(root, "a.conf", "Redirect /a /b\n")
    new = write(root, "b.conf", f"Redirect /a /c\n{line}\n")
    side = Side.load(LoadOptions(server_root=str(root), file="conf/b.conf"), "2.4")
    assert bool(side.errors) == stops, side.errors
    code, output = run(old, new)
    assert code == 1
    found = "start: new (2.4) does not start here: conf/b.conf:9: "
    assert output.startswith(found) == stops and output.count("does not start here") == stops, output
    stated = json.loads(run(old, new, "--format", "json")[1])["no_start"]
    assert bool(stated) == stops and (not stops or output.startswith(found + stated.partition(": ")[2][:40]))
    assert ("does not start here" in run(old, new, "--format", "html")[1]) == stops
    assert "does not start here" not in run(new, old)[1]


def test_a_user_that_is_not_here_is_named_once(root: Path) -> None:
    """The first line says that no server starts here; what is not known says it of other lines alone."""
    module = "LoadModule unixd_module modules/mod_unixd.so\n"
    lines = f"{module}User nobody-has-this-name\nGroup nobody-has-this-name\n"
    old, new = (write(root, f"{name}.conf", f"Redirect /a /{name}\n{lines}") for name in "bc")
    _code, output = run(old, new)
    first = output.splitlines()[0]
    assert first.startswith("start: new (2.4) does not start here: ")
    assert "conf/c.conf:10: bad user name nobody-has-this-name; conf/c.conf:11: bad group name" in first
    assert output.count("bad user name") == 1 and output.count("bad group name") == 1
    page = run(old, new, "--format", "html")[1]
    assert page.count("bad user name") == 1


@pytest.mark.parametrize("shape", ["json", "sarif", "html", "text"])
def test_formats(root: Path, shape: str) -> None:
    old, new = write(root, "a.conf", "Redirect /a /b\n"), write(root, "b.conf", "Redirect /<a> /c\n")
    code, output = run(old, new, "--format", shape)
    assert code == 1
    if shape == "json":
        assert json.loads(output)["verdict"] == "different"
    elif shape == "sarif":
        assert {one["ruleId"] for one in json.loads(output)["runs"][0]["results"]} == {"V-RESPONSE"}
    elif shape == "html":
        assert output.startswith("<!DOCTYPE html>") and output.count("<script") == 1 and "/<a>" not in output


def test_what_does_not_load(root: Path) -> None:
    code, output = run(write(root, "a.conf", "Nonsense\n"), write(root, "b.conf", ""))
    assert code == 2 and "Invalid command 'Nonsense'" in output


def test_wrong_usage(root: Path) -> None:
    assert run(str(root / "none.conf"))[0] == 2
    assert run("--format", "xml", write(root, "a.conf", ""))[0] == 2


def test_a_fragment_gets_a_hint(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (root / "part.conf").write_text("Redirect /a /b\n")
    run(str(root / "part.conf"))
    assert "part.conf: a fragment, which was read as a whole server\nhint: " in capfd.readouterr().err
    run(write(root, "httpd.conf", ""))
    assert "hint" not in capfd.readouterr().err


def test_access_that_differs_is_a_table(root: Path) -> None:
    head = "LoadModule authz_host_module modules/mod_authz_host.so\n"
    section = f'{head}<Directory "{root}/htdocs">\n{{}}\n</Directory>\n'
    old = section.format("<RequireAll>\nRequire all granted\nRequire not ip 192.0.2.0/24\n</RequireAll>")
    new = section.format("Require all granted")
    code, output = run(write(root, "a.conf", old), write(root, "b.conf", new))
    assert code == 1
    at = output.index("who gains or loses access")
    row, client, place = output[at:].splitlines()[1:4]
    assert row.split() == ["gains", "403", "->", "granted", "(404)", "GET", "http://localhost:8080/"]
    assert client.strip() == "192.0.2.0/24"
    assert re.fullmatch(r"\S+\.conf:\d+", place.strip())
    assert re.search(r"\b1 cause of [0-9]+ differences?, 0 lines or chains not decided", output)
    assert "<RequireAll" not in output  # the lines within decide
    _, whole = run(str(root / "conf/a.conf"), str(root / "conf/b.conf"), "--format", "json")
    assert "<RequireAll>" in whole and "<RequireAll >" not in whole


def test_what_check_leaves_to_a_person_is_beside_the_sentence(tmp_path: Path) -> None:
    for name in ("conf", "logs", "htdocs"):
        (tmp_path / name).mkdir()
    loads = "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\nFileETag MTime Size\n"
    rule = "RewriteRule ^/old/(.*)$ /new/$1 [R=301,L]\n"
    reviewed = f"# whimbrel: ignore[R01,R02]\n{rule}"
    options = "<Directory />\nOptions None\nAllowOverride None\n</Directory>\n"
    old = tmp_path / "conf/old.conf"
    old.write_text(
        f'ServerRoot "{tmp_path}"\nServerName localhost\nListen 127.0.0.1:8080\n'
        f'DocumentRoot "{tmp_path}/htdocs"\n{loads}{options}{rule}'
    )
    for name, text, sentence in (
        ("new.conf", rule, "to decide: 1 finding at 1 place"),
        ("reviewed.conf", reviewed, ""),
        # the answers show a handler that is missing on both sides
        ("handler.conf", f"{reviewed}<Location /status>\nSetHandler server-status\n</Location>\n", ""),
    ):
        new = write(tmp_path, name, f"LoadModule unixd_module modules/mod_unixd.so\n{loads}{options}{text}")
        output = CliRunner().invoke(app, [str(old), new]).output
        ready = next(line for line in output.splitlines() if line.startswith("ready for 2.4: "))
        if "ignore[R01" in text:  # the comment names the rule that reports the 403 for /old/x%3fx
            assert ready.startswith("ready for 2.4: not yet: ") and "of other answers" in ready
            assert f"    decided in the text: R01 at conf/{os.path.basename(new)}:" in output
        else:
            assert ready == "ready for 2.4: no: 1 cause of access that differs"
        assert (sentence in output) and ("to decide: " in output) is bool(sentence), output
        asked = (
            "  R01 unsafe-urls  conf/new.conf:16  May URLs of `^/old/(.*)$` get 403 where a question mark "
        )
        assert (asked in output) is bool(sentence), output


def test_a_directory_of_logs_that_is_missing_stops_the_server(root: Path) -> None:
    """`apache2 -t` of such a text ends with AH02291; no line names the default logs/error_log."""
    text = write(root, "a.conf", "")
    code, output = run(text)
    assert code == 0 and "does not start" not in output, output
    (root / "logs").rmdir()
    code, output = run(text)
    reason = "does not start here: (2)No such file or directory: AH02291: Cannot access directory"
    assert output.startswith(f"start: new (2.4) {reason}") and output.count("AH02291") == 1, output
    assert code == 0  # the same text as both sides stops alike
