"""Host access, authentication and authorization, combined as httpd's Satisfy does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.access import BASIC, Site

ALICE, WRONG = "alice:wonder", "alice:guess"
HOST_22 = "Order deny,allow\nDeny from all\n"

# configuration of the document root, user, status
CASES_24 = {
    "granted": ("Require all granted", "", 200),
    "denied": ("Require all denied", "", 403),
    "denied whatever the user": (BASIC + "Require all denied", ALICE, 403),
    "no credentials": (BASIC + "Require valid-user", "", 401),
    "wrong password": (BASIC + "Require valid-user", WRONG, 401),
    "right password": (BASIC + "Require valid-user", ALICE, 200),
    "another user": (BASIC + "Require user bob", ALICE, 401),
    "no AuthType": ("Require valid-user", "", 500),
    "host or user: user": (BASIC + HOST_22 + "Require valid-user\nSatisfy any", ALICE, 200),
    "host or user: neither": (BASIC + HOST_22 + "Require valid-user\nSatisfy any", "", 401),
    "host and user: user alone": (BASIC + HOST_22 + "Require valid-user\nSatisfy all", ALICE, 403),
}


@pytest.mark.parametrize("case", CASES_24)
def test_decisions_of_2_4(tmp_path: Path, case: str) -> None:
    conf, user, status = CASES_24[case]
    site = Site(tmp_path, f'<Directory "@DOCROOT@">\n{conf}\n</Directory>\n')
    assert site.status(user=user) == status


@pytest.mark.parametrize(
    ("conf", "code"), [("Require all denied", "AH01630"), ("Require valid-user", "AH00027")]
)
def test_a_refusal_is_logged_with_its_number(tmp_path: Path, conf: str, code: str) -> None:
    site = Site(tmp_path, f'<Directory "@DOCROOT@">\n{conf}\n</Directory>\n')
    site.status()
    assert code in site.codes()


def test_a_401_has_the_challenge_of_its_realm(tmp_path: Path) -> None:
    site = Site(tmp_path, f'<Directory "@DOCROOT@">\n{BASIC}Require valid-user\n</Directory>\n')
    assert '\r\nWWW-Authenticate: Basic realm="Zone"\r\n' in site.ask()


CASES_22 = {
    "granted": ("Order allow,deny\nAllow from all", "", 200),
    "denied": ("Order allow,deny\nDeny from all", "", 403),
    "user": (BASIC + "Require valid-user", ALICE, 200),
    "no credentials": (BASIC + "Require valid-user", "", 401),
    "host or user: user": (BASIC + HOST_22 + "Require valid-user\nSatisfy any", ALICE, 200),
    "host and user: user alone": (BASIC + HOST_22 + "Require valid-user", ALICE, 403),
}


@pytest.mark.parametrize("case", CASES_22)
def test_decisions_of_2_2(tmp_path: Path, case: str) -> None:
    conf, user, status = CASES_22[case]
    site = Site(tmp_path, f'<Directory "@DOCROOT@">\n{conf}\n</Directory>\n', version="2.2")
    assert site.status(user=user) == status
