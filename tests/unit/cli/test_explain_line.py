"""`explain FILE:LINE`: the line, the sections around it, and the findings of `check` there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whimbrel.cli import explain

MAIN = """ServerRoot {root}
LoadModule authz_host_module modules/mod_authz_host.so
Include conf/hosts.conf
"""
HOSTS = """<VirtualHost *:80>
    ServerName \\
        a.example
    <Directory /nowhere>
        # who may enter
        Order allow,deny
        Allow from all
    </Directory>
    <Location /b>
        Options None
    </Location>
</VirtualHost>
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/httpd.conf").write_text(MAIN.format(root=tmp_path))
    (tmp_path / "conf/hosts.conf").write_text(HOSTS)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(explain.app, [*words])


@pytest.mark.parametrize("form", ["file", "server", "before", "directory"])
def test_a_line_with_its_finding(server: Path, form: str) -> None:
    words = {
        "file": (f"{server}/conf/hosts.conf:6",),
        "server": ("conf/hosts.conf:6", str(server)),
        "before": (str(server), "conf/hosts.conf:6"),
        "directory": ("conf/hosts.conf:6", "-d", str(server)),
    }[form]
    found = run(*words)
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["conf/hosts.conf:6", "Order", "allow,deny"],
        ["in", "<VirtualHost", "*:80>", "conf/hosts.conf:1"],
        ["<Directory", "/nowhere>", "conf/hosts.conf:4"],
    ]
    assert "C17 order-allow-deny" in found.stdout and "= included from conf/httpd.conf:3" in found.stdout
    assert lines[-1] == "Next: whimbrel explain C17"


def test_a_line_without_finding(server: Path) -> None:
    for number, sections in ((3, 1), (7, 2), (8, 2), (9, 1), (10, 2), (12, 1)):
        found = run("conf/hosts.conf:" + str(number), str(server), "--json")
        document = json.loads(found.stdout)
        assert found.exit_code == 0
        assert len(document["sections"]) == sections, number
        assert bool(document["findings"]) is (number == 7), number
    found = run("conf/hosts.conf:10", str(server))
    assert "check finds nothing at this line" in found.stdout
    assert found.stdout.endswith(f"Next: whimbrel check {server}\n")
    joined = json.loads(run("conf/hosts.conf:2", str(server), "--json").stdout)
    assert joined["text"] == "ServerName a.example"


def test_a_file_alone(tmp_path: Path) -> None:
    part = tmp_path / "part.conf"
    part.write_text("Order allow,deny\n")
    found = run(f"{part}:1")
    assert found.exit_code == 0 and "in  no section of this file" in found.stdout
    assert "R10 bare-access-lines" in found.stdout and found.stdout.endswith("Next: whimbrel explain R10\n")


def test_what_is_not_there(server: Path) -> None:
    (server / "other.txt").write_text("x\n")
    (server / "conf/other.conf").write_text("Listen 80\n")
    lone = run("conf/other.conf:1", str(server))
    assert lone.exit_code == 0 and f"no Include of {server} reads this file" in lone.stdout
    assert "no Include" not in run("conf/hosts.conf:1", str(server)).stdout
    for words, problem in (
        ((f"{server}/conf/hosts.conf:99",), "the file has 12 lines"),
        (("conf/none.conf:1", str(server)), "no such file here, nor in "),
        ((f"{server}/other.txt:1", "-d", f"{server}/conf"), f"{server}/conf does not read this file"),
    ):
        found = run(*words)
        assert found.exit_code == 2, (words, found.output)
        assert problem in found.stderr, found.stderr


def test_a_file_beside_a_main_file_that_is_not_below_the_server_root(tmp_path: Path) -> None:
    """SUSE's packages are built with HTTPD_ROOT /srv/www and the main file /etc/apache2/httpd.conf."""
    (tmp_path / "srv/www").mkdir(parents=True)
    (tmp_path / "etc/apache2/vhosts.d").mkdir(parents=True)
    (tmp_path / "etc/apache2/sysconfig.d").mkdir()
    main = "Listen 80\nInclude /etc/apache2/sysconfig.d/\nInclude /etc/apache2/vhosts.d/*.conf\n"
    (tmp_path / "etc/apache2/httpd.conf").write_text(main)
    (tmp_path / "etc/apache2/vhosts.d/a.conf").write_text(HOSTS)
    for server in (tmp_path, tmp_path / "etc/apache2"):
        found = run("vhosts.d/a.conf:6", str(server))
        assert found.exit_code == 0 and "Order allow,deny" in found.stdout, found.output


def test_a_finding_about_the_section_around_a_line(tmp_path: Path) -> None:
    """A fragment keeps these lines, so that no edit names them; apache2 2.4 refuses `Order` there."""
    file = tmp_path / "a.conf"
    file.write_text(
        "<Directory /a>\n<Limit GET>\n# who\nOrder allow,deny\nAllow from all\n</Limit>\n</Directory>\n"
    )
    found = run(f"{file}:4").stdout
    assert "about the section around it: a.conf:1: C17 order-allow-deny" in found.splitlines()
    assert "about the section" not in run(f"{file}:3").stdout
