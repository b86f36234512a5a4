"""`explain FILE:LINE`: the line, the sections around it, and the findings of `check` there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whimbrel.cli import explain, upgrade

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
    assert lines[-2] == "More about C17 order-allow-deny: whimbrel explain C17"
    words = lines[-1].split()
    assert words[:3] == ["Next:", "whimbrel", "upgrade"] and Path(words[3]).samefile(server)


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
    assert "R10 bare-access-lines" in found.stdout
    assert "More about R10 bare-access-lines: whimbrel explain R10\nNext: whimbrel " in found.stdout


def test_the_finding_to_decide_comes_first(server: Path) -> None:
    """Several findings stand at one line: what follows is about the one that a person must decide."""
    main = server / "conf/httpd.conf"
    main.write_text(f"{main.read_text()}LoadModule php5_module modules/libphp5.so\nUser www\n")
    number = main.read_text().splitlines().index("LoadModule php5_module modules/libphp5.so") + 1
    found = run(f"conf/httpd.conf:{number}", str(server))
    assert "C45" in found.stdout, "another rule adds its line here"
    assert "\nMore about C06 foreign-modules: whimbrel explain C06\nNext: whimbrel upgrade " in found.stdout


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


@pytest.fixture
def upgraded(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    site = tmp_path / "site"
    (site / "conf").mkdir(parents=True)
    (site / "conf/httpd.conf").write_text(MAIN.format(root=site) + "FileETag None\n")
    (site / "conf/hosts.conf").write_text(
        HOSTS + "<Directory /else>\n    Require all granted\n</Directory>\n"
    )
    written = CliRunner().invoke(upgrade.app, ["--write", "--no-verify", "--select", "C17", str(site)])
    assert written.exit_code in (0, 3), written.output
    return site


def test_a_line_that_upgrade_wrote_has_its_rule_and_the_old_lines(upgraded: Path) -> None:
    """The rule and the lines are those that the diff of upgrade shows for the same text."""
    path = upgraded / "conf/hosts.conf"
    texts = [line.strip() for line in path.read_text().splitlines()]
    written, unchanged = [number for number, text in enumerate(texts, 1) if text == "Require all granted"]
    shown = run(f"{path}:{written}").stdout
    assert "written by upgrade, C17 order-allow-deny. " in shown
    assert "    2.2 had  Order allow,deny  conf/hosts.conf:6\n" in shown
    assert "    2.2 had  Allow from all  conf/hosts.conf:7\n" in shown
    assert "written by upgrade" not in run(f"{path}:{unchanged}").stdout
    (edit,) = json.loads(run(f"{path}:{written}", "--json").stdout)["written"]
    assert [(one["line"], one["text"]) for one in edit["old"]] == [
        (6, "Order allow,deny"),
        (7, "Allow from all"),
    ]


def test_the_rule_is_found_after_other_lines_are_added_and_not_after_an_undo(upgraded: Path) -> None:
    path = upgraded / "conf/hosts.conf"
    path.write_text("# one\n# two\n" + path.read_text())
    texts = [line.strip() for line in path.read_text().splitlines()]
    number = texts.index("Require all granted") + 1
    assert "written by upgrade, C17" in run(f"{path}:{number}").stdout
    assert CliRunner().invoke(upgrade.app, ["--undo", str(upgraded)]).exit_code == 0
    assert "written by upgrade" not in run(f"{path}:6").stdout


def test_a_line_that_was_added_later_is_not_one_of_upgrade(upgraded: Path) -> None:
    path = upgraded / "conf/hosts.conf"
    path.write_text(path.read_text() + "<Directory /more>\n    Require all granted\n</Directory>\n")
    number = len(path.read_text().splitlines()) - 1
    assert "written by upgrade" not in run(f"{path}:{number}").stdout


def test_a_finding_about_the_section_around_a_line(tmp_path: Path) -> None:
    """A fragment keeps these lines, so that no edit names them; apache2 2.4 refuses `Order` there."""
    file = tmp_path / "a.conf"
    file.write_text(
        "<Directory /a>\n<Limit GET>\n# who\nOrder allow,deny\nAllow from all\n</Limit>\n</Directory>\n"
    )
    found = run(f"{file}:4").stdout
    assert "about the section around it: a.conf:1: C17 order-allow-deny" in found.splitlines()
    assert "about the section" not in run(f"{file}:3").stdout
