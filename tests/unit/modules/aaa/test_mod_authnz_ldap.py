"""Users of a real OpenLDAP server: statuses and variables are those of the installed httpd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ldap", reason="python-ldap (extra ldap) is not installed")

from tests.support.access_site import MODULES, AccessSite
from tests.support.ldap_directory import BASE, MISSING, PEOPLE, LdapDirectory

from whimbrel.modules.ldap.mod_ldap import worker_of
from whimbrel.modules.ldap.mod_ldap.connections import LdapConnection

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
URL = 'AuthLDAPURL "ldap://127.0.0.1:{port}/' + PEOPLE + '?uid,mail,cn"\n'
AREA = "<Location {path}>\nAuthType Basic\nAuthName x\nAuthBasicProvider ldap\n{settings}</Location>\n"
HEADERS = 'Header always set X-Env "%{AUTHENTICATE_MAIL}e %{AUTHORIZE_MAIL}e"\n'
ALICE, BOB, ODD = "alice:wonder", "bob:builder", "x(y)*z\\w:odd"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LdapDirectory]:
    server = LdapDirectory(tmp_path_factory.mktemp("ldap"))
    server.start()
    yield server
    server.kill()


def site_of(
    root: Path, directory: LdapDirectory, *bodies: str, version: str = "2.4", url: str = URL
) -> AccessSite:
    """Return a site with one area for each of *bodies*: /0, /1 ..."""
    (root / "conf").mkdir()
    areas = []
    for number, body in enumerate(bodies):
        (root / "htdocs" / str(number)).mkdir(parents=True)
        (root / "htdocs" / str(number) / "f.html").write_text("page\n")
        areas.append(AREA.format(path=f"/{number}", settings=url + body))
    text = HEADERS + "".join(areas).replace("{port}", str(directory.port))
    return AccessSite(root, text, version, MODULES[version] + " headers ldap authnz_ldap")


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_users(tmp_path: Path, directory: LdapDirectory, version: str) -> None:
    site = site_of(tmp_path, directory, "Require valid-user\n", version=version)
    expected = {
        ALICE: 200,
        ODD: 200,
        "alice:bad": 401,
        "alice:": 401,
        "alice:\0wonder": 401,
        "*:wonder": 401,
        "al*:wonder": 401,
        "alice)(uid=*:wonder": 401,
        "no:x": 401,
        "\xe9:x": 401,
    }
    assert {user: site.status("/0/f.html", user=user) for user in expected} == expected


REQUIREMENTS = (
    ("Require ldap-user alice\n", 200, 401),
    ("Require ldap-user carol bob\n", 401, 200),
    (f"Require ldap-dn uid=alice,{PEOPLE}\n", 200, 401),
    (f"Require ldap-dn UID=alice,{PEOPLE}\n", 401, 401),
    (f"AuthLDAPCompareDNOnServer on\nRequire ldap-dn UID=alice,{PEOPLE}\n", 200, 401),
    (f"Require ldap-group cn=staff,{BASE}\n", 200, 401),
    ("Require ldap-attribute description=staff\n", 200, 401),
    ('Require ldap-attribute sn=Z sn="B"\n', 401, 200),
    ("Require ldap-filter description=staff\n", 200, 401),
    ("Require ldap-filter &(description=staff)(sn=A)\n", 200, 401),
    ("Require ldap-filter (((\n", 401, 401),
)
REQUIREMENTS_24 = (
    (f"Require ldap-group cn=all,{BASE}\n", 200, 200),
    (f"Require ldap-group cn=top,{BASE}\n", 200, 200),
    (f"AuthLDAPMaxSubGroupDepth 1\nRequire ldap-group cn=top,{BASE}\n", 401, 200),
    (f"AuthLDAPMaxSubGroupDepth 0\nRequire ldap-group cn=all,{BASE}\n", 401, 200),
    (f"Require ldap-group cn=ring,{BASE}\n", 401, 401),
    (f"AuthLDAPMaxSubGroupDepth 5000\nRequire ldap-group cn=ring,{BASE}\n", 401, 401),
    ("Require ldap-search (uid=alice)\n", 200, 200),
    ("Require ldap-search (uid=nobody)\n", 403, 403),
    ("Require ldap-search (uid=*)\n", 403, 403),
    (
        f"AuthLDAPBindDN cn=admin,{BASE}\nAuthLDAPBindPassword secret\nAuthLDAPSearchAsUser on\n"
        f"AuthLDAPCompareAsUser on\nRequire ldap-group cn=staff,{BASE}\n",
        200,
        401,
    ),
)


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_requirements(tmp_path: Path, directory: LdapDirectory, version: str) -> None:
    cases = REQUIREMENTS if version == "2.2" else REQUIREMENTS + REQUIREMENTS_24
    site = site_of(tmp_path, directory, *(body for body, _, _ in cases), version=version)
    for _ in range(2):  # asked, then from the cache
        found = [
            (body, *(site.status(f"/{number}/f.html", user=user) for user in (ALICE, BOB)))
            for number, (body, _, _) in enumerate(cases)
        ]
        assert found == list(cases)


def test_a_cached_name_lets_only_its_user_in(tmp_path: Path, directory: LdapDirectory) -> None:
    """httpd 2.4.71 answers 200 to the second user here."""
    body = f"AuthLDAPCompareDNOnServer on\nRequire ldap-dn UID=alice,{PEOPLE}\n"
    site = site_of(tmp_path, directory, body)
    assert [site.status("/0/f.html", user=user) for user in (ALICE, BOB, ALICE)] == [200, 401, 200]


def test_variables(tmp_path: Path, directory: LdapDirectory) -> None:
    mails = "alice@example.org; a@example.org"
    cases = {
        "Require valid-user\n": (mails, "(null)"),
        "Require ldap-user alice\n": (mails, mails),
        "AuthLDAPAuthorizePrefix X_\nRequire ldap-user alice\n": (mails, "(null)"),
    }
    site = site_of(tmp_path, directory, *cases)
    for number, expected in enumerate(cases.values()):
        assert f"X-Env: {' '.join(expected)}\r\n" in site.fetch(f"/{number}/f.html", user=ALICE)


@pytest.mark.parametrize(
    ("settings", "user"),
    [
        ("AuthLDAPRemoteUserIsDN on\n", f"uid=alice,{PEOPLE}"),
        ("AuthLDAPRemoteUserAttribute cn\n", "Alice A"),
        ("AuthLDAPRemoteUserAttribute sn\n", "alice"),
        (
            f"AuthLDAPInitialBindAsUser on\nAuthLDAPInitialBindPattern (.+) uid=$1,{PEOPLE}\n",
            "alice",
        ),
    ],
)
def test_names_of_users(tmp_path: Path, directory: LdapDirectory, settings: str, user: str) -> None:
    body = f'{settings}Require valid-user\nHeader always set X-User "expr=%{{REMOTE_USER}}"\n'
    assert f"X-User: {user}\r\n" in site_of(tmp_path, directory, body).fetch("/0/f.html", user=ALICE)


def test_what_is_wrong(tmp_path: Path, directory: LdapDirectory) -> None:
    cases = (
        ("", "", 500, ["AH02558"]),
        (URL.replace(PEOPLE, f"ou=nix,{BASE}"), "", 401, ["AH01618"]),
        (URL, f"AuthLDAPBindDN cn=admin,{BASE}\nAuthLDAPBindPassword no\n", 401, ["AH01617"]),
        (URL.replace("{port}", "1"), "", 500, []),
        (URL.replace("127.0.0.1:{port}", "127.0.0.1:1 127.0.0.1:{port}"), "", 200, []),
        (URL.replace("?uid,mail,cn", "?uid?one?(sn=A)"), "", 200, []),
        (URL.replace("?uid,mail,cn", "?uid?sub?none"), "", 200, []),
        (URL.strip() + " STARTTLS\n", "", 500, []),
    )
    bodies = (f"{url}{body}Require valid-user\n" for url, body, _, _ in cases)
    site = site_of(tmp_path, directory, *bodies, url="")
    found = [(site.status(f"/{number}/f.html", user=ALICE), site.codes()) for number in range(len(cases))]
    assert found == [(status, codes) for _, _, status, codes in cases]


def test_a_directory_that_dies_and_returns(tmp_path: Path) -> None:
    own = LdapDirectory(tmp_path / "directory")
    own.start()
    try:
        (tmp_path / "site").mkdir()
        site = site_of(tmp_path / "site", own, "Require ldap-user bob alice\n")
        assert site.status("/0/f.html", user=ALICE) == 200
        own.kill()
        assert site.status("/0/f.html", user=ALICE) == 200  # cached
        assert site.status("/0/f.html", user=BOB) == 500
        own.start()
        assert site.status("/0/f.html", user=BOB) == 200
    finally:
        own.kill()


def test_each_login_binds_once(
    tmp_path: Path, directory: LdapDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_of(tmp_path, directory, "Require valid-user\n")
    bound = []
    verify = LdapConnection.verify

    def count(connection: LdapConnection, dn: str, password: str) -> object:
        bound.append(dn)
        return verify(connection, dn, password)

    monkeypatch.setattr(LdapConnection, "verify", count)
    assert {site.status("/0/f.html", user=user) for _ in range(50) for user in (ALICE, BOB)} == {200}
    assert len(bound) == 2
    assert len(worker_of(site.engine).connections) == 1
    assert site.status("/0/f.html", user="alice:bad") == 401
    assert len(bound) == 3


def test_the_status_page_counts(tmp_path: Path, directory: LdapDirectory) -> None:
    site = site_of(
        tmp_path, directory, "Require valid-user\n", "Require valid-user\nSetHandler ldap-status\n"
    )
    for _ in range(3):
        site.status("/0/f.html", user=ALICE)
    page = site.fetch("/1/", user=ALICE).partition("\r\n\r\n")[2]
    assert "<title>LDAP Cache Information</title>" in page
    assert "<td nowrap>Searches</td><td align='right' nowrap>1 (0% full)</td>" in page
    assert "<td align='right'>3/4</td>" in page
    assert "alice" not in page
