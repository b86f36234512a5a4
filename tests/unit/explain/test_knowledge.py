"""What an explanation does not know matters only to requests that meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whimbrel.cli import explain
from whimbrel.modules.support.dbm import sdbm_writer

MODULES = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("mpm_event authz_core authz_user authn_core authn_file auth_basic dir alias unixd".split())
)


def site(root: Path, text: str) -> Path:
    (root / "htdocs").mkdir()
    (root / "htdocs/index.html").write_text("x\n")
    (root / "users").write_text("alice:x\n")
    path = root / "httpd.conf"
    path.write_text(f"ServerRoot {root}\n{MODULES}Listen 8080\nServerName a\nDocumentRoot htdocs\n{text}")
    return path


def run(file: Path, *words: str) -> Result:
    return CliRunner().invoke(explain.app, [*words, "-f", str(file)])


def test_a_directory_that_is_not_here(tmp_path: Path) -> None:
    lines = "<Directory /nowhere/far>\nAllowOverride All\n</Directory>\n"
    file = site(tmp_path, f"Alias /far /nowhere/far\n{lines}")
    found = run(file, "/far/x", "--json")
    unknown = json.loads(found.stdout)["knowledge"]["unknown"]
    assert found.exit_code == 3
    assert [item["subject"] for item in unknown if item["matters"]] == ["directory /nowhere/far/ is not here"]
    assert run(file, "/index.html").exit_code == 0


def test_lines_that_were_left_out_are_named(tmp_path: Path) -> None:
    found = run(site(tmp_path, "LoadModule x_module modules/mod_x.so\nXThing on\n"), "/index.html")
    assert found.exit_code == 3
    (line,) = [line for line in found.stdout.splitlines() if "XThing: a directive of a module" in line]
    assert "\nnot known      " in found.stdout and "  httpd.conf:" in line
    assert "left out: httpd.conf:" in run(tmp_path / "httpd.conf", "/index.html", "-v").stdout


PROTECTED = '<Location />\nAuthType Basic\nAuthName "x"\nAuthUserFile {}\nRequire valid-user\n</Location>\n'


def test_a_user_whom_the_password_file_lacks_is_not_found(tmp_path: Path) -> None:
    """As apache2: AH01618, and nothing is uncertain about it; the same in another file does not help."""
    other = f'<Location /other>\nAuthUserFile "{tmp_path}/more"\n</Location>\n'
    file = site(tmp_path, PROTECTED.format("users") + other)
    (tmp_path / "more").write_text("robin:x\n")
    assert run(file, "/index.html", "--user", "alice").exit_code == 0
    for user in ("robin", "eve"):
        found = run(file, "/index.html", "--user", user)
        lines = found.stdout.splitlines()
        assert found.exit_code == 0 and lines[0].startswith("401 ")
        assert lines[1].startswith("because  AuthUserFile users")
        assert lines[2].strip() == f"user {user} not found: /index.html"
        assert f"AH01618: user {user} not found: /index.html" in found.stdout
        assert "is authenticated" not in found.stdout and "taken as valid" not in found.stdout


def test_a_password_file_that_is_not_here(tmp_path: Path) -> None:
    found = run(site(tmp_path, PROTECTED.format("conf/none")), "/index.html")
    assert found.exit_code == 3 and "conf/none is not on this machine" in found.stdout


def test_a_stored_password_whose_check_does_not_end(tmp_path: Path) -> None:
    """The author of the file chose more than a day; the answer is no, and the reason is named."""
    file = site(tmp_path, PROTECTED.format("users"))
    (tmp_path / "users").write_text("alice:$2y$31$abcdefghijklmnopqrstuuKX1b0Qm3vH1mZ5o1bqXnJc8aXJ7D1fm\n")
    found = run(file, "/index.html", "--user", "alice:secret")
    assert found.exit_code == 3 and found.stdout.startswith("401 ")
    assert "the stored password of alice takes more than 2 s to check" in found.stdout


DBM = """LoadModule authn_dbm_module modules/mod_authn_dbm.so
<Location /far>
AuthType Basic
AuthName far
AuthBasicProvider dbm
AuthDBMType SDBM
AuthDBMUserFile far.dbm
Require valid-user
</Location>
<Location /near>
AuthType Basic
AuthName near
AuthUserFile users
Require valid-user
</Location>
"""


def test_users_of_a_dbm_file_are_known(tmp_path: Path) -> None:
    file = site(tmp_path, DBM)
    pages, tree = sdbm_writer.files([(b"emil", b"{SHA}x")])
    (tmp_path / "far.dbm.pag").write_bytes(pages)
    (tmp_path / "far.dbm.dir").write_bytes(tree)
    (tmp_path / "htdocs/far").mkdir()
    (tmp_path / "htdocs/far/index.html").write_text("x\n")
    found = run(file, "/far/", "--user", "emil")
    assert found.exit_code == 0 and found.stdout.startswith("200 OK"), found.stdout
    assert "no password file" not in found.stdout
    assert run(file, "/far/", "--user", "alice").stdout.startswith("401 "), "alice is in the file of /near"


TYPES = """LoadModule mime_module modules/mod_mime.so
LoadModule negotiation_module modules/mod_negotiation.so
TypesConfig types
AddType text/x-own .own
<Directory @ROOT@/htdocs>
Options MultiViews
</Directory>
<Location /forced>
ForceType text/plain
</Location>
<Location /closed>
Require all denied
</Location>
"""


@pytest.mark.parametrize(
    ("path", "matters"),
    [
        ("/index.html", True),
        ("/", True),
        ("/pano", True),  # negotiation takes files with a type alone
        ("/a.own", False),
        ("/README", False),
        ("/forced/a.html", False),
        ("/closed/a.html", False),
        ("/none.html", False),
    ],
)
def test_the_file_of_types_matters_to_names_that_need_it(tmp_path: Path, path: str, matters: bool) -> None:
    file = site(tmp_path, TYPES.replace("@ROOT@", str(tmp_path)))
    for name in ("pano.jpg", "a.own", "README", "forced/a.html", "closed/a.html"):
        (tmp_path / "htdocs" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "htdocs" / name).write_text("x\n")
    found = run(file, path, "--json")
    unknown = json.loads(found.stdout)["knowledge"]["unknown"]
    assert [item["matters"] for item in unknown if "could not open mime types" in item["subject"]] == [
        matters
    ]
    (tmp_path / "types").write_text("text/html html\nimage/jpeg jpg\n")
    assert "could not open mime types" not in run(file, path, "--json").stdout


def test_a_host_that_stands_in_a_branch_which_is_not_read(tmp_path: Path) -> None:
    """Without -D SSL another host answers for its name; httpd started with it answers by the host itself."""
    host = "<VirtualHost *:8080>\nServerName b.example\nRedirect /x /y\n</VirtualHost>\n"
    main = "<VirtualHost *:8080>\nServerName a.example\n</VirtualHost>\n"
    file = site(tmp_path, f"{main}<IfDefine SSL>\n{host}</IfDefine>\n")
    found = run(file, "http://b.example:8080/index.html")
    assert found.exit_code == 3
    assert "<IfDefine SSL> is not true here: virtual host b.example; add -D SSL" in found.stdout
    assert run(file, "http://a.example:8080/index.html").exit_code == 0
    assert run(file, "http://b.example:8080/index.html", "-D", "SSL").exit_code == 0
