"""Lines of modules that are not here matter to the requests that meet them, and to no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli import explain

MODULES = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("authz_core", "authn_core", "auth_basic", "authn_file", "authz_user", "dir", "mime", "dav")
)
SUBVERSION = "LoadModule dav_svn_module modules/mod_dav_svn.so\n"
REPOSITORY = "<Location /svn>\nDAV svn\nSVNPath /srv/svn\n</Location>\n"
TOMCAT = "LoadModule jk_module modules/mod_jk.so\n"
PASSENGER = "LoadModule passenger_module modules/mod_passenger.so\n"
KERBEROS = "LoadModule auth_kerb_module modules/mod_auth_kerb.so\n"
OPEN = "<Directory {root}/htdocs>\nAllowOverride All\nRequire all granted\n</Directory>\n"


def matters(root: Path, text: str, url: str, *words: str) -> set[str]:
    """Return the first words of what the answer may depend on."""
    (root / "htdocs/app").mkdir(parents=True)
    (root / "htdocs/index.html").write_text("x\n")
    (root / "htdocs/app/.htaccess").write_text("PassengerEnabled on\n" if "passenger" in text else "")
    (root / "htdocs/app/x").write_text("x\n")
    (root / "types").write_text("text/html html\n")
    head = f"ServerRoot {root}\nListen 8080\nServerName a\nDocumentRoot htdocs\n{MODULES}TypesConfig types\n"
    (root / "httpd.conf").write_text(head + (text + OPEN).replace("{root}", str(root)))
    found = CliRunner().invoke(explain.app, [url, *words, "--json", "-f", str(root / "httpd.conf")])
    unknown = json.loads(found.stdout)["knowledge"]["unknown"]
    subjects = [item["subject"] for item in unknown if item["matters"]]
    assert found.exit_code == (3 if subjects else 0)
    return {subject.partition(": ")[0] for subject in subjects}


@pytest.mark.parametrize(
    ("text", "url", "wanted"),
    [
        (
            SUBVERSION + REPOSITORY,
            "/svn/x",
            {"modules/mod_dav_svn.so", "DAV svn", "SVNPath"},
        ),
        (SUBVERSION + REPOSITORY, "/index.html", set()),
        (
            SUBVERSION + "SVNInMemoryCacheSize 1\n",
            "/index.html",
            {"modules/mod_dav_svn.so", "SVNInMemoryCacheSize"},
        ),
        (TOMCAT + "JkMount /app/* w\n", "/index.html", {"modules/mod_jk.so", "JkMount"}),
        (
            TOMCAT + "<VirtualHost *:8080>\nServerName b\nJkMount /* w\n</VirtualHost>\n",
            "http://a/",
            {"JkMount"},
        ),
        (
            TOMCAT + "<Location /app>\nSetHandler jakarta-servlet\n</Location>\n",
            "/app/x",
            {"modules/mod_jk.so"},
        ),
        (
            TOMCAT + "<Location /app>\nSetHandler jakarta-servlet\n</Location>\n",
            "/index.html",
            set(),
        ),
        (PASSENGER, "/index.html", set()),
        (PASSENGER, "/app/x", {"modules/mod_passenger.so"}),
    ],
)
def test_what_matters(tmp_path: Path, text: str, url: str, wanted: set[str]) -> None:
    found = matters(tmp_path, text, url)
    assert all(any(subject.startswith(word) for subject in found) for word in wanted)
    assert bool(found) is bool(wanted)


def test_a_host_that_was_not_chosen(tmp_path: Path) -> None:
    hosts = "".join(f"<VirtualHost *:8080>\nServerName {name}\n{{{name}}}\n</VirtualHost>\n" for name in "ab")
    text = TOMCAT + hosts.replace("{a}", "").replace("{b}", "JkMount /* w")
    assert matters(tmp_path, text, "http://a/index.html") == set()
    assert "JkMount" in matters(tmp_path / "other", text, "http://b/index.html")


def test_a_module_of_users_matters_where_a_user_is_named(tmp_path: Path) -> None:
    """It may accept or refuse the user without a line of its own."""
    assert matters(tmp_path, KERBEROS, "/index.html") == set()
    found = matters(tmp_path / "other", KERBEROS, "/index.html", "--user", "alice")
    assert found == {"modules/mod_auth_kerb.so"}


def test_an_unknown_module_may_do_anything(tmp_path: Path) -> None:
    found = matters(tmp_path, "LoadModule own_module modules/mod_own.so\n", "/index.html")
    assert found == {"modules/mod_own.so"}
