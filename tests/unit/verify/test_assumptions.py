"""Assumed users, passwords and groups of probes, through the engines of a side."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.modules.support.auth.auth_files import Groups
from whimbrel.verify.assumptions import _GroupsOfOne, _is_assumed
from whimbrel.verify.digest_user import DIGEST, OLD_DIGEST
from whimbrel.verify.probe import Probe, ProbeUser

FILE = "admin: alice\nstaff: alice bob\n"


def user(*groups: str, **more: bool) -> ProbeUser:
    return ProbeUser("alice", is_assumed=True, groups=groups, **more)


@pytest.mark.parametrize(
    ("of_probe", "name", "groups"),
    [
        (user("Editors"), "alice", {"editors"}),
        (user("Editors", has_file_groups=True), "alice", {"admin", "staff", "editors"}),
        (user(has_file_groups=True), "alice", {"admin", "staff"}),
        (user(), "alice", {"default"}),
        (user("Editors"), "bob", {"staff"}),
        (user("Editors", has_file_groups=True), "bob", {"staff"}),
        (user("Editors"), "carol", {"default"}),
    ],
)
def test_groups_of_the_user_of_a_probe(of_probe: ProbeUser, name: str, groups: set[str]) -> None:
    others = Groups(FILE, continued=True)
    assert _GroupsOfOne(of_probe, others).get(name, frozenset(("default",))) == groups


@pytest.mark.parametrize(
    ("of_probe", "name", "has_all", "is_assumed"),
    [
        (user(), "alice", True, True),
        (user(has_file_users=True), "alice", True, False),
        (user(has_file_users=True), "alice", False, True),
        (user(has_file_users=True), "bob", False, False),
        (None, "alice", False, False),
    ],
)
def test_a_database_that_is_not_asked_has_the_user(
    of_probe: ProbeUser | None, name: str, has_all: bool, is_assumed: bool
) -> None:
    """*has_all*: the provider asks nothing outside of the files of the server."""
    assert _is_assumed(of_probe, name, has_all=has_all) is is_assumed


BASIC = """<Location />
AuthType Basic
AuthName a
AuthUserFile conf/users
AuthGroupFile conf/groups
Require {}
</Location>"""


@pytest.mark.parametrize(
    ("rule", "who", "status"),
    [
        ("valid-user", ProbeUser("alice"), 200),
        ("valid-user", ProbeUser("alice", is_password_valid=False), 401),
        ("valid-user", ProbeUser("nobody"), 401),
        ("valid-user", ProbeUser("nobody", is_assumed=True), 200),
        ("valid-user", ProbeUser("nobody", is_password_valid=False, is_assumed=True), 401),
        ("valid-user", ProbeUser("nobody", is_assumed=True, has_file_users=True), 401),
        ("valid-user", ProbeUser("alice", is_assumed=True, has_file_users=True), 200),
        ("user bob", ProbeUser("bob"), 200),
        ("user bob", ProbeUser("alice"), 401),
        ("group admin", ProbeUser("alice"), 200),
        ("group admin", ProbeUser("bob"), 401),
        ("group admin", ProbeUser("alice", is_assumed=True), 401),
        ("group admin", ProbeUser("alice", is_assumed=True, has_file_groups=True), 200),
        (
            "group admin",
            ProbeUser("new", is_assumed=True, groups=("Admin",)),
            200,
        ),  # groups are in an apr_table
        ("group admin", ProbeUser("new", is_assumed=True, groups=("admin",)), 200),
        ("group admin", None, 401),
    ],
)
@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_passwords_and_groups(
    tmp_path: Path, version: str, rule: str, who: ProbeUser | None, status: int
) -> None:
    make_root(tmp_path)
    answer = side(tmp_path, "one", BASIC.format(rule), version).answer(
        Probe("/index.html", host="localhost", user=who)
    )
    assert (answer.status, answer.user) == (status, who.name if status == 200 and who else answer.user)


@pytest.mark.parametrize(
    ("who", "version", "status"),
    [
        (ProbeUser("alice", DIGEST), "2.4", 200),
        (ProbeUser("alice", DIGEST), "2.2", 200),
        (ProbeUser("alice", DIGEST, is_password_valid=False), "2.4", 401),
        (ProbeUser("carol", DIGEST), "2.4", 401),
        (ProbeUser("carol", DIGEST, is_assumed=True), "2.4", 200),
        (ProbeUser("alice", OLD_DIGEST), "2.2", 200),
        (ProbeUser("alice", OLD_DIGEST), "2.4", 401),
        (ProbeUser("alice"), "2.4", 401),
    ],
)
def test_digest(tmp_path: Path, who: ProbeUser, version: str, status: int) -> None:
    """2.4.71 refuses answers of RFC 2069 (AH10560)."""
    make_root(tmp_path, {"conf/digests": f"alice:a:{'0' * 32}\n"})
    conf = BASIC.replace("Basic", "Digest").replace("conf/users", "conf/digests").format("valid-user")
    one = side(tmp_path, "one", conf, version, "auth_digest")
    assert one.answer(Probe("/index.html", host="localhost", user=who)).status == status
