"""Order, Allow, Deny, Satisfy beside Require: the recorded tables of httpd 2.4.71 and 2.2.34."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import BASIC, AccessSite

DENY = "Order deny,allow\nDeny from all\n"
ROOT_OLD = f"<Directory />\n{DENY}</Directory>\n"
ROOT_NEW = "<Directory />\nRequire all denied\n</Directory>\n"
DOCS_OLD = '<Directory "@DOCROOT@">\nOrder allow,deny\nAllow from all\n</Directory>\n'
DOCS_NEW = '<Directory "@DOCROOT@">\nRequire all granted\n</Directory>\n'
ONE = f"{DENY}Allow from 127.0.0.1\n"


@pytest.mark.parametrize(
    ("outer", "inner", "here", "elsewhere", "code"),
    [
        (ROOT_OLD, "Require local\n", 403, 403, "AH01797"),
        (ROOT_OLD + DOCS_NEW, "Require local\n", 403, 403, "AH01797"),
        (ROOT_OLD + DOCS_OLD, "Require local\n", 200, 200, ""),
        (ROOT_OLD, "Require local\nSatisfy Any\n", 200, 200, ""),
        (ROOT_NEW, ONE, 403, 403, "AH01630"),
        (ROOT_NEW + DOCS_NEW, ONE, 200, 403, ""),
        (ROOT_NEW, ONE + "Satisfy Any\n", 200, 403, ""),
        (ROOT_NEW, ONE + "Require all granted\n", 200, 403, ""),
        ("", "Allow from all\nRequire all denied\n", 403, 403, "AH01630"),
        ("", "Allow from all\nRequire all denied\nSatisfy Any\n", 200, 200, ""),
    ],
)
def test_old_and_new_together(
    tmp_path: Path, outer: str, inner: str, here: int, elsewhere: int, code: str
) -> None:
    site = AccessSite(tmp_path, f"{outer}<Location /f.html>\n{inner}</Location>\n")
    assert site.status() == here
    assert site.codes() == ([code] if code else [])
    assert site.status(source="127.0.0.2") == elsewhere


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize(
    ("satisfy", "near", "far"),
    [
        ("Satisfy Any\n", [200, 200, 200], [401, 200, 401]),
        ("Satisfy All\n", [401, 200, 401], [403, 403, 403]),
        ("", [401, 200, 401], [403, 403, 403]),
    ],
)
def test_password_and_address(
    tmp_path: Path, version: str, satisfy: str, near: list[int], far: list[int]
) -> None:
    site = AccessSite(
        tmp_path, f"<Location /f.html>\n{BASIC}Require valid-user\n{ONE}{satisfy}</Location>\n", version
    )
    for source, wanted in (("127.0.0.1", near), ("127.0.0.2", far)):
        assert [
            site.status(source=source, user=user) for user in ("", "alice:wonder", "alice:wrong")
        ] == wanted


def test_satisfy_any_logs_what_ends_well(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, f"<Location />\n{DENY}Satisfy Any\nRequire all granted\n</Location>\n")
    assert site.status() == 200
    assert site.codes() == ["AH01797"]


def test_an_inner_section_drops_the_whole_record(tmp_path: Path) -> None:
    conf = f'<Directory "@DOCROOT@">\n{DENY}</Directory>\n<Directory "@DOCROOT@/in">\nSatisfy All\n</Directory>\n'
    assert AccessSite(tmp_path / "new", conf, "2.4").status("/in/f.html") == 200
    assert AccessSite(tmp_path / "old", conf, "2.2").status("/in/f.html") == 403


@pytest.mark.parametrize(
    ("order", "statuses"),
    [
        ("deny,allow", [200, 200, 403]),
        ("allow,deny", [403, 200, 403]),
        ("mutual-failure", [403, 200, 403]),
    ],
)
def test_orders(tmp_path: Path, order: str, statuses: list[int]) -> None:
    conf = f"<Location />\nOrder {order}\nAllow from 127.0.0.1 127.0.0.2\nDeny from 127.0.0.1 127.0.0.3\n</Location>\n"
    site = AccessSite(tmp_path, conf)
    assert [site.status(source=source) for source in ("127.0.0.1", "127.0.0.2", "127.0.0.3")] == statuses


def test_environment_and_limit(tmp_path: Path) -> None:
    conf = "SetEnvIf User-Agent Good good\n<Location />\n<Limit GET>\nOrder deny,allow\nDeny from all\nAllow from ENV=Good\n</Limit>\n</Location>\n"
    site = AccessSite(tmp_path, conf)
    assert [site.status(), site.status(headers="User-Agent: Good\r\n")] == [403, 200]
    assert [site.status(method="POST"), site.status(method="HEAD")] == [200, 403]


def test_the_guide_lets_a_section_with_order_replace_an_outer_require(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path,
        f"{ROOT_NEW}<Location /f.html>\n{ONE}</Location>\n",
        "guide",
        "authz_core authz_host access_compat mpm_event",
    )
    assert [site.status(), site.status(source="127.0.0.2"), site.status("/in/f.html")] == [200, 403, 403]


@pytest.mark.parametrize(
    ("names", "status"), [("localhost", 200), (".test", 403), ("alhost", 403), ("LOCALHOST", 200)]
)
def test_host_names(tmp_path: Path, names: str, status: int) -> None:
    site = AccessSite(tmp_path, f"<Location />\n{DENY}Allow from {names}\n</Location>\n")
    assert site.status() == status


def test_a_name_that_does_not_lead_back_is_no_name(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, f"<Location />\n{DENY}Allow from good.test\n</Location>\n")
    site.runtime.names["127.0.0.9"] = "good.test"
    assert site.status(source="127.0.0.9") == 403
    site.runtime.hosts["good.test"] = ["127.0.0.9"]
    assert site.status(source="127.0.0.9") == 200
