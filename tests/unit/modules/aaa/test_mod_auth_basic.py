"""Basic authentication: recorded statuses, codes and challenges."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import BASIC, AccessSite
from tests.support.statuses import ALLOWED, CHALLENGED, FAILED

from whimbrel.modules.aaa.mod_auth_basic import decode_base64

REQUIRED = f"<Location />\n{BASIC}Require valid-user\n{{}}</Location>\n"


def challenge(answer: str) -> str:
    return next((line for line in answer.splitlines() if line.startswith("WWW-Authenticate")), "")


@pytest.mark.parametrize(
    ("user", "status", "codes"),
    [
        ("", 401, []),
        ("alice:wonder", 200, []),
        ("alice:wrong", 401, ["AH01617"]),
        ("mallory:x", 401, ["AH01618"]),
        ("alice", 401, ["AH01617"]),
        (":", 401, ["AH01618"]),
        ("alice:wonder\0more", 200, []),
    ],
)
def test_users_and_passwords(tmp_path: Path, user: str, status: int, codes: list[str]) -> None:
    site = AccessSite(tmp_path, REQUIRED.format(""))
    assert site.status(user=user) == status
    assert site.codes() == codes


def test_another_scheme_is_asked_again(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, REQUIRED.format(""))
    answer = site.fetch(headers="Authorization: Bearer x\r\n")
    assert challenge(answer) == 'WWW-Authenticate: Basic realm="Zone"'
    assert site.codes() == ["AH01614"]


@pytest.mark.parametrize(
    ("written", "realm"),
    [
        ("'a\"b'", 'a\\"b'),
        ('"x\\"y"', 'x\\"y'),
        ('"%{HTTP_HOST}"', "localhost"),
        ('"%{env:NONE}"', ""),  # as apache2 sends it
    ],
)
def test_realms(tmp_path: Path, written: str, realm: str) -> None:
    site = AccessSite(tmp_path, REQUIRED.format(f"AuthName {written}\n"))
    assert challenge(site.fetch()) == f'WWW-Authenticate: Basic realm="{realm}"'


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("AuthType Basic\nRequire valid-user\n", "AH01615"),
        ("AuthType Basic\nAuthName x\nRequire valid-user\n", "AH01619"),
        ("AuthType Basic\nAuthName x\nAuthUserFile conf/none\nRequire valid-user\n", "AH01620"),
        ("AuthType Digest\nAuthName x\nRequire valid-user\n", "AH01796"),
        ("AuthType None\nRequire valid-user\n", "AH00027"),
    ],
)
def test_broken_set_ups_answer_500(tmp_path: Path, body: str, code: str) -> None:
    site = AccessSite(tmp_path, f"<Location />\n{body}</Location>\n")
    assert site.status(user="alice:wonder") == 500
    assert site.codes() == [code]


def test_an_edit_of_the_file_counts_on_the_next_request(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, REQUIRED.format(""))
    assert site.status(user="alice:wonder") == 200
    (tmp_path / "conf/users").write_text("bob:x\n")
    assert site.status(user="alice:wonder") == 401


def test_not_authoritative(tmp_path: Path) -> None:
    new = AccessSite(tmp_path / "new", REQUIRED.format("AuthBasicAuthoritative Off\n"))
    assert [new.status(user="mallory:x"), new.status(user="alice:wrong")] == [FAILED, CHALLENGED]
    assert new.codes() == ["AH01796", "AH01617"]
    old = AccessSite(tmp_path / "old", REQUIRED.format("AuthBasicAuthoritative Off\n"), "2.2")
    assert [old.status(user="mallory:x"), old.status(user="alice:wrong")] == [FAILED, CHALLENGED]


def test_an_alias_is_tried_where_the_first_provider_does_not_know_the_user(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/more").write_text("carol:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\n")
    conf = (
        "<AuthnProviderAlias file more>\nAuthUserFile conf/more\n</AuthnProviderAlias>\n"
        + REQUIRED.format("AuthBasicProvider file more\n")
    )
    site = AccessSite(tmp_path, conf)
    assert [site.status(user=u) for u in ("alice:wonder", "carol:wonder", "dave:x")] == [
        ALLOWED,
        ALLOWED,
        CHALLENGED,
    ]


def test_base64_as_apr_reads_it() -> None:
    assert decode_base64("YWxpY2U6d29uZGVy") == "alice:wonder"
    assert decode_base64("YWxp!Y2U=") == "ali"
    assert decode_base64("YWxpY") == "ali"
    assert decode_base64("") == ""
