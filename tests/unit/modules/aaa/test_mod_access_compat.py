"""Order, Allow, Deny, Satisfy with Require: the recorded tables of httpd 2.4.71 and 2.2.34."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import BASIC, AccessSite
from tests.support.statuses import ALLOWED, CHALLENGED, DENIED

DENY = "Order deny,allow\nDeny from all\n"
ROOT_OLD = f"<Directory />\n{DENY}</Directory>\n"
ROOT_NEW = "<Directory />\nRequire all denied\n</Directory>\n"
DOCS_OLD = '<Directory "@DOCROOT@">\nOrder allow,deny\nAllow from all\n</Directory>\n'
DOCS_NEW = '<Directory "@DOCROOT@">\nRequire all granted\n</Directory>\n'
ONE = f"{DENY}Allow from 127.0.0.1\n"


@pytest.mark.parametrize(
    ("outer", "inner", "here", "elsewhere", "code"),
    [
        (ROOT_OLD, "Require local\n", DENIED, DENIED, "AH01797"),
        (ROOT_OLD + DOCS_NEW, "Require local\n", DENIED, DENIED, "AH01797"),
        (ROOT_OLD + DOCS_OLD, "Require local\n", ALLOWED, ALLOWED, ""),
        (ROOT_OLD, "Require local\nSatisfy Any\n", ALLOWED, ALLOWED, ""),
        (ROOT_NEW, ONE, DENIED, DENIED, "AH01630"),
        (ROOT_NEW + DOCS_NEW, ONE, ALLOWED, DENIED, ""),
        (ROOT_NEW, ONE + "Satisfy Any\n", ALLOWED, DENIED, ""),
        (ROOT_NEW, ONE + "Require all granted\n", ALLOWED, DENIED, ""),
        ("", "Allow from all\nRequire all denied\n", DENIED, DENIED, "AH01630"),
        ("", "Allow from all\nRequire all denied\nSatisfy Any\n", ALLOWED, ALLOWED, ""),
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
        ("Satisfy Any\n", [ALLOWED, ALLOWED, ALLOWED], [CHALLENGED, ALLOWED, CHALLENGED]),
        ("Satisfy All\n", [CHALLENGED, ALLOWED, CHALLENGED], [DENIED, DENIED, DENIED]),
        ("", [CHALLENGED, ALLOWED, CHALLENGED], [DENIED, DENIED, DENIED]),
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
    conf = (
        f'<Directory "@DOCROOT@">\n{DENY}</Directory>\n<Directory "@DOCROOT@/in">\nSatisfy '
        "All\n</Directory>\n"
    )
    assert AccessSite(tmp_path / "new", conf, "2.4").status("/in/f.html") == 200
    assert AccessSite(tmp_path / "old", conf, "2.2").status("/in/f.html") == 403


@pytest.mark.parametrize(
    ("order", "statuses"),
    [
        ("deny,allow", [ALLOWED, ALLOWED, DENIED]),
        ("allow,deny", [DENIED, ALLOWED, DENIED]),
        ("mutual-failure", [DENIED, ALLOWED, DENIED]),
    ],
)
def test_orders(tmp_path: Path, order: str, statuses: list[int]) -> None:
    conf = (
        f"<Location />\nOrder {order}\nAllow from 127.0.0.1 127.0.0.2\nDeny from 127.0.0.1 "
        "127.0.0.3\n</Location>\n"
    )
    site = AccessSite(tmp_path, conf)
    assert [site.status(source=source) for source in ("127.0.0.1", "127.0.0.2", "127.0.0.3")] == statuses


def test_environment_and_limit(tmp_path: Path) -> None:
    conf = (
        "SetEnvIf User-Agent Good good\n<Location />\n<Limit GET>\nOrder deny,allow\nDeny from "
        "all\nAllow from ENV=Good\n</Limit>\n</Location>\n"
    )
    site = AccessSite(tmp_path, conf)
    assert [site.status(), site.status(headers="User-Agent: Good\r\n")] == [DENIED, ALLOWED]
    assert [site.status(method="POST"), site.status(method="HEAD")] == [ALLOWED, DENIED]


def test_the_guide_lets_a_section_with_order_replace_an_outer_require(tmp_path: Path) -> None:
    site = AccessSite(
        tmp_path,
        f"{ROOT_NEW}<Location /f.html>\n{ONE}</Location>\n",
        "guide",
        "authz_core authz_host access_compat mpm_event",
    )
    assert [site.status(), site.status(source="127.0.0.2"), site.status("/in/f.html")] == [
        ALLOWED,
        DENIED,
        DENIED,
    ]


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
