"""Require group and file-group: log lines about refused users, as in httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import BASIC, AccessSite

USERS = "zoe:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\n"


@pytest.mark.parametrize(
    ("rule", "level", "user", "codes"),
    [
        ("group staff", "debug", "alice", []),
        ("group nosuch", "debug", "alice", ["AH01667"]),
        ("group staff", "debug", "zoe", ["AH01666"]),
        ("group staff", "info", "zoe", ["AH01666"]),
        ("group staff", "notice", "zoe", []),
        ("file-group", "notice", "zoe", ["AH01670"]),
        ("file-group", "debug", "alice", ["AH01671"]),
        ("file-group", "info", "alice", []),
    ],
)
def test_refused_users(tmp_path: Path, rule: str, level: str, user: str, codes: list[str]) -> None:
    site = AccessSite(
        tmp_path, f"LogLevel warn authz_groupfile:{level}\n<Location />\n{BASIC}Require {rule}\n</Location>\n"
    )
    with (tmp_path / "conf/users").open("a") as file:
        file.write(USERS)
    site.fetch(user=f"{user}:wonder")
    assert [code for code in site.codes() if code != "AH01631"] == codes
