"""What answers 500 on the new side alone is named first: how much of which host, why, and the line.

2.2 without AllowOverride reads .htaccess files (its default is All). The default of 2.4 is None, and apache2
2.4 then answers 500 to each directive of such a file: "Options not allowed here".
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whimbrel.cli import verify as verify_command
from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Cause
from whimbrel.verify.difference import Difference
from whimbrel.verify.failures import Failures
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import DifferenceGroup, Example

MODULES = ("alias", "authz_host", "dir", "log_config")
OLD_LOADS = "".join(f"LoadModule {name}_module m/mod_{name}.so\n" for name in MODULES)
NEW_LOADS = OLD_LOADS + "".join(
    f"LoadModule {name}_module m/mod_{name}.so\n"
    for name in ("mpm_event", "unixd", "authz_core", "access_compat")
)


def compare(tmp_path: Path, access: str, more: str = "", override: str = "AllowOverride All") -> Result:
    """Compare a text of 2.2 with itself under 2.4: two hosts, the first of which has AllowOverride."""
    for path in ("www/index.html", "www/sub/a.html", "files/b.html"):
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text("x")
    (tmp_path / "www/.htaccess").write_text(f"Options Indexes\n{access}")
    text = f"Listen 8080\nListen 8081\nServerName a.example\nUser daemon\nGroup daemon\n{more}"
    hosts = "".join(
        f"<VirtualHost *:{port}>\nServerName {name}.example\nDocumentRoot {tmp_path}/www\n"
        f"Alias /files {tmp_path}/files\n<Directory {tmp_path}/www>\nOptions All\n{line}\n</Directory>\n"
        "</VirtualHost>\n"
        for port, name, line in ((8080, "a", "AllowOverride All"), (8081, "b", override))
    )
    sides = []
    for name, loads in (("old", OLD_LOADS), ("new", NEW_LOADS)):
        conf = tmp_path / f"{name}.conf"
        conf.write_text(f"ServerRoot {tmp_path}\n{loads}{text}{hosts}")
        sides.append(str(conf))
    return CliRunner().invoke(verify_command.app, sides)


@pytest.mark.parametrize("access", ["", "Order deny,allow\nDeny from all\nAllow from 192.168.20.0/24\n"])
def test_the_first_lines_name_the_extent_and_the_line(tmp_path: Path, access: str) -> None:
    found = compare(tmp_path, access, override="")
    lines = found.stdout.splitlines()
    first = next(line for line in lines[:5] if "500" in line)
    assert f"files: below {tmp_path}" in lines[:5]  # the places behind it are paths below this one
    assert f"http://b.example:8081/ with files in {tmp_path}/www" in first
    assert "a.example:8080" not in first
    assert "500: no AllowOverride permits Options (www/.htaccess:1)" in first
    assert any(line.startswith("ready for 2.4: no") for line in lines[:3])


def test_the_first_example_is_what_visitors_lose(tmp_path: Path) -> None:
    """A client of the network that 2.2 admits loses ``/``, which most clients never got."""
    access = "<Limit GET>\nOrder deny,allow\nDeny from all\nAllow from 192.168.20.0/24\n</Limit>\n"
    status = "LoadModule status_module m/mod_status.so\n<Location /server-status>\n"
    status += "SetHandler server-status\nOrder allow,deny\nAllow from all\n</Location>\n"
    found = compare(tmp_path, access, more=status, override="")
    lines = found.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("1. "))
    assert ":8081/ from 192.168.20." in lines[at + 1] and lines[at + 1].strip().startswith("GET http://")
    assert lines[at + 2].strip() == "status: old (2.2) 200, new (2.4) 500"
    title = next(
        number for number, line in enumerate(lines) if line.startswith("who gains or loses access: ")
    )
    table = lines[title + 1 :]
    assert table[0].split()[:4] == ["loses", "granted", "->", "500"]
    assert any(line.rstrip().endswith(":8081/") for line in table[:2])


def test_nothing_is_named_where_nothing_fails(tmp_path: Path) -> None:
    found = compare(tmp_path, "")
    assert " 500: " not in found.stdout


def test_a_host_whose_root_is_not_found_does_not_fail_as_a_whole(tmp_path: Path) -> None:
    """Without mod_auth_basic, apache2 2.4.71 answers 500 in both locations, and 404 to ``/nope``."""
    for name in ("a", "b", "c"):
        (tmp_path / "www" / name).mkdir(parents=True)
        (tmp_path / "www" / name / "index.html").write_text("x")
    text = f"Listen 8080\nServerName a.example\nUser daemon\nGroup daemon\nDocumentRoot {tmp_path}/www\n"
    text += "".join(
        f"<Location /{name}>\nAuthType Basic\nAuthName x\nAuthUserFile u\nRequire valid-user\n</Location>\n"
        for name in ("a", "b")
    )
    file = "LoadModule authn_file_module m/mod_authn_file.so\n"
    user = "LoadModule authz_user_module m/mod_authz_user.so\n"
    loads = {
        "old": f"{OLD_LOADS}{file}{user}LoadModule auth_basic_module m/mod_auth_basic.so\n",
        "new": f"{NEW_LOADS}{file}{user}LoadModule authn_core_module m/mod_authn_core.so\n",
    }
    for name, lines in loads.items():
        (tmp_path / f"{name}.conf").write_text(f"ServerRoot {tmp_path}\n{lines}{text}")
    found = CliRunner().invoke(verify_command.app, [str(tmp_path / f"{name}.conf") for name in loads])
    first = next(line for line in found.stdout.splitlines() if " 500: " in line)
    place = "http://a.example:8080"
    assert first.startswith(f"all of {place}/a/ and all of {place}/b/ answer 500: AuthType Basic"), first


def test_a_number_of_requests_is_about_the_origin_behind_it() -> None:
    """A part of the first host fails, and all that was asked of the second one."""
    answers = {
        "a.example": (("/", 500), ("/x/1", 500), ("/x/2", 200), ("/y", 200)),
        "b.example": (("/", 500),),
    }
    failures = Failures()
    for host, rows in answers.items():
        for target, status in rows:
            new = Answer(status, log=("AH1: broken",) if status == 500 else ())
            failures.note(Probe(target, host=host), (Answer(200), new))
    example = Example(Probe("/"), Difference(()), Answer(200), Answer(500, log=("AH1: broken",)))
    group = DifferenceGroup("response", Cause((), ()), examples=[example])
    assert list(failures.sentences([group])) == [
        "http://b.example/ and 2 of 4 requests to http://a.example/ answer 500: broken"
    ]
